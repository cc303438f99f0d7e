"""The hub over real server processes; each of them misbehaves in its own way."""

import asyncio
import json
import logging
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from modules.mcp_client.config import read_servers
from modules.mcp_client.launch import Launch
from modules.mcp_client.session import McpHub
from modules.mcp_client.values import (
    Limits,
    McpResult,
    ServerEntry,
    ServerState,
    ServerStatus,
)
from modules.records.errors import ModelFault
from tests.mcp_client.hubs import (
    PROJECT,
    QUICK,
    Changes,
    death_of,
    fake,
    is_alive,
    pids_in,
    running,
)

PROVIDER_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def scripted(
    folder: Path, *tools: dict[str, Any], name: str = "fake", **results: object
) -> ServerEntry:
    """Returns a server with these tools; the file name is the server's."""
    file = folder / f"{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps({"tools": tools, "results": results}), encoding="utf-8")
    return fake("scripted", file, name=name)


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


@pytest.mark.slow
def test_echo_server_of_the_projects_own_settings_answers() -> None:
    servers = read_servers(PROJECT / ".mcp.json", {"CREWYARD_PYTHON": sys.executable})

    async def run() -> None:
        async with running(*servers) as hub:
            assert [tool.name for tool in hub.tools()] == ["mcp__echo__echo", "mcp__echo__now"]
            assert all(tool.is_read_only for tool in hub.tools())
            assert await hub.call("echo", "echo", {"text": "hi"}) == McpResult(text="hi")
            failed = await hub.call("echo", "echo", {})
            assert failed.is_error
            assert "Field required" in failed.text

    asyncio.run(run())


def test_server_that_pollutes_its_output_works_and_is_warned_of() -> None:
    """MCP-01."""

    async def run() -> None:
        async with running(fake("polluting")) as hub:
            results = [await hub.call("fake", "echo", {"text": str(n)}) for n in range(3)]
            (status,) = hub.status()
            log = hub.log("fake")

        assert [result.text for result in results] == ["0", "1", "2"]
        assert status.state is ServerState.READY
        assert re.fullmatch(
            r"\d+ lines on its standard output were no protocol messages and were skipped, "
            r"the first: 'Server v1 started'\.",
            status.warnings[0],
        )
        assert "f" * 99 in log
        assert len(log) <= 64 * 1024

    asyncio.run(run())


def test_tools_with_odd_names_get_legal_distinct_stable_ones_and_are_called_by_their_own(
    tmp_path: Path,
) -> None:
    """MCP-02."""
    odd = ("get:/users/{id}", "a.b", "a_b", "ünï", "x" * 90, "with__two", "t\ud800")
    servers = (
        scripted(tmp_path, *named(*odd), name="my server.v2"),
        scripted(tmp_path, *named(*odd), name="my server_v2"),
    )

    async def run() -> list[str]:
        async with running(*servers) as hub:
            tools = hub.tools()
            for tool in tools:
                said = await hub.call(tool.server, tool.tool, {"n": 1})
                expected = tool.tool.replace("\ud800", "\ufffd")
                assert json.loads(said.text) == [expected, {"n": 1}]
            return [tool.name for tool in tools]

    first, second = asyncio.run(run()), asyncio.run(run())

    assert len(set(first)) == 2 * len(odd)
    assert all(PROVIDER_NAME.fullmatch(name) for name in first)
    assert first == second


def test_tool_spelled_like_anothers_public_name_is_renamed_with_a_warning(tmp_path: Path) -> None:
    """MCP-02."""
    from modules.mcp_client.names import public_name

    imitation = public_name("fake", "a.b").removeprefix("mcp__fake__")
    server = scripted(tmp_path, *named("a.b", imitation))

    async def run() -> None:
        async with running(server) as hub:
            (status,) = hub.status()
            assert len({tool.name for tool in hub.tools()}) == 2
            assert len(status.warnings) == 2
            assert "its name was taken" in status.warnings[0]

    asyncio.run(run())


def test_tools_of_every_page_are_offered_and_callable() -> None:
    """MCP-03."""

    async def run() -> None:
        async with running(fake("paged")) as hub:
            (status,) = hub.status()
            assert len(hub.tools()) == status.tool_count == 101
            assert status.line == "fake: ready (101 tools)"
            assert await hub.call("fake", "t100", {}) == McpResult(text="this is t100")

    asyncio.run(run())


