"""A crew whose attempts end when, and as, the test says."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from modules.records.crew import WorkerState
from modules.records.tasks import Task, TaskDraft, TaskStatus
from modules.store.paths import Paths
from modules.team.board_rules import current_claim
from modules.team.member import Member
from modules.team.supervisor import Supervisor
from modules.team.task_board import TaskBoard
from tests.fakes.virtual_time import run_in_virtual_time, virtual_now
from tests.team.boards import LEASE


class Crew:
    """A supervisor whose attempts are told by the test when to end, and how."""

    def __init__(self, folder: Path, *, most_workers: int = 2) -> None:
        self.board = TaskBoard(Paths(folder), clock=virtual_now)
        self.supervisor = Supervisor(
            self.board,
            most_workers=most_workers,
            lease=LEASE,
            attempt=self._attempt,
            clock=virtual_now,
            on_change=lambda member: self.states.append((member.name, str(member.state))),
        )
        self.states: list[tuple[str, str]] = []
        self.begun: list[tuple[str, int]] = []
        self.begun_at: list[float] = []
        self.at_work: dict[int, tuple[str, asyncio.Future[bool]]] = {}
        self.clean_end: Callable[[], Awaitable[None]] | None = None

    async def _attempt(self, member: Member, task: Task) -> None:
        claim = current_claim(task)
        end: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.begun.append((member.name, task.task_id))
        self.begun_at.append(asyncio.get_running_loop().time())
        self.at_work[task.task_id] = (member.name, end)
        is_failure = False
        try:
            is_failure = not await end
        finally:
            del self.at_work[task.task_id]
            if self.clean_end is not None:
                await self.clean_end()
            if self.board.is_current(claim) and (is_failure or end.cancelled()):
                self.board.release(claim, reason="over", is_failure=is_failure, by="lead")
            elif self.board.is_current(claim):
                self.board.complete_unchanged(claim, reason="done")

    def post(self, count: int = 1, **draft: Any) -> list[int]:
        """Posts tasks and wakes the supervisor, as a change of the board does."""
        posted = [
            self.board.add(TaskDraft(subject="s", **draft), by="p").task_id for _ in range(count)
        ]
        self.supervisor.wake()
        return posted

    async def end(self, task: int, *, well: bool = True) -> None:
        """Ends the attempt of a task and lets everybody take that in."""
        self.at_work[task][1].set_result(well)
        await settle()

    def statuses(self) -> list[TaskStatus]:
        """Returns where each task stands."""
        return [task.status for task in self.board.tasks()]

    def workers(self) -> dict[str, tuple[WorkerState, int | None]]:
        """Returns each worker's state and task."""
        return {view.name: (view.state, view.task) for view in self.supervisor.members()}


async def settle() -> None:
    """Lets everything happen that needs no time to pass."""
    for _ in range(20):
        await asyncio.sleep(0)


def with_crew(
    folder: Path, story: Callable[[Crew], Coroutine[Any, Any, None]], *, most_workers: int = 2
) -> Crew:
    """Runs a story beside a running supervisor, which is stopped at its end."""

    async def run() -> Crew:
        crew = Crew(folder, most_workers=most_workers)
        running = asyncio.create_task(crew.supervisor.run())
        try:
            await settle()
            await story(crew)
        finally:
            running.cancel()
            await asyncio.wait([running])
            await crew.supervisor.stop()
            if not running.cancelled():
                running.result()
        return crew

    return run_in_virtual_time(run())
