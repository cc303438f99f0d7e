"""MCP servers of a trusted repository: every agent calls their tools, and none outlives the run."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.programs import (
    PASSING,
    PROJECT,
    assert_nothing_left,
    calls,
    crewyard,
    git,
    heard,
    make_repository,
    make_script,
    processes_in,
    submit,
    worker,
)

pytestmark = pytest.mark.slow

ECHO = "mcp__echo__echo"
SERVERS = {
    "mcpServers": {
        "echo": {"command": sys.executable, "args": [str(PROJECT / "mcp_servers/echo_server.py")]},
        "broken": {"command": "no-such-server"},
    }
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {".mcp.json": json.dumps(SERVERS)})


def trust(repository: Path) -> None:
    assert crewyard("trust", "add", cwd=repository).code == 0


def allow(own_environment: Path, *rules: str) -> None:
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"[permissions]\nallow = {json.dumps(rules)}\n")


def echo(text: str) -> dict[str, Any]:
    return {ECHO: {"text": text}}


def script_of_both(folder: Path) -> str:
    """A lead that calls the server's tool and posts a task whose worker calls it, too."""
    return make_script(
        folder,
        [
            {
                "agent": "lead",
                "turns": [
                    calls(echo("hello from the lead"), {"board_post_task": {"subject": "call"}}),
                    {"expect": "completed without changes", "say": "Both have called."},
                ],
            },
            worker(
                "call",
                calls(echo("hello from a worker")),
                calls(submit(no_changes_reason="Only a call.")),
            ),
        ],
    )


def test_lead_and_worker_call_a_servers_tool(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    trust(repository)
    allow(own_environment, "mcp__echo")

    ended = crewyard(
        *("-p", "call", "--json", "--check", PASSING, "--model", script_of_both(tmp_path)),
        cwd=repository,
    )

    assert ended.code == 0, ended
    assert ended.document["result"] == "Both have called."
    assert "hello from the lead" in heard(repository, "lead-*").split("\n")
    assert "hello from a worker" in heard(repository, "t1-1-*").split("\n")
    assert_nothing_left(repository)
    assert git(repository, "log", "--format=%s") == "first"


def test_servers_tool_needs_a_yes_that_nobody_gives(repository: Path, tmp_path: Path) -> None:
    trust(repository)

    ended = crewyard(
        *("-p", "call", "--json", "--check", PASSING, "--model", script_of_both(tmp_path)),
        cwd=repository,
    )

    assert ended.code == 0, ended
    for session in ("lead-*", "t1-1-*"):
        told = heard(repository, session)
        assert f"Permission denied: {ECHO} is dangerous" in told
        assert "hello from" not in told
    assert_nothing_left(repository)


def test_servers_of_a_repository_nobody_trusts_offer_nothing(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    allow(own_environment, "mcp__echo")

    ended = crewyard(
        *("-p", "call", "--json", "--check", PASSING, "--model", script_of_both(tmp_path)),
        cwd=repository,
    )

    assert ended.code == 0, ended
    assert f"There is no tool '{ECHO}'" in heard(repository, "lead-*")
    assert f"There is no tool '{ECHO}'" in heard(repository, "t1-1-*")
    assert_nothing_left(repository)


def test_status_tells_of_every_server_and_leaves_none_behind(repository: Path) -> None:
    refused = crewyard("mcp", "status", "--json", cwd=repository)
    assert refused.code == 2
    assert "trust add" in refused.document["error"]

    trust(repository)
    shown = crewyard("mcp", "status", "--json", cwd=repository)

    assert shown.code == 0, shown
    by_name = {server["name"]: server for server in shown.document}
    assert (by_name["echo"]["state"], by_name["echo"]["tools"]) == ("ready", 2)
    assert by_name["broken"]["state"] != "ready"
    assert "no-such-server" in by_name["broken"]["why"]
    assert processes_in(repository) == []
