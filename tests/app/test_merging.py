"""Tests of modules/app/merging.py."""

import asyncio
from pathlib import Path

from modules.app.event_bus import EventBus
from modules.app.lead_events import event_line
from modules.app.merging import MergeDriver
from modules.records.events import AnyEvent, TargetFails
from modules.records.queue_records import NO_TASK
from modules.team.task_board import TaskBoard
from tests.repos import make_repo
from tests.team.lander_case import until
from tests.team.queue_case import QueueCase


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
    assert "'main' itself does not pass" in event_line(alarms[0])
