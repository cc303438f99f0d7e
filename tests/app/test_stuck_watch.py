"""The person and the lead's model hear of a task that does not get on, at once and once."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

from modules.app.event_bus import EventBus
from modules.app.event_words import Teller
from modules.app.lead_events import event_line
from modules.app.stuck_watch import StuckWatch
from modules.records.events import AnyEvent, TaskChanged, TaskStuck, WorkerChanged
from modules.records.tasks import TaskDraft
from modules.store.paths import Paths
from modules.team.board_patience import PATIENCE
from modules.team.task_board import TaskBoard
from tests.fakes.clock import START
from tests.fakes.virtual_time import run_in_virtual_time, virtual_now
from tests.team.crews import settle

LEASE = timedelta(seconds=60)


class Watched:
    """A board under a watch, and what was told of it."""

    def __init__(self, folder: Path) -> None:
        self.events = EventBus(virtual_now)
        self.board = TaskBoard(Paths(folder), clock=virtual_now, on_change=self._tell)
        self.there = {"ann"}
        self.told: list[TaskStuck] = []
        self.watch = StuckWatch(self.board, self.events, there=lambda: self.there)
        self.events.listen(self.watch.take_event)
        self.events.listen(self._listen)

    def post(self, **draft: Any) -> int:
        return self.board.add(TaskDraft(subject="s", **draft), by="p").task_id

    def leave(self, name: str) -> None:
        """Has a worker go."""
        self.there.discard(name)
        self.events.emit(WorkerChanged(at=virtual_now(), worker=name, role="", state="gone"))

    @property
    def stuck(self) -> list[tuple[int, str]]:
        return [(event.task, event.why) for event in self.told]

    def _tell(self, task: Any) -> None:
        self.events.emit(
            TaskChanged(at=task.changed_at, task=task.task_id, subject="s", status=str(task.status))
        )

    def _listen(self, event: AnyEvent) -> None:
        if isinstance(event, TaskStuck):
            self.told.append(event)


def with_watch(folder: Path, story: Callable[[Watched], Coroutine[Any, Any, None]]) -> Watched:
    """Runs a story beside a watch at work."""

    async def run() -> Watched:
        watched = Watched(folder)
        running = asyncio.create_task(watched.watch.run())
        await settle()
        await story(watched)
        running.cancel()
        await asyncio.wait([running])
        watched.leave("ann")
        return watched

    return run_in_virtual_time(run())


def absent(name: str) -> str:
    return f"It waits for the worker {name}, who is not there. Spawn {name}, or cancel the task."


def test_task_of_a_worker_who_is_not_there_is_told_at_once_and_once(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        watched.post(assignee="bob")
        assert watched.stuck == [(1, absent("bob"))]
        watched.post(after=(1,))
        watched.post()
        await settle()

    watched = with_watch(tmp_path, story)

    assert watched.stuck == [(1, absent("bob"))]
    assert event_line(watched.told[0]) == f"task 1 (s) does not get on: {absent('bob')}"
    told = Teller().tell(watched.told[0])
    assert told is not None
    assert told.text == f"task 1 does not get on: {absent('bob')}"


def test_tasks_of_a_worker_who_is_shut_down_are_told_then_and_again_after_it_was_back(
    tmp_path: Path,
) -> None:
    async def story(watched: Watched) -> None:
        watched.post(assignee="ann")
        assert watched.stuck == []
        watched.leave("ann")
        watched.leave("w1")
        assert watched.stuck == [(1, absent("ann"))]
        watched.there.add("ann")
        watched.leave("w2")
        watched.leave("ann")
        assert watched.stuck == [(1, absent("ann"))] * 2

    with_watch(tmp_path, story)


def test_task_that_others_overtake_is_told_when_it_has_waited_too_long(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        watched.post(priority=4)
        await asyncio.sleep(1)
        watched.post(priority=0)
        watched.board.claim(worker="w1", role="", lease=LEASE)
        await asyncio.sleep(PATIENCE.total_seconds() - 2)
        assert watched.stuck == []
        await asyncio.sleep(2)
        watched.post()
        await settle()
        assert [task for task, _ in watched.stuck] == [1]
        assert "while task 2, posted later, began" in watched.stuck[0][1]

    with_watch(tmp_path, story)


def test_end_of_the_crew_is_not_told_task_by_task(tmp_path: Path) -> None:
    async def story(watched: Watched) -> None:
        watched.post(assignee="ann")

    assert with_watch(tmp_path, story).stuck == []


def test_what_was_blocked_before_the_run_is_told_once_for_each_cause(tmp_path: Path) -> None:
    board = TaskBoard(Paths(tmp_path), clock=lambda: START)
    for after in ((), (1,), (2,), (), (4,)):
        board.add(TaskDraft(subject="s", after=after), by="p")
    board.fail(1, reason="too hard", by="lead")

    async def story(watched: Watched) -> None:
        assert watched.stuck == [(2, "It waits for task 1, which is failed.")]
        watched.board.fail(4, reason="too hard", by="lead")
        await settle()

    assert len(with_watch(tmp_path, story).stuck) == 1


def test_board_edited_by_hand_into_a_cycle_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    board = TaskBoard(Paths(tmp_path), clock=lambda: START)
    board.add(TaskDraft(subject="s"), by="p")
    board.add(TaskDraft(subject="s"), by="p")
    path = Paths(tmp_path).board
    path.write_text(path.read_text().replace('"subject":"s"', '"subject":"s","after":[1]', 1))

    async def story(watched: Watched) -> None:
        assert watched.stuck == [(1, "It would wait for itself: 1 → 1.")]
        task = watched.board.claim(worker="w1", role="", lease=LEASE)
        assert task is not None
        assert task.task_id == 2

    with_watch(tmp_path, story)


def test_task_that_was_stuck_before_the_run_is_told_when_it_starts(tmp_path: Path) -> None:
    TaskBoard(Paths(tmp_path), clock=lambda: START).add(
        TaskDraft(subject="s", assignee="bob"), by="p"
    )

    async def story(watched: Watched) -> None:
        assert watched.stuck == [(1, absent("bob"))]

    with_watch(tmp_path, story)
