"""One worker as its lead sees it: what it is at, what it waits for, since when and until when.

1. What a worker waits for is noted where the wait is, and forgotten where it ends, however it ends.
2. A worker at work that waits is shown as waiting, for what it began to wait for last.
3. One that is paused rests after its step, and at once where it is at none.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from modules.records.crew import WorkerState, WorkerView
from modules.records.decisions import Mode


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    """What a worker waits for."""

    what: str
    since: datetime
    until: datetime | None
    """None where nothing limits it."""


@dataclass(slots=True, eq=False)
class Member:
    """One worker; its state changes through `set_state` and `waiting` alone."""

    name: str
    role: str
    is_named: bool
    """True for a teammate somebody asked for by name."""
    model: str
    tools: tuple[str, ...] | None = field(default=None, kw_only=True)
    """The tools it may use of those its role has; None: all of them."""
    mode: Mode | None = field(default=None, kw_only=True)
    """The most it may do unasked, never more than the lead; None: as much as the lead."""
    since: datetime
    clock: Callable[[], datetime]
    on_change: Callable[["Member"], None]
    state: WorkerState = WorkerState.IDLE
    until: datetime | None = None
    """When the state ends at the latest; None where nothing limits it."""
    task: int | None = None
    pid: int | None = None
    doing: str = ""
    """The tool it runs, or what it waits for."""
    left_behind: list[int] = field(default_factory=list)
    """Processes of its last attempt that the kernel could not end."""
    leaves_because: str = ""
    """Why its attempt is ended from outside; empty while it stays."""
    job: "asyncio.Task[None] | None" = field(default=None, repr=False)
    may_go: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Not set while the worker is paused."""
    pause: Wait | None = None
    """What a paused worker waits for."""
    waits: list[Wait] = field(default_factory=list, repr=False)

    def set_state(
        self, state: WorkerState, *, doing: str = "", until: datetime | None = None
    ) -> None:
        """Notes what the worker is at now; the same state again changes its limit, if anything."""
        before = self._shown
        if state is not self.state:
            self.state, self.since, self.until, self.doing = state, self.clock(), until, doing
        elif until is not None:
            self.until = until
        self._tell(before)

    def rest(self) -> None:
        """Lets the worker begin nothing and ask its model nothing until it is to go on."""
        before = self._shown
        self.may_go.clear()
        self.pause = self.pause or Wait(what="/resume", since=self.clock(), until=None)
        self._tell(before)

    def go_on(self) -> None:
        """Ends the worker's rest."""
        before = self._shown
        self.may_go.set()
        self.pause = None
        self._tell(before)

    @contextlib.contextmanager
    def waiting(self, what: str, *, until: datetime | None = None) -> Iterator[None]:
        """Shows the worker as waiting for `what` as long as the context lasts."""
        wait, before = Wait(what=what, since=self.clock(), until=until), self._shown
        self.waits.append(wait)
        self._tell(before)
        try:
            yield
        finally:
            before = self._shown
            self.waits.remove(wait)
            self._tell(before)

    def view(self) -> WorkerView:
        """Returns the worker for people."""
        wait = self._wait
        return WorkerView(
            name=self.name,
            role=self.role,
            state=self.state if wait is None else WorkerState.WAITING,
            task=self.task,
            pid=self.pid,
            since=self.since if wait is None else wait.since,
            until=self.until if wait is None else wait.until,
            doing=self._doing if wait is None else wait.what,
            is_named=self.is_named,
            model=self.model,
            tools=self.tools,
            mode=self.mode,
        )

    @property
    def _wait(self) -> Wait | None:
        if self.state is WorkerState.IDLE:
            return self.pause
        return self.waits[-1] if self.waits and self.state is WorkerState.WORKING else None

    @property
    def _doing(self) -> str:
        if self.pause is None or self.state is not WorkerState.WORKING:
            return self.doing
        return f"{self.doing or 'this step'}, then rests"

    @property
    def _shown(self) -> tuple[WorkerState, Wait | None, datetime | None]:
        return self.state, self._wait, self.until

    def _tell(self, before: tuple[WorkerState, Wait | None, datetime | None]) -> None:
        if self._shown != before:
            self.on_change(self)
