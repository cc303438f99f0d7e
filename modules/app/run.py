"""A lead's process at work: from taking the repository to leaving nothing behind.

Start: lock → sweep what a dead lead left → recover the queue → make the board agree → go.
End: workers stopped and waited for → MCP servers ended → lock given back.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from modules.app.attempt_place import close_lane_safely, sweep_temporary
from modules.app.crew import Crew
from modules.app.crew_file import read_crew
from modules.app.duties import guarded
from modules.app.finishing import finish
from modules.app.house import House
from modules.app.report import RunReport
from modules.app.role_watch import RoleWatch
from modules.app.stuck_watch import StuckWatch
from modules.git.lane_names import ATTEMPT
from modules.git.lanes import finish_closing, list_lanes
from modules.records.crew import CrewView, WorkerState, WorkerView
from modules.records.decisions import Mode
from modules.records.errors import ModelFault, PersonFault
from modules.records.events import AnyEvent, EntryChanged, RunStarted, TaskChanged, WorkerChanged
from modules.records.exits import Exit
from modules.records.tasks import Task, TaskStatus
from modules.safety.hook_matching import HookEvent
from modules.store.files import write_atomically, write_soon
from modules.store.locks import LeadLock
from modules.store.watch import changes
from modules.team.addresses import is_crew_name
from modules.team.board_rules import UNDER_WAY, current_claim
from modules.team.supervisor import Supervisor


class Run:
    """One lead's crew at work on one repository."""

    def __init__(
        self, house: House, crew: Crew, supervisor: Supervisor, *, resume: str | None
    ) -> None:
        self.house = house
        self.crew = crew
        self.supervisor = supervisor
        self.resume = resume
        """The conversation the lead is to go on with; None: a new one."""
        self.started_at: datetime = house.clock()
        self.hook_context = ""
        """What SessionStart hooks want the lead to read."""
        self._has_session = False
        self._bounds: set[tuple[str, str, tuple[str, ...] | None, Mode | None]] = set()
        """What each teammate may do, as it is on disk."""
        self._unwritten = ""
        """Why the crew's file could not be written, as it was told."""
        self._left: list[tuple[Task, WorkerView | None]] = []
        """Attempts that a dead lead left, which go on once everything is up."""
        self._awaited: list[WorkerView] = []
        """Teammates of the last lead that tasks wait for; they are there again then, too."""
        self._endings: list[Callable[[], Awaitable[None]]] = []
        self._landed: list[str] = []
        self._worker_tasks: dict[str, list[int]] = {}
        self._touched: set[int] = set()
        self._stuck = StuckWatch(
            house.board, house.events, there=lambda: [view.name for view in supervisor.members()]
        )
        house.events.listen(self._take_event)
        house.events.listen(self._stuck.take_event)
        roles = RoleWatch(house.board, house.events, described=house.settings.roles)
        house.events.listen(roles.take_event)

    @contextlib.asynccontextmanager
    async def at_work(self, *, server_seconds: float = 0.0) -> AsyncIterator[None]:
        """Keeps the crew at work for as long as the context lasts.

        Nobody begins before the MCP servers are up, or `server_seconds` have passed.
        Raises PersonFault when another lead runs here. What ends the run from inside (a missing
        key, a spent budget, a bug) cancels the body and is raised in its place.
        """
        lock = LeadLock(self.house.paths.lead_lock)
        lock.acquire()
        try:
            if "proxy" in (self.house.settings.worker_network, self.house.settings.mcp_network):
                await self.house.egress.start()
            await self._take_over()
            await self._start_session()
            self.house.mcp.start(self.house.mcp_servers)
            if server_seconds:
                await self.house.mcp.settle(server_seconds)
            for task, earlier in self._left:
                self.supervisor.take_up(task, earlier)
            self._bring_back_teammates()
            async with guarded(self.house.failed, self._duties()):
                yield
        finally:
            await finish(self._leave(lock))

    def at_end(self, ending: Callable[[], Awaitable[None]]) -> None:
        """Takes in what ends a part of the run that was joined to it."""
        self._endings.append(ending)

    @property
    def is_quiet(self) -> bool:
        """True when nothing is under way and nothing can begin, now or later, by itself."""
        return not (
            self.supervisor.is_busy
            or self.house.merging.is_busy
            or self.house.board.next_start() is not None
        )

    def report(self, result: str, exit_code: Exit, *, error: str = "") -> RunReport:
        """Returns what the run came to so far; `error` is what ended it, if anything did."""
        return RunReport(
            result=result,
            tasks=tuple(task for task in self.crew.tasks() if task.task_id in self._touched),
            landed=tuple(self._landed),
            worker_tasks=self._worker_tasks,
            usage=self.house.budget.usage,
            cost_usd=self.house.budget.cost_usd,
            seconds=(self.house.clock() - self.started_at).total_seconds(),
            exit_code=exit_code,
            error=error,
        )

    async def _take_over(self) -> None:
        house = self.house
        for warning in house.warnings:
            house.events.notice(warning)
        # A half-made worktree makes git stumble at every turn, so sweeping comes first.
        for line in await asyncio.to_thread(house.sweep):
            house.events.notice(line)
        await asyncio.to_thread(house.queue.recover)
        house.merging.settle_board()
        left = read_crew(house.paths.crew)  # before this lead writes its own
        workers = {} if left is None else {(view.name, view.task): view for view in left.workers}
        for task in house.board.tasks():
            if task.status in UNDER_WAY and not house.merging.holds(current_claim(task)):
                self._take_up(task, workers.get((task.worker, task.task_id)))
        asked_for = house.board.assignees()
        named = [] if left is None else [view for view in left.workers if view.is_named]
        self._awaited = [view for view in named if view.name in asked_for]
        await self._close_left_lanes()
        self._touched = {
            task.task_id
            for task in house.board.tasks()
            if task.status not in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)
        }
        house.events.emit(
            RunStarted(
                at=house.clock(),
                target=house.repository.target,
                target_commit=house.queue.landed,
                workers=house.settings.workers,
            )
        )

    def _bring_back_teammates(self) -> None:
        there = {view.name for view in self.supervisor.members()}
        for view in self._awaited:
            if view.name in there:
                continue
            # Where the crew is full, what waits for the teammate is told as stuck.
            with contextlib.suppress(ModelFault):
                self.supervisor.add_teammate(
                    view.name, view.role, view.model, tools=view.tools, mode=view.mode
                )
                self.house.events.notice(f"{view.name} is there again: tasks wait for it.")

    def _take_up(self, task: Task, earlier: WorkerView | None) -> None:
        """Goes on with an attempt that a dead lead left, or gives its task back.

        Given back is also the task of a teammate of which nobody knows any more what it may do, and
        that of a worker who is at another one by now.
        """
        house = self.house
        place = house.paths.lanes / task.lane
        is_known = earlier is not None or is_crew_name(task.worker)
        is_free = task.worker not in {other.worker for other, _ in self._left}
        if task.lane and place.is_dir() and is_known and is_free:
            house.events.notice(f"Task {task.task_id} goes on where the last lead left it.")
            self._left.append((task, earlier))
            return
        house.board.release(
            current_claim(task),
            reason="The lead that ran this attempt ended.",
            is_failure=False,
            by="lead",
        )

    async def _close_left_lanes(self) -> None:
        """Closes the lanes of attempts that are over; what had not landed is kept in a ref."""
        house = self.house
        await asyncio.to_thread(
            finish_closing, house.repository, is_landed=house.queue.has_landed, now=house.clock()
        )
        taken = {task.lane for task in house.board.tasks() if task.status in UNDER_WAY}
        for lane in await asyncio.to_thread(list_lanes, house.repository):
            if lane.name in taken or not ATTEMPT.match(lane.name):
                continue
            closed = await close_lane_safely(house, lane)
            house.run_hooks.tell_removed(lane, closed)
            if closed.kept:
                house.events.notice(f"The lane {lane.name} is kept: {closed.reason}.")
            elif closed.salvage_ref:
                house.events.notice(
                    f"The lane {lane.name} was left behind; its work is kept in "
                    f"{closed.salvage_ref}."
                )
        await asyncio.to_thread(sweep_temporary, house.paths)

    async def _start_session(self) -> None:
        """Lets the SessionStart hooks speak; raises PersonFault when one says no."""
        house = self.house
        outcome = await house.run_hooks.ask(HookEvent.SESSION_START, {"source": "startup"})
        self._has_session = True
        if outcome.behavior == "deny":
            raise PersonFault(
                f"A SessionStart hook ends the run: {outcome.why}",
                hint="Do what it asks, or take it out of the hooks file.",
                exit_code=Exit.FAILED,
            )
        self.hook_context = outcome.context

    def _duties(self) -> list[Any]:  # Any: coroutines of three result types
        house = self.house
        return [
            self.supervisor.run(),
            house.merging.run(),
            house.clashes.run(),
            self._stuck.run(),
            house.spares.run(),
            self._watch_board(),
        ]

    async def _watch_board(self) -> None:
        paths = self.house.paths
        async for changed in changes(paths.team):
            if not changed or changed & {paths.board, paths.queue}:
                self.house.board.refresh()
                self.house.queue.refresh()
                self.crew.reviews.look()
                self.supervisor.wake()
                self.house.merging.wake()
                self.house.events.stir()

    async def _leave(self, lock: LeadLock) -> None:
        named = [view for view in self.supervisor.members() if view.is_named]
        await self.supervisor.stop()
        for ending in self._endings:
            await ending()
        await self._close_left_lanes()
        await self.house.mcp.stop()
        await self.house.egress.stop()
        if self._has_session:
            await self.house.run_hooks.end_session()
        await asyncio.to_thread(self.house.tidy)
        # A teammate is one until somebody shuts it down; the next run may have use for it.
        self._write_crew(
            gone=[replace(view, state=WorkerState.GONE, task=None, pid=None) for view in named]
        )
        lock.release()

    def _take_event(self, event: AnyEvent) -> None:
        if isinstance(event, TaskChanged):
            self._touched.add(event.task)
            self.supervisor.wake()
        if isinstance(event, EntryChanged) and event.status == "merged":
            self._landed.append(event.landed_as)
        if isinstance(event, WorkerChanged):
            tasks = self._worker_tasks.setdefault(event.worker, [])
            if event.task is not None and event.task not in tasks:
                tasks.append(event.task)
            self._write_crew()

    def _write_crew(self, *, gone: Sequence[WorkerView] = ()) -> None:
        budget = self.house.budget
        view = CrewView(
            lead_pid=self.house.pid,
            workers=(*self.supervisor.members(), *gone),
            input_tokens=budget.usage.input_tokens,
            output_tokens=budget.usage.output_tokens,
            cost_usd=budget.cost_usd,
        )
        # What a teammate may do must not be older than it is; the rest is for people to look at.
        bounds = {(one.name, one.role, one.tools, one.mode) for one in view.workers if one.is_named}
        write = write_soon if bounds == self._bounds else write_atomically
        try:
            write(self.house.paths.crew, msgspec.json.encode(view))
            self._bounds = bounds
        except OSError as error:
            self._tell_unwritten(error)

    def _tell_unwritten(self, error: OSError) -> None:
        """Tells once that other shells can't see the crew; the crew works on without that."""
        why = error.strerror or str(error)
        if why != self._unwritten:
            self._unwritten = why
            self.house.events.notice(
                f"{self.house.paths.crew} can't be written: {why}. `crewyard team` shows no change "
                "of the crew until it can."
            )
