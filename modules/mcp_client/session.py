"""All MCP servers of the lead: one pool for every agent, started in the background.

`start` returns at once; what is ready is offered. Every process dies with `stop`, which takes a
limited time.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from modules.mcp_client.connection import Connection
from modules.mcp_client.launch import Launch
from modules.mcp_client.names import distinct_names, public_name
from modules.mcp_client.values import Limits, McpResult, McpTool, ServerEntry, ServerStatus
from modules.records.errors import ModelFault


def _unheard(_status: ServerStatus) -> None:
    """Listens to no change."""


class McpHub:
    """The servers of one repository; used from the task's loop it was started in."""

    def __init__(
        self,
        launch: Launch,
        *,
        limits: Limits = Limits(),  # noqa: B008 - a frozen record
        on_change: Callable[[ServerStatus], None] = _unheard,
    ) -> None:
        self._launch = launch
        self._limits = limits
        self._on_change = on_change
        self._connections: dict[str, Connection] = {}
        self._owners: list[asyncio.Task[None]] = []

    def start(self, servers: Iterable[ServerEntry]) -> None:
        """Begins to start the servers, whose names are distinct; waits for none of them."""
        for entry in servers:
            connection = Connection(
                entry, self._launch, limits=self._limits, on_change=self._on_change
            )
            self._connections[entry.name] = connection
            self._owners.append(asyncio.create_task(connection.run(), name=f"mcp {entry.name}"))

    async def settle(self, timeout_seconds: float) -> bool:
        """Waits until no server is starting; returns whether that came in time."""
        try:
            async with asyncio.timeout(timeout_seconds):
                for connection in self._connections.values():
                    await connection.settle()
        except TimeoutError:
            return False
        return True

    def tools(self) -> tuple[McpTool, ...]:
        """Returns the tools of all ready servers, in the order of the servers and their lists."""
        tools = [tool for c in self._connections.values() for tool in c.tools]
        names = distinct_names((tool.server, tool.tool) for tool in tools)
        return tuple(
            msgspec.structs.replace(tool, name=names[tool.server, tool.tool]) for tool in tools
        )

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_seconds: float | None = None,
    ) -> McpResult:
        """Runs a tool by the names its server uses, within the server's own limit by default.

        Raises ModelFault when there is no such server or tool, or no answer.
        """
        connection = self._connections.get(server)
        if connection is None:
            known = ", ".join(map(repr, self._connections)) or "none"
            raise ModelFault(f"There is no MCP server {server!r}. The servers: {known}.")
        return await connection.call(tool, arguments, timeout_seconds)

    def status(self) -> tuple[ServerStatus, ...]:
        """Returns how each server stands, in the order of their start."""
        renamed: dict[str, list[str]] = {}
        for tool in self.tools():
            if tool.name != public_name(tool.server, tool.tool):
                warning = f"The tool {tool.tool!r} is called {tool.name!r}: its name was taken."
                renamed.setdefault(tool.server, []).append(warning)
        return tuple(
            msgspec.structs.replace(
                status, warnings=(*status.warnings, *renamed.get(status.name, ()))
            )
            for status in (connection.status for connection in self._connections.values())
        )

    def log(self, server: str) -> str:
        """Returns the newest part of a server's standard error; empty for an unknown server."""
        connection = self._connections.get(server)
        return connection.log if connection else ""

    async def stop(self) -> None:
        """Ends every server and its children; running calls fail."""
        for connection in self._connections.values():
            connection.shut()
        for owner in self._owners:
            owner.cancel()
        ends = await asyncio.gather(*self._owners, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end
