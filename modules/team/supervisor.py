"""Who works on what: gives claimable tasks to workers, and starts workers for claimable tasks.

1. Woken by events (board, an attempt's end, a resting task's time), it looks at everything anew.
2. A named teammate that is idle claims first, whatever their number; then workers of the crew are
   made for what is left, as long as fewer than the allowed number are at work, teammates counted.
3. A worker works on one attempt at a time, in a process of its own that lives as long as it.
4. A crew's worker without work goes; a named teammate stays until it is shut down.
5. A paused worker claims nothing and asks its model nothing more until it is resumed; it keeps its
   task, its lane and its process.
6. After `stop` nothing is claimed; attempts under way are ended and waited for.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta

from modules.records.crew import WorkerState, WorkerView
from modules.records.decisions import Mode
from modules.records.errors import ModelFault
from modules.records.protocol import STOP_LIMITS
from modules.records.tasks import Task
from modules.team.addresses import is_crew_name
from modules.team.member import Member
from modules.team.task_board import TaskBoard

MOST_TEAMMATES = 16


class Supervisor:
    """The crew of one lead.

    `attempt` works on a claimed task with a member until the claim is over and never raises for a
    worker's failure.
    """

    def __init__(
        self,
        board: TaskBoard,
        *,
        most_workers: int,
        lease: timedelta,
        attempt: Callable[[Member, Task], Awaitable[None]],
        clock: Callable[[], datetime],
        on_change: Callable[[Member], None],
    ) -> None:
        self._board = board
        self._most_workers = most_workers
        self._lease = lease
        self._attempt = attempt
        self._clock = clock
        self._on_change = on_change
        self._members: dict[str, Member] = {}
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._is_paused = False

    def wake(self) -> None:
        """Makes the supervisor look at everything anew."""
        self._wake.set()

    def members(self) -> list[WorkerView]:
        """Returns the crew, by name."""
        return [self._members[name].view() for name in sorted(self._members)]

    @property
    def is_busy(self) -> bool:
        """True while a worker is at an attempt or could begin one now."""
        busy = any(member.job is not None for member in self._members.values())
        return busy or (not self._is_stopping and self._can_start())

    async def run(self) -> None:
        """Keeps the crew at work until it is cancelled; raises what a bug in an attempt raised."""
        while True:
            self._wake.clear()
            looked_at = self._clock()
            self._start_what_can_start()
            await self._sleep(looked_at)
            self._reap()

    def add_teammate(
        self,
        name: str,
        role: str,
        model: str,
        *,
        tools: tuple[str, ...] | None = None,
        mode: Mode | None = None,
    ) -> Member:
        """Adds a named teammate; raises ModelFault when the name is taken or the crew is full."""
        if name in self._members:
            raise ModelFault(f"A worker {name!r} is there already.")
        if len(self._members) >= MOST_TEAMMATES:
            raise ModelFault(f"The crew has {MOST_TEAMMATES} workers, the most there can be.")
        member = self._new_member(name, role, is_named=True, model=model, tools=tools, mode=mode)
        self.wake()
        return member

    def pause(self, name: str | None) -> None:
        """Pauses one worker, or the whole crew when `name` is None."""
        for member in self._named(name):
            member.rest()
        self._is_paused = self._is_paused or name is None

    def resume(self, name: str | None) -> None:
        """Lets a paused worker go on, or the whole crew when `name` is None."""
        for member in self._named(name):
            member.go_on()
        self._is_paused = self._is_paused and name is not None
        self.wake()

    @property
    def is_paused(self) -> bool:
        """True while nobody begins anything until the crew is resumed."""
        return self._is_paused

    def _named(self, name: str | None) -> list[Member]:
        if name is None:
            return list(self._members.values())
        if name not in self._members:
            raise ModelFault(f"There is no worker {name!r}.")
        return [self._members[name]]

    async def remove_teammate(self, name: str) -> list[int]:
        """Ends a worker and what it works on; returns the processes the kernel could not end."""
        member = self._members.get(name)
        if member is None:
            raise ModelFault(f"There is no worker {name!r}.")
        await self._end([member], why=f"{name} was shut down.")
        return member.left_behind

    def waiting(self, name: str, what: str, until: datetime | None) -> AbstractContextManager[None]:
        """Shows a worker as waiting as long as the context lasts; nobody else is shown so."""
        member = self._members.get(name)
        return nullcontext() if member is None else member.waiting(what, until=until)

    async def stop(self) -> None:
        """Ends every attempt and waits until all are ended; raises what a bug in one raised."""
        self._is_stopping = True
        await self._end(list(self._members.values()), why="The crew was stopped.")

    async def _end(self, leaving: list[Member], *, why: str) -> None:
        jobs = [member.job for member in leaving if member.job is not None]
        until = self._clock() + timedelta(seconds=STOP_LIMITS.whole_seconds)
        for member in leaving:
            member.leaves_because = member.leaves_because or why
            if member.job is not None:
                member.set_state(WorkerState.STOPPING, until=until)
        # A job cancelled before its first step would never give its claim back.
        await asyncio.sleep(0)
        for job in jobs:
            # A second cancel would break into the attempt's clean end.
            if not job.cancelling():
                job.cancel()
        if jobs:
            await asyncio.wait(jobs)
        for member in leaving:
            self._drop(member)
        for job in jobs:
            _raise_bug(job)

    def _can_start(self) -> bool:
        if self._is_paused:
            return False
        named = [member for member in self._idle() if member.is_named]
        if any(self._board.has_work_for(member.name, member.role) for member in named):
            return True
        return self._has_room and self._next_name() is not None

    def _idle(self) -> list[Member]:
        """Returns who could begin an attempt, named teammates first."""
        idle = [
            member
            for member in self._members.values()
            if member.job is None and not member.leaves_because and member.may_go.is_set()
        ]
        return sorted(idle, key=lambda member: not member.is_named)

    @property
    def _has_room(self) -> bool:
        return sum(member.job is not None for member in self._members.values()) < self._most_workers

    def _start_what_can_start(self) -> None:
        if self._is_stopping or self._is_paused:
            return
        for member in self._idle():
            can_start = member.is_named or self._has_room
            is_started = can_start and self._start(member)
            if not is_started and not member.is_named:
                self._drop(member)
        while self._has_room and (name := self._next_name()) is not None:
            member = self._new_member(name, "", is_named=False)
            if not self._start(member):
                self._drop(member)
                return

    def take_up(self, task: Task, earlier: WorkerView | None) -> None:
        """Goes on with an attempt that was begun under an earlier lead, by a worker of its name.

        `earlier` is that worker as the earlier lead last wrote of it; what it may do stays.
        """
        if task.worker in self._members:
            raise RuntimeError(f"{task.worker} is at another attempt already.")
        member = self._new_member(
            task.worker,
            earlier.role if earlier else "",
            is_named=earlier is not None and earlier.is_named,
            model=earlier.model if earlier else "",
            tools=earlier.tools if earlier else None,
            mode=earlier.mode if earlier else None,
        )
        self._begin(member, task)

    def _start(self, member: Member) -> bool:
        task = self._board.claim(worker=member.name, role=member.role, lease=self._lease)
        if task is None:
            return False
        self._begin(member, task)
        return True

    def _begin(self, member: Member, task: Task) -> None:
        member.task = task.task_id
        member.set_state(WorkerState.STARTING)
        member.job = asyncio.create_task(self._run_attempt(member, task))
        member.job.add_done_callback(lambda _: self.wake())

    async def _run_attempt(self, member: Member, task: Task) -> None:
        try:
            await self._attempt(member, task)
        finally:
            member.task = member.pid = None

    async def _sleep(self, looked_at: datetime) -> None:
        # A time that came after the look was not seen by it, so it counts as still to come.
        start = self._board.next_start(looked_at)
        seconds = None if start is None else max(0.0, (start - self._clock()).total_seconds())
        with contextlib.suppress(TimeoutError):  # the resting task's time has come
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    def _reap(self) -> None:
        for member in list(self._members.values()):
            job = member.job
            if job is None or not job.done():
                continue
            member.job = None
            if member.leaves_because or not self._has_use_for(member):
                self._drop(member)
            else:
                member.set_state(WorkerState.IDLE)
            _raise_bug(job)

    def _has_use_for(self, member: Member) -> bool:
        return member.is_named or self._board.has_work_for(member.name, member.role)

    def _new_member(
        self,
        name: str,
        role: str,
        *,
        is_named: bool,
        model: str = "",
        tools: tuple[str, ...] | None = None,
        mode: Mode | None = None,
    ) -> Member:
        member = Member(
            name=name,
            role=role,
            is_named=is_named,
            model=model,
            tools=tools,
            mode=mode,
            since=self._clock(),
            clock=self._clock,
            on_change=self._on_change,
        )
        member.may_go.set()
        self._members[name] = member
        return member

    def _next_name(self) -> str | None:
        """Returns the name of a worker of the crew that is not there and could begin something."""
        free = self._free_name()
        if self._board.has_work_for(free, ""):
            return free
        asked_for = (name for name in sorted(self._board.assignees()) if is_crew_name(name))
        absent = (name for name in asked_for if name not in self._members)
        return next((name for name in absent if self._board.has_work_for(name, "")), None)

    def _free_name(self) -> str:
        numbers = range(1, len(self._members) + 2)
        return next(f"w{number}" for number in numbers if f"w{number}" not in self._members)

    def _drop(self, member: Member) -> None:
        if self._members.pop(member.name, None) is not None:
            member.set_state(WorkerState.GONE)


def _raise_bug(job: "asyncio.Task[None]") -> None:
    """Raises what an attempt that is over raised."""
    if not job.cancelled():
        job.result()
