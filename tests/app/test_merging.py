"""Tests of modules/app/merging.py."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from modules.app.event_bus import EventBus
from modules.app.lead_events import event_line
from modules.app.merging import MergeDriver
from modules.records.events import AnyEvent, TargetFails
from modules.records.merges import EntryStatus
from modules.records.queue_records import NO_TASK
from modules.records.tasks import TaskDraft, TaskStatus
from modules.team.board_rules import current_claim
from modules.team.merge_queue import MergeQueue
from modules.team.queue_view import alarm_lines, read_queue
from modules.team.task_board import TaskBoard
from tests.repos import make_repo
from tests.team.lander_case import until
from tests.team.queue_case import CHECK, QueueCase


def test_run_when_the_target_itself_fails_then_one_alarm_is_told_however_many_wait(
    tmp_path: Path,
) -> None:
    case = QueueCase(make_repo(tmp_path, files={"a.txt": "a\n", "broken": "x\n"}))
    told: list[AnyEvent] = []
    events = EventBus(clock=case.clock)
    events.listen(told.append)
    board = TaskBoard(case.repository.paths, clock=case.clock)
    driver = MergeDriver(case.queue, board, events, after_landing=lambda: None)
    for name in ("x.txt", "y.txt"):
        lane = case.lane(len(name))
        case.repo.commit({name: "x\n"}, name, at=lane.path)
        case.queue.submit(case.submission(NO_TASK, lane))

    async def run() -> None:
        running = asyncio.create_task(driver.run())
        await until(lambda: all(entry.reason for entry in case.queue.entries()))
        driver.wake()
        await until(lambda: not driver.is_busy)
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(run())
    alarms = [event for event in told if isinstance(event, TargetFails)]

    assert [alarm.why for alarm in alarms] == [case.queue.alarm]
    assert alarm_lines(read_queue(case.repository.paths)) == [case.queue.alarm]
    assert "'main' itself does not pass" in event_line(alarms[0])


def test_run_when_work_fails_and_its_worker_is_gone_then_the_task_is_free_for_another(
    tmp_path: Path,
) -> None:
    case = QueueCase(make_repo(tmp_path))
    board = TaskBoard(case.repository.paths, clock=case.clock)
    board.add(TaskDraft(subject="task"), by="person")
    taken = board.claim(worker="w1", role="", lease=timedelta(hours=1))
    assert taken is not None
    claim = current_claim(taken)
    events = EventBus(clock=case.clock)
    queue = MergeQueue(
        case.repository,
        check=CHECK,
        check_timeout_seconds=20,
        clock=case.clock,
        environment={"PATH": os.environ["PATH"]},
        on_change=lambda entry: driver.changed(entry),
    )
    driver = MergeDriver(queue, board, events, after_landing=lambda: None)
    lane = case.lane(1)
    work = case.work(claim.task, {"broken": "x\n"}, lane=lane)
    entry = queue.submit(replace(work, attempt=claim.attempt, generation=claim.generation))
    board.submit(claim, entry=entry.entry_id)

    async def run() -> None:
        running = asyncio.create_task(driver.run())
        await until(lambda: board.task(claim.task).status is TaskStatus.PENDING)
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(run())
    again = board.claim(worker="w2", role="", lease=timedelta(hours=1))

    assert queue.entry(entry.entry_id).status is EntryStatus.FAILED
    assert again is not None
    assert (again.attempt, again.worker) == (claim.attempt + 1, "w2")