def test_list_that_never_ends_is_cut_with_a_warning() -> None:
    async def run() -> None:
        async with running(fake("paged", "endless")) as hub:
            (status,) = hub.status()
            assert status.tool_count == 50
            assert "does not end" in status.warnings[0]

    asyncio.run(run())


def test_tools_with_odd_schemas_stay_or_are_left_out_one_by_one(tmp_path: Path) -> None:
    """MCP-04."""
    schemas: dict[str, Any] = {
        "empty": {},
        "bare": {"type": "object"},
        "array": {"type": "object", "properties": {"a": {"type": "array"}}},
        "boolean": {"type": "object", "properties": {"a": True}},
        "ref": {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"$ref": "#/$defs/A"}},
        },
        "null": None,
        "text": {"type": "string"},
    }
    tools = [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]
    tools.append({"name": "absent"})
    arguments = {"a": [1, {"b": None}], "type": "x", "undeclared": True}

    async def run() -> None:
        async with running(scripted(tmp_path, *tools)) as hub:
            (status,) = hub.status()
            offered = [tool.tool for tool in hub.tools()]
            said = await hub.call("fake", "absent", arguments)

        assert offered == ["empty", "bare", "array", "boolean", "ref", "null", "absent"]
        assert status.warnings == (
            "The tool 'text' was left out: its input is of type 'string', not an object.",
        )
        assert json.loads(said.text) == ["absent", arguments]

    asyncio.run(run())


@pytest.mark.slow
def test_results_of_every_kind_reach_the_model(tmp_path: Path) -> None:
    """MCP-05; results the SDK's own types would refuse are among them."""
    results: dict[str, Any] = {
        "image": {
            "content": [{"type": "image", "data": "A" * 40_000_000, "mimeType": "image/png"}]
        },
        "nothing": {"content": []},
        "no_content": {},
        "no_mime_type": {"content": [{"type": "image", "data": "AAAA"}]},
        "strange": {"content": [{"type": "hologram"}], "structuredContent": [1]},
        "failed": {"content": [{"type": "text", "text": "no"}], "isError": True},
    }

    async def run() -> dict[str, McpResult]:
        async with running(scripted(tmp_path, *named(*results), **results)) as hub:
            return {name: await hub.call("fake", name, {}) for name in results}

    assert asyncio.run(run()) == {
        "image": McpResult(text="[image: image/png, 30.0 MB; not shown]"),
        "nothing": McpResult(text="(The tool said nothing.)"),
        "no_content": McpResult(text="(The tool said nothing.)"),
        "no_mime_type": McpResult(text="[image: type unknown, 3 bytes; not shown]"),
        "strange": McpResult(text="[block of type 'hologram', 20 characters; not shown]\n[1]"),
        "failed": McpResult(text="no", is_error=True),
    }


@pytest.mark.slow
def test_start_returns_at_once_and_a_server_that_never_answers_fails_alone(tmp_path: Path) -> None:
    """MCP-06 (a)."""
    limits = Limits(start_seconds=1.5, first_pause_seconds=0.01, grace_seconds=0.2)

    async def run() -> None:
        hub = McpHub(Launch(folder=PROJECT, variables={}), limits=limits)
        before = time.monotonic()
        hub.start([fake("failing", "silent", tmp_path / "starts"), fake("paged", name="other")])
        assert time.monotonic() - before < 0.1
        assert [status.state for status in hub.status()] == [ServerState.STARTING] * 2
        try:
            assert await hub.settle(30)
            silent, other = hub.status()
            assert silent.line == "fake: failed: was not ready within 1.5 s"
            assert other.state is ServerState.READY
            with pytest.raises(ModelFault, match=r"'fake' can't be called: fake: failed"):
                await hub.call("fake", "t", {})
        finally:
            await hub.stop()
        for pid in pids_in(tmp_path / "starts"):
            assert not is_alive(pid)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("manner", "why"),
    [
        pytest.param(
            "exits",
            "ended with exit code 3 (last on its standard error: 'no licence found for ***')",
            id="exits",
        ),
        pytest.param("refuses", "refused the handshake (not today)", id="refuses"),
    ],
)
def test_server_that_fails_at_its_start_is_tried_twice_and_no_more(
    tmp_path: Path, manner: str, why: str
) -> None:
    """MCP-06 (b)."""
    starts = tmp_path / "starts"
    changes = Changes()

    async def run() -> None:
        entry = fake("failing", manner, starts, LICENCE="s3cr3t-licence")
        async with running(entry, changes=changes) as hub:
            (status,) = hub.status()
            assert status == ServerStatus(name="fake", state=ServerState.FAILED, why=why)

    asyncio.run(run())

    assert len(pids_in(starts)) == 2
    assert [status.line for status in changes.seen] == [
        f"fake: starting; last time it {why}",
        f"fake: failed: {why}",
    ]


