"""Tells of tasks that don't get on: nobody is there for them, or others go first; once each.

A task that gets on again and is stuck anew is told again. What was blocked before the run, as by
failed tasks or a board edited by hand, is told at its start, once for each cause. After the crew's
end nothing is told, for then everybody has gone.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping

from modules.app.event_bus import EventBus
from modules.records.events import AnyEvent, TaskChanged, TaskStuck, WorkerChanged
from modules.team.task_board import TaskBoard


class StuckWatch:
    """The watch of one run; it tells as long as `run` is under way."""

    def __init__(
        self, board: TaskBoard, events: EventBus, *, there: Callable[[], Collection[str]]
    ) -> None:
        self._board = board
        self._events = events
        self._there = there
        """Returns the names of the workers."""
        self._told: dict[int, str] = {}
        self._is_at_work = False
        self._wake = asyncio.Event()

    def take_event(self, event: AnyEvent) -> None:
        """Takes in an event of the run."""
        if not self._is_at_work or not isinstance(event, TaskChanged | WorkerChanged):
            return
        # What nobody is there for may be all there is: then the run ends before this watch wakes.
        if isinstance(event, WorkerChanged) or self._board.task(event.task).draft.assignee:
            self._look()
        self._wake.set()

    async def run(self) -> None:
        """Looks whenever a task may have waited too long, until it is cancelled."""
        self._is_at_work = True
        try:
            self._tell(self._board.found_blocked())
            while True:
                self._wake.clear()
                self._look()
                await self._sleep()
        finally:
            self._is_at_work = False

    async def _sleep(self) -> None:
        due = self._board.next_impatience()
        seconds = None if due is None else max(0.0, (due - self._events.clock()).total_seconds())
        with contextlib.suppress(TimeoutError):  # a task has waited too long by now
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    def _look(self) -> None:
        stuck = self._board.stuck(there=self._there())
        new = {task_id: why for task_id, why in stuck.items() if task_id not in self._told}
        self._told = stuck
        self._tell(new)

    def _tell(self, stuck: Mapping[int, str]) -> None:
        for task_id, why in stuck.items():
            self._events.emit(
                TaskStuck(
                    at=self._events.clock(),
                    task=task_id,
                    subject=self._board.task(task_id).draft.subject,
                    why=why,
                )
            )
