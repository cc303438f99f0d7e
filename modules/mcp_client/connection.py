"""One server through its life: started, ready, lost, started again, stopped.

1. One task owns it: starts the process, enters and leaves the session, waits for the process's end.
   So there is never more than one process of a server.
2. Its tools are offered while it is ready, and only then; the list is read again whenever the
   server says that it changed.
3. A call to a server that is starting waits for it, within the call's own time limit.
4. A call that was running when the server ended fails, and is not sent again: only the model can
   look whether it took effect.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from modules.mcp_client.adapt import Offer
from modules.mcp_client.child import Child, cancelled, start_child
from modules.mcp_client.launch import Launch
from modules.mcp_client.link import Link, Refusal
from modules.mcp_client.listing import list_tools
from modules.mcp_client.plain_text import one_line, shortened, without_surrogates
from modules.mcp_client.restarts import History, after_end, restart_pause
from modules.mcp_client.results import adapt_result
from modules.mcp_client.values import (
    Limits,
    McpResult,
    McpTool,
    ServerEntry,
    ServerState,
    ServerStatus,
)
from modules.records.errors import ModelFault, PersonFault, TransientFault

_MAX_WARNINGS = 20
_RELIST_PAUSE_SECONDS = 0.1
"""Between two readings of a list that changes without end."""
_RELIST_WAIT_SECONDS = 0.5
"""A call that changed the list of tools ends when the new one is read, or after this time."""
_SECRET_LENGTH = 6
"""A shorter value is not blotted out of a log: it would blot out half of it."""


class Connection:
    """A configured server; `run` is its life, the rest may be used from any task."""

    def __init__(
        self,
        entry: ServerEntry,
        launch: Launch,
        *,
        limits: Limits,
        on_change: Callable[[ServerStatus], None],
    ) -> None:
        self._entry = entry
        self._launch = launch
        self._limits = limits
        self._on_change = on_change
        self._state = _first_state(entry)
        self._why = "" if entry.is_disabled else entry.fault
        self._ready_at: float | None = None
        self._offer = Offer()
        self._child: Child | None = None
        self._link: Link | None = None
        self._log = ""
        self._settled = asyncio.Event()
        self._is_listed = asyncio.Event()

    @property
    def tools(self) -> tuple[McpTool, ...]:
        return self._offer.tools

    @property
    def log(self) -> str:
        """The newest part of what the server wrote to its standard error."""
        return self._child_log() if self._child else self._log

    @property
    def status(self) -> ServerStatus:
        return ServerStatus(
            name=self._entry.name,
            state=self._state,
            tool_count=len(self._offer.tools),
            why=self._why,
            warnings=self._warnings(),
            pid=self._child.pid if self._child else None,
        )

    async def run(self) -> None:
        """Keeps the server running until the task is cancelled or the server has failed."""
        if self._state is not ServerState.STARTING:
            self._settled.set()
            self._on_change(self.status)
            return
        try:
            self._become(ServerState.FAILED, await self._live_on())
        finally:
            self.shut()

    def shut(self) -> None:
        """Offers nothing from now on; the cancelled `run` ends the process."""
        if self._state in (ServerState.STARTING, ServerState.READY):
            self._become(ServerState.STOPPED)

    async def settle(self) -> None:
        """Waits until the server is not starting."""
        await self._settled.wait()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float | None
    ) -> McpResult:
        """Runs a tool; raises ModelFault when the server gives no answer."""
        limit = timeout_seconds or self._entry.timeout_seconds or self._limits.call_seconds
        name = self._entry.name
        try:
            async with asyncio.timeout(limit):
                await self._settled.wait()
                link = self._link_for(tool)
                raw = await link.request("tools/call", {"name": tool, "arguments": arguments})
        except TimeoutError as error:
            raise ModelFault(self._late(limit)) from error
        except Refusal as refusal:
            return McpResult(text=f"{refusal} (error {refusal.code})", is_error=True)
        except TransientFault as fault:
            end = "was stopped" if self._state is ServerState.STOPPED else str(fault)
            raise ModelFault(
                f"The MCP server {name!r} {end} during the call{self._last_words()}. Whether the "
                "call took effect is not known: look before you repeat it."
            ) from fault
        with contextlib.suppress(TimeoutError):  # then the list is not new; the answer is
            async with asyncio.timeout(_RELIST_WAIT_SECONDS):
                await self._is_listed.wait()
        return adapt_result(raw)

    def _link_for(self, tool: str) -> Link:
        name = self._entry.name
        if self._link is None or self._state is not ServerState.READY:
            raise ModelFault(f"The MCP server {name!r} can't be called: {self.status.line}.")
        if all(tool != offered.tool for offered in self._offer.tools):
            known = ", ".join(offered.tool for offered in self._offer.tools) or "none"
            known = shortened(without_surrogates(known), 2_000)
            raise ModelFault(
                f"The MCP server {name!r} has no tool {tool!r} now. Its tools: {known}."
            )
        return self._link

    def _late(self, limit: float) -> str:
        name = self._entry.name
        if self._state is ServerState.STARTING:
            return f"The MCP server {name!r} was not ready within {limit:g} s. Try again later."
        return (
            f"The MCP server {name!r} did not answer within {limit:g} s; the call was called off."
        )

    async def _live_on(self) -> str:
        """Lives as often as the restart rules allow; returns what was the end of it."""
        now = asyncio.get_running_loop().time
        history = History()
        while True:
            self._ready_at = None
            try:
                await self._live()
            except PersonFault as fault:
                return fault.line
            except TransientFault as fault:
                why = str(fault)
            ready_seconds = None if self._ready_at is None else now() - self._ready_at
            history = after_end(history, ready_seconds=ready_seconds, limits=self._limits)
            pause = restart_pause(history, self._limits)
            if pause is None:
                return why
            self._become(ServerState.STARTING, why)
            await asyncio.sleep(pause)

    async def _live(self) -> None:
        """One process, from its start to its end; raises what ended it."""
        entry, launch, limits = self._entry, self._launch, self._limits
        child = await start_child(
            launch.argv(entry), environment=launch.environment(entry), folder=launch.cwd(entry)
        )
        self._child = child
        link = Link(child, max_message_bytes=limits.max_message_bytes, on_lost=self._lose)
        try:
            await self._use(link)
        except TransientFault as fault:
            raise TransientFault(f"{fault}{self._last_words()}") from fault
        finally:
            self._link = None
            await child.stop(grace_seconds=limits.grace_seconds)
            self._log = self._child_log()
            self._child = None

    async def _use(self, link: Link) -> None:
        changed = asyncio.Event()

        def note_change() -> None:
            self._is_listed.clear()
            changed.set()

        limit = self._limits.start_seconds
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(limit):
                    await stack.enter_async_context(link.open(note_change))
                    offer = await list_tools(self._entry.name, link.request)
            except TimeoutError as error:
                raise TransientFault(f"was not ready within {limit:g} s") from error
            except Refusal as refusal:
                said = one_line(str(refusal), 200)
                raise TransientFault(f"does not tell its tools ({said})") from refusal
            self._link, self._offer = link, offer
            self._ready_at = asyncio.get_running_loop().time()
            if not changed.is_set():
                self._is_listed.set()
            self._become(ServerState.READY)
            relisting = asyncio.create_task(self._keep_listed(link, changed))
            try:
                await link.lost.wait()
            finally:
                await cancelled(relisting)
        raise TransientFault(link.end)

    async def _keep_listed(self, link: Link, changed: asyncio.Event) -> None:
        limit = self._limits.list_seconds
        while True:
            await changed.wait()
            changed.clear()
            try:
                async with asyncio.timeout(limit):
                    self._offer = await list_tools(self._entry.name, link.request)
            except (TimeoutError, Refusal) as fault:
                said = one_line(str(fault), 200) or f"not within {limit:g} s"
                stale = f"Its changed list of tools could not be read ({said})."
                self._offer = Offer(tools=self._offer.tools, warnings=(stale,))
            except TransientFault:
                return  # the owner sees the loss too, and acts on it
            if not changed.is_set():
                self._is_listed.set()
            self._become(ServerState.READY)
            await asyncio.sleep(_RELIST_PAUSE_SECONDS)

    def _lose(self, why: str) -> None:
        """Offers nothing from the very moment of the loss: the next call waits for the restart."""
        if self._state is ServerState.READY:
            self._become(ServerState.STARTING, f"{why}{self._last_words()}")

    def _become(self, state: ServerState, why: str = "") -> None:
        if self._state is ServerState.STOPPED:
            return
        is_news = (state, why) != (self._state, self._why) or state is ServerState.READY
        self._state, self._why = state, why
        if state is not ServerState.READY:
            self._offer = Offer(warnings=self._offer.warnings)
        if state is ServerState.STARTING:
            self._settled.clear()
        else:
            self._settled.set()
        if is_news:
            self._on_change(self.status)

    def _warnings(self) -> tuple[str, ...]:
        warnings = list(self._offer.warnings)
        if self._link and self._link.bad_lines:
            warnings.insert(
                0,
                f"{self._link.bad_lines} lines on its standard output were no protocol messages "
                f"and were skipped, the first: {self._blotted(self._link.first_bad_line)!r}.",
            )
        more = len(warnings) - _MAX_WARNINGS
        if more > 0:
            return (*warnings[:_MAX_WARNINGS], f"There are {more} warnings more.")
        return tuple(warnings)

    def _child_log(self) -> str:
        return self._blotted(self._child.log) if self._child else ""

    def _blotted(self, text: str) -> str:
        """Returns `text` without the values the server got in its environment."""
        for secret in self._entry.env.values():
            if len(secret) >= _SECRET_LENGTH:
                text = text.replace(secret, "***")
        return text

    def _last_words(self) -> str:
        lines = [line for line in self.log.splitlines() if line.strip()]
        return f" (last on its standard error: {one_line(lines[-1], 200)!r})" if lines else ""


def _first_state(entry: ServerEntry) -> ServerState:
    if entry.is_disabled:
        return ServerState.DISABLED
    return ServerState.FAILED if entry.fault else ServerState.STARTING