def test_command_that_does_not_exist_fails_at_once() -> None:
    async def run() -> None:
        async with running(ServerEntry(name="s", command="no-such-command")) as hub:
            (status,) = hub.status()
            assert status.state is ServerState.FAILED
            assert status.why.startswith("The command 'no-such-command' can't be started (")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        pytest.param("die", "was killed by SIGKILL during the call", id="killed"),
        pytest.param(
            "exit",
            "ended with exit code 7 during the call (last on its standard error: 'out of memory')",
            id="exits",
        ),
        pytest.param("close", "closed its output during the call", id="closes-its-output"),
        pytest.param("leave_a_holder", "was killed by SIGKILL during the call", id="pipe-held"),
        pytest.param("flood", "wrote a line longer than 1000000 bytes", id="endless-line"),
    ],
)
def test_call_during_which_the_server_dies_fails_soon_and_the_server_comes_back(
    tmp_path: Path, tool: str, why: str
) -> None:
    """MCP-06 (c), W14."""
    starts = tmp_path / "starts"
    changes = Changes()
    limits = Limits(first_pause_seconds=0.05, grace_seconds=0.3, max_message_bytes=1_000_000)

    async def run() -> None:
        async with running(fake("dying", starts), changes=changes, limits=limits) as hub:
            before = time.monotonic()
            with pytest.raises(ModelFault) as caught:
                await hub.call("fake", tool, {}, 60)
            seconds = time.monotonic() - before
            again = await hub.call("fake", "stay", {})

        assert why in str(caught.value)
        assert "Whether the call took effect is not known" in str(caught.value)
        assert seconds < 2
        assert again == McpResult(text="still here")

    asyncio.run(run())

    assert len(pids_in(starts)) == 2


def test_pending_calls_when_the_server_is_killed_from_outside_fail_together(tmp_path: Path) -> None:
    """MCP-06 (c)."""

    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            calls = [asyncio.create_task(hub.call("fake", "quiet", {})) for _ in range(5)]
            await hub.call("fake", "stay", {})
            (pid,) = pids_in(tmp_path / "starts")
            os.kill(pid, signal.SIGKILL)
            ends = await asyncio.gather(*calls, return_exceptions=True)

        assert all(isinstance(end, ModelFault) and "SIGKILL" in str(end) for end in ends)

    asyncio.run(run())


def test_stop_when_server_and_grandchild_ignore_every_request_kills_both_in_limited_time(
    tmp_path: Path,
) -> None:
    """MCP-06 (d)."""

    async def run() -> None:
        async with running(fake("stubborn", tmp_path / "pids")) as hub:
            pids = pids_in(tmp_path / "pids")
            assert [is_alive(pid) for pid in pids] == [True, True]
            os.kill(pids[0], signal.SIGTERM)
            assert await hub.call("fake", "no", {}) == McpResult(text="no")
            before = time.monotonic()
            await hub.stop()
            assert time.monotonic() - before < 4 * QUICK.grace_seconds + 1
            for pid in pids:
                await death_of(pid)

    asyncio.run(run())


def test_answer_to_nobodys_request_is_dropped(tmp_path: Path) -> None:
    """MCP-06 (e)."""

    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            assert await hub.call("fake", "confuse", {}) == McpResult(text="for you")

    asyncio.run(run())


