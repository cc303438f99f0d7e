"""MCP servers work inside the sandbox, and what they can reach there is looked for on disk."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from modules.app.mcp_launch import launch_for
from modules.app.opening import Opened, open_repository_at
from modules.mcp_client.session import McpHub
from modules.mcp_client.values import ServerEntry, ServerState
from modules.records.settings import Settings
from modules.safety.jail import SandboxKind
from modules.safety.sandbox import Probe, probe
from tests.mcp_client.hubs import PROJECT, QUICK
from tests.repos import Repo, make_repo
from tests.scenarios.programs import eventually

pytestmark = pytest.mark.slow

REACHING = ServerEntry(
    name="my server",
    command=sys.executable,
    args=("-m", "tests.fakes.mcp_servers.reaching"),
    env={"PYTHONPATH": str(PROJECT)},
)
ECHO = ServerEntry(
    name="echo",
    command=sys.executable,
    args=(str(PROJECT / "mcp_servers" / "echo_server.py"),),
)
OPEN = Settings(is_mcp_sandboxed=False)
ATTACKS = (
    "echo out > {repo}/planted",
    "echo out >> {repo}/.git/config",
    "echo out > {home}/.planted",
    "cat {home}/.ssh/id_ed25519",
    "cat {repo}/.env",
    "cat {repo}/.team/board.jsonl",
)


@pytest.fixture(params=[SandboxKind.BWRAP, SandboxKind.LANDLOCK])
def kind(request: pytest.FixtureRequest) -> SandboxKind:
    kind: SandboxKind = request.param
    return kind


@pytest.fixture
def repo(tmp_path: Path, own_environment: Path) -> Repo:
    repo = make_repo(tmp_path)
    for path in (own_environment / ".ssh/id_ed25519", repo.root / ".env", _board(repo)):
        path.parent.mkdir(exist_ok=True)
        path.write_text("a secret\n")
    return repo


def _board(repo: Repo) -> Path:
    return repo.root / ".team" / "board.jsonl"


def jail_of(opened: Opened, kind: SandboxKind) -> Probe:
    found = probe(opened.environment, [kind])
    if found.kind is not kind:
        pytest.skip(f"needs {kind}: {found.why}")
    return found


async def called(
    opened: Opened, sandbox: Probe, entry: ServerEntry, *calls: str, settings: Settings
) -> list[str]:
    hub = McpHub(launch_for(opened, settings, sandbox), limits=QUICK)
    hub.start([entry])
    try:
        await hub.settle(30)
        assert [status.state for status in hub.status()] == [ServerState.READY], hub.log(entry.name)
        results = [await hub.call(entry.name, "run", {"command": call}) for call in calls]
    finally:
        await hub.stop()
    return [result.text for result in results]


def test_echo_server_answers_from_inside(repo: Repo, kind: SandboxKind) -> None:
    opened = open_repository_at(repo.root)
    sandbox = jail_of(opened, kind)

    async def say() -> str:
        hub = McpHub(launch_for(opened, Settings(), sandbox))
        hub.start([ECHO])
        try:
            await hub.settle(30)
            return (await hub.call("echo", "echo", {"text": "hello"})).text
        finally:
            await hub.stop()

    assert asyncio.run(say()) == "hello"


@pytest.mark.parametrize("attack", ATTACKS)
def test_server_reaches_nothing_it_should_not(
    repo: Repo, kind: SandboxKind, own_environment: Path, attack: str
) -> None:
    opened = open_repository_at(repo.root)
    sandbox = jail_of(opened, kind)
    command = attack.format(repo=repo.root, home=own_environment)
    planted = (repo.root / "planted", own_environment / ".planted")
    config = (repo.root / ".git" / "config").read_text()

    (unguarded,) = asyncio.run(called(opened, sandbox, REACHING, command, settings=OPEN))
    assert unguarded.endswith("exit 0")
    for path in planted:
        path.unlink(missing_ok=True)
    (repo.root / ".git" / "config").write_text(config)
    (guarded,) = asyncio.run(called(opened, sandbox, REACHING, command, settings=Settings()))

    assert "a secret" not in guarded
    assert [path for path in planted if path.exists()] == []
    assert (repo.root / ".git" / "config").read_text() == config


def test_server_reads_the_repository_and_keeps_its_own_folder(
    repo: Repo, kind: SandboxKind
) -> None:
    opened = open_repository_at(repo.root)
    sandbox = jail_of(opened, kind)
    look = 'pwd; cat a.txt; for d in "$HOME" "$TMPDIR"; do cat "$d/kept"; echo it > "$d/kept"; done'

    first, second = (
        asyncio.run(called(opened, sandbox, REACHING, look, settings=Settings()))[0]
        for _ in range(2)
    )

    assert first.startswith(f"{repo.root}\none\ntwo\n")
    assert "it\nit\n" not in first
    assert "it\nit\n" in second


def test_command_that_is_not_there_fails_at_once(repo: Repo, kind: SandboxKind) -> None:
    opened = open_repository_at(repo.root)
    sandbox = jail_of(opened, kind)

    async def why(command: str) -> str:
        hub = McpHub(launch_for(opened, Settings(), sandbox))
        hub.start([ServerEntry(name="none", command=command)])
        try:
            await hub.settle(30)
            (status,) = hub.status()
        finally:
            await hub.stop()
        assert status.state is ServerState.FAILED
        return status.why

    for command in ("no-such-server", "./no-such-server"):
        assert f"{command!r} can't be started" in asyncio.run(why(command))


def test_machine_without_a_sandbox_starts_no_server(repo: Repo) -> None:
    opened = open_repository_at(repo.root)
    none = Probe(kind=SandboxKind.UNAVAILABLE, why="There is none.")

    async def states(settings: Settings) -> list[ServerState]:
        hub = McpHub(launch_for(opened, settings, none))
        hub.start([ECHO])
        try:
            await hub.settle(30)
            return [status.state for status in hub.status()]
        finally:
            await hub.stop()

    assert asyncio.run(states(Settings())) == [ServerState.FAILED]
    assert asyncio.run(states(OPEN)) == [ServerState.READY]


LEAD = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from modules.app.mcp_launch import launch_for
    from modules.app.opening import open_repository_at
    from modules.mcp_client.session import McpHub
    from modules.mcp_client.values import ServerEntry
    from modules.records.settings import Settings
    from modules.safety.sandbox import probe

    async def lead():
        opened = open_repository_at(Path(sys.argv[1]))
        hub = McpHub(launch_for(opened, Settings(), probe(opened.environment)))
        hub.start([ServerEntry(
            name="stubborn", command=sys.executable,
            args=("-c", sys.argv[2]),
        )])
        await asyncio.sleep(600)

    asyncio.run(lead())
""")


def running(code: str) -> set[int]:
    """Returns the processes that were started with some code, their jails' included."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if code.encode() in words and str(LEAD).encode() not in words:
            found.add(int(path.parent.name))
    return found


def test_server_that_ignores_its_input_dies_with_a_killed_lead(
    repo: Repo, kind: SandboxKind
) -> None:
    jail_of(open_repository_at(repo.root), kind)
    code = (
        f"import os, time; open(os.environ['TMPDIR'] + '/up', 'w'); time.sleep(600) # {repo.root}"
    )
    lead = subprocess.Popen(
        [sys.executable, "-c", LEAD, str(repo.root), code],
        cwd=PROJECT,
        env={**os.environ, "CREWYARD_SANDBOX": str(kind), "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        eventually(lambda: list((repo.root / ".team" / "tmp").glob("mcp-*/up")))
        assert running(code)

        lead.send_signal(signal.SIGKILL)
        lead.wait(10)

        eventually(lambda: not running(code))
    finally:
        lead.kill()
        lead.wait(10)
