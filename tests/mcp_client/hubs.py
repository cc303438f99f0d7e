"""Hubs over fake servers, and ways to wait for what becomes of them."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from modules.mcp_client.launch import Launch, Wrap, unwrapped
from modules.mcp_client.session import McpHub
from modules.mcp_client.values import Limits, ServerEntry, ServerState, ServerStatus

PROJECT = Path(__file__).parents[2]
QUICK = Limits(first_pause_seconds=0.05, grace_seconds=0.3)
PATIENCE_SECONDS = 30.0
"""Long enough for a loaded machine; a test that waits so long has failed."""


def fake(module: str, *args: object, name: str = "fake", **more: str) -> ServerEntry:
    """Returns the entry of a server of tests/fakes/mcp_servers; `more` is its environment."""
    return ServerEntry(
        name=name,
        command=sys.executable,
        args=("-m", f"tests.fakes.mcp_servers.{module}", *map(str, args)),
        env=dict(more),
    )


class Changes:
    """Every status a hub has told, as it came."""

    def __init__(self) -> None:
        self.seen: list[ServerStatus] = []
        self._unread: asyncio.Queue[ServerStatus] = asyncio.Queue()

    def hear(self, status: ServerStatus) -> None:
        self.seen.append(status)
        self._unread.put_nowait(status)

    async def until(self, wanted: Callable[[ServerStatus], bool]) -> ServerStatus:
        """Waits for the next status that is wanted."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not wanted(status := await self._unread.get()):
                pass
        return status

    async def until_state(self, state: ServerState) -> ServerStatus:
        return await self.until(lambda status: status.state is state)


@contextlib.asynccontextmanager
async def running(
    *servers: ServerEntry,
    limits: Limits = QUICK,
    variables: Mapping[str, str] | None = None,
    wrap: Wrap = unwrapped,
    changes: Changes | None = None,
) -> AsyncIterator[McpHub]:
    """Yields a hub whose servers have come up, or failed."""
    launch = Launch(folder=PROJECT, variables=variables or {}, wrap=wrap)
    hub = McpHub(launch, limits=limits, on_change=(changes or Changes()).hear)
    hub.start(servers)
    try:
        assert await hub.settle(PATIENCE_SECONDS)
        yield hub
    finally:
        await hub.stop()


def pids_in(file: Path) -> list[int]:
    """Returns the process ids a fake server wrote down."""
    return [int(word) for word in file.read_text(encoding="utf-8").split()]


def is_alive(pid: int) -> bool:
    """Returns whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


async def death_of(pid: int) -> None:
    """Waits until a process that is no child of ours runs no more."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while is_alive(pid):
            await asyncio.sleep(0.01)