def test_call_the_server_refuses_gives_its_words_as_an_error(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            assert await hub.call("fake", "refuse", {}) == McpResult(
                text="no:\nthe disk is full (error -32000)", is_error=True
            )

    asyncio.run(run())


def test_reply_that_is_malformed_fails_its_call_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            result = await hub.call("fake", "malformed", {}, 60)
            assert result == McpResult(
                text="The server's reply is malformed. (error -32603)", is_error=True
            )

    asyncio.run(run())


def test_reply_behind_an_unfinished_line_of_a_log_is_heard(tmp_path: Path) -> None:
    """MCP-01."""

    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            assert await hub.call("fake", "mumble", {}, 10) == McpResult(text="thought")
            (status,) = hub.status()
            assert len(status.warnings) == 1

    asyncio.run(run())


def test_server_that_stops_reading_holds_up_neither_the_calls_nor_the_stop(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            before = time.monotonic()
            for tool in ("deaf", "stay", "stay"):
                with pytest.raises(ModelFault, match="did not answer within"):
                    await hub.call("fake", tool, {"text": "x" * 1_000_000}, 0.2)
            await hub.stop()
            assert time.monotonic() - before < 3

    asyncio.run(run())

    assert not is_alive(pids_in(tmp_path / "starts")[0])


def test_call_that_gets_no_answer_ends_at_its_limit_and_the_server_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            with pytest.raises(ModelFault, match=r"did not answer within 0\.2 s; the call was"):
                await hub.call("fake", "quiet", {}, 0.2)
            assert await hub.call("fake", "stay", {}) == McpResult(text="still here")
        assert len(pids_in(tmp_path / "starts")) == 1

    asyncio.run(run())


def test_call_during_which_the_hub_stops_fails(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            call = asyncio.create_task(hub.call("fake", "quiet", {}))
            await hub.call("fake", "stay", {})
            await hub.stop()
            with pytest.raises(ModelFault, match="was stopped during the call"):
                await call
            with pytest.raises(ModelFault, match="fake: stopped"):
                await hub.call("fake", "stay", {})

    asyncio.run(run())


def test_stop_while_servers_are_starting_leaves_no_process(tmp_path: Path) -> None:
    starts = tmp_path / "starts"

    async def run() -> None:
        hub = McpHub(Launch(folder=PROJECT, variables={}), limits=QUICK)
        hub.start([fake("failing", "silent", starts)])
        async with asyncio.timeout(30):
            while not starts.exists() or not starts.read_text(encoding="utf-8"):
                await asyncio.sleep(0.01)
        await hub.stop()
        assert [status.state for status in hub.status()] == [ServerState.STOPPED]
        await hub.stop()

    asyncio.run(run())

    assert [is_alive(pid) for pid in pids_in(starts)] == [False]


def test_list_that_changes_during_a_call_is_new_when_the_call_is_over() -> None:
    """MCP-07."""

    async def run() -> None:
        async with running(fake("changing")) as hub:
            assert [tool.tool for tool in hub.tools()][-1] == "t1"
            assert await hub.call("fake", "swap", {}) == McpResult(text="swap done")
            assert [tool.tool for tool in hub.tools()][-1] == "t2"
            with pytest.raises(ModelFault, match=r"no tool 't1' now\. Its tools: .*t2"):
                await hub.call("fake", "t1", {})
            assert await hub.call("fake", "t2", {}) == McpResult(text="t2 done")

    asyncio.run(run())


def test_list_that_changes_between_calls_is_told_and_offered() -> None:
    """MCP-07."""
    changes = Changes()

    async def run() -> None:
        async with running(fake("changing"), changes=changes) as hub:
            await changes.until_state(ServerState.READY)
            await hub.call("fake", "swap_later", {})
            await changes.until_state(ServerState.READY)
            assert [tool.tool for tool in hub.tools()][-1] == "t2"

    asyncio.run(run())


@pytest.mark.slow
def test_list_that_changes_whenever_it_is_read_does_not_hold_up_the_calls() -> None:
    async def run() -> None:
        async with running(fake("changing")) as hub:
            await hub.call("fake", "restless", {})
            before = time.monotonic()
            assert await hub.call("fake", "t1", {}) == McpResult(text="t1 done")
            assert time.monotonic() - before < 2

    asyncio.run(run())


@pytest.mark.slow
def test_server_that_is_killed_over_and_over_comes_back_alone_until_it_is_given_up(
    tmp_path: Path,
) -> None:
    """MCP-07."""
    starts = tmp_path / "starts"
    changes = Changes()
    limits = Limits(first_pause_seconds=0.01, grace_seconds=0.3, max_losses=3)

    async def run() -> None:
        async with running(fake("dying", starts), limits=limits, changes=changes) as hub:
            for losses in range(1, 4):
                ready = await changes.until_state(ServerState.READY)
                assert ready.tool_count == len(hub.tools()) > 0
                assert ready.pid
                os.kill(ready.pid, signal.SIGKILL)
                lost = await changes.until_state(ServerState.STARTING)
                assert lost.tool_count == len(hub.tools()) == 0
                assert lost.line == "fake: starting; last time it was killed by SIGKILL"
                assert len(pids_in(starts)) == losses
            ready = await changes.until_state(ServerState.READY)
            assert [is_alive(pid) for pid in pids_in(starts)] == [False, False, False, True]
            assert ready.pid
            os.kill(ready.pid, signal.SIGKILL)
            failed = await changes.until_state(ServerState.FAILED)
            assert failed.line == "fake: failed: was killed by SIGKILL"
            assert hub.tools() == ()

    asyncio.run(run())

    assert len(pids_in(starts)) == 4


def test_server_gets_none_of_the_leads_keys_and_what_its_entry_names() -> None:
    variables = {**os.environ, "ANTHROPIC_API_KEY": "lead-key", "GITHUB_TOKEN": "lead-token"}

    async def told(**configured: str) -> dict[str, Any]:
        async with running(fake("witness", **configured), variables=variables) as hub:
            seen: dict[str, Any] = json.loads((await hub.call("fake", "tell", {})).text)
            return seen

    seen = asyncio.run(told())
    configured = asyncio.run(told(GITHUB_TOKEN="mine"))

    assert not {"ANTHROPIC_API_KEY", "GITHUB_TOKEN"} & seen["env"].keys()
    assert seen["env"]["PATH"] == os.environ["PATH"]
    assert seen["cwd"] == str(PROJECT)
    assert configured["env"]["GITHUB_TOKEN"] == "mine"


def test_server_is_started_inside_the_sandbox_it_is_given() -> None:
    async def run() -> None:
        entry = fake("witness")
        wrap = ("env", "INSIDE=yes")
        async with running(entry, wrap=lambda _entry, argv: (*wrap, *argv)) as hub:
            seen = json.loads((await hub.call("fake", "tell", {})).text)
            assert seen["env"]["INSIDE"] == "yes"

    asyncio.run(run())


def test_servers_that_are_disabled_or_faulty_start_nothing(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    off = fake("dying", starts)
    disabled = ServerEntry(name="off", command=off.command, args=off.args, is_disabled=True)
    faulty = ServerEntry(name="bad", command=off.command, args=off.args, fault="It is wrong.")

    async def run() -> None:
        async with running(disabled, faulty) as hub:
            assert [status.line for status in hub.status()] == [
                "off: disabled",
                "bad: failed: It is wrong.",
            ]
            assert hub.tools() == ()

    asyncio.run(run())

    assert not starts.exists()


def test_call_to_a_server_nobody_knows_names_those_there_are() -> None:
    async def run() -> None:
        async with running(ServerEntry(name="s", is_disabled=True)) as hub:
            with pytest.raises(ModelFault, match=r"no MCP server 'x'\. The servers: 's'\."):
                await hub.call("x", "t", {})

    asyncio.run(run())


def test_call_to_a_server_that_is_starting_waits_no_longer_than_its_limit(tmp_path: Path) -> None:
    async def run() -> None:
        hub = McpHub(Launch(folder=PROJECT, variables={}), limits=QUICK)
        hub.start([fake("failing", "silent", tmp_path / "starts")])
        try:
            assert not await hub.settle(0.01)
            with pytest.raises(ModelFault, match=r"was not ready within 0\.1 s"):
                await hub.call("fake", "t", {}, 0.1)
        finally:
            await hub.stop()

    asyncio.run(run())


def test_package_when_imported_loads_neither_the_sdk_nor_pydantic() -> None:
    import subprocess

    code = (
        "import sys, modules.mcp_client.session; "
        "print({'mcp', 'mcp_types', 'pydantic', 'anyio', 'httpx2'} & set(sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )

    assert done.stdout == "set()\n", done.stderr


def test_nothing_is_logged_as_an_error_in_a_life_with_a_death(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with running(fake("dying", tmp_path / "starts")) as hub:
            with pytest.raises(ModelFault):
                await hub.call("fake", "die", {})
            await hub.call("fake", "stay", {})

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())

    assert caplog.records == []
