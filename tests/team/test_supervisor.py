"""The crew: who is started for what, and that nobody is forgotten or slept through."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from modules.records.crew import WorkerState
from modules.records.errors import ModelFault
from modules.records.tasks import Task, TaskDraft, TaskStatus
from modules.store.paths import Paths
from modules.team.board_rules import current_claim
from modules.team.member import Member
from modules.team.supervisor import MOST_TEAMMATES, Supervisor
from modules.team.task_board import TaskBoard
from tests.fakes.virtual_time import run_in_virtual_time, virtual_now
from tests.team.boards import LEASE
from tests.team.crews import Crew, settle, with_crew


def test_as_many_workers_as_allowed_are_at_work_at_once(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.post(5)
        await settle()
        assert crew.begun == [("w1", 1), ("w2", 2)]
        await crew.end(2)
        assert crew.begun[2:] == [("w2", 3)]
        await crew.end(3)
        await crew.end(1)
        assert sorted(task for _, task in crew.begun) == [1, 2, 3, 4, 5]
        assert len(crew.at_work) == 2
        for task in list(crew.at_work):
            await crew.end(task)
        assert crew.statuses() == [TaskStatus.COMPLETED] * 5
        assert crew.workers() == {}
        assert not crew.supervisor.is_busy

    with_crew(tmp_path, story)


def test_worker_is_shown_with_its_task_and_goes_when_there_is_none(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        assert crew.workers() == {}
        crew.post()
        await settle()
        assert crew.workers() == {"w1": (WorkerState.STARTING, 1)}
        assert crew.supervisor.is_busy
        await crew.end(1)

    crew = with_crew(tmp_path, story)

    assert crew.states == [("w1", "starting"), ("w1", "gone")]


def test_worker_with_more_to_do_keeps_its_name(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.post(2)
        await settle()
        await crew.end(1)
        await crew.end(2)

    crew = with_crew(tmp_path, story, most_workers=1)

    assert crew.begun == [("w1", 1), ("w1", 2)]
    assert crew.states == [
        ("w1", "starting"),
        ("w1", "idle"),
        ("w1", "starting"),
        ("w1", "gone"),
    ]


def test_named_teammate_claims_before_the_crew_and_stays(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.supervisor.add_teammate("ada", "", "")
        crew.post(2)
        await settle()
        assert crew.begun == [("ada", 1), ("w1", 2)]
        await crew.end(1)
        await crew.end(2)
        assert crew.workers() == {"ada": (WorkerState.IDLE, None)}

    with_crew(tmp_path, story)


def test_named_teammate_that_is_idle_comes_before_a_worker_that_is_idle_too(
    tmp_path: Path,
) -> None:
    async def story(crew: Crew) -> None:
        crew.post()
        await settle()
        crew.supervisor.add_teammate("ada", "", "")
        crew.post()
        await settle()
        crew.post()
        await settle()
        assert crew.begun == [("w1", 1), ("ada", 2)]
        crew.at_work[1][1].set_result(True)
        crew.at_work[2][1].set_result(True)
        await settle()
        assert crew.begun[2:] == [("ada", 3)]
        assert crew.workers() == {"ada": (WorkerState.STARTING, 3)}

    with_crew(tmp_path, story)


def test_teammate_of_a_role_takes_tasks_of_its_role_and_of_none(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.supervisor.add_teammate("ada", "docs", "")
        crew.post(role="backend")
        await settle()
        assert crew.begun == [("w1", 1)]
        crew.post(role="docs")
        await settle()
        assert crew.begun == [("w1", 1), ("ada", 2)]

    with_crew(tmp_path, story, most_workers=1)


def test_task_of_an_assignee_waits_for_that_teammate(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.post(assignee="ada")
        await settle()
        assert crew.begun == []
        assert not crew.supervisor.is_busy
        crew.supervisor.add_teammate("ada", "", "")
        await settle()
        assert crew.begun == [("ada", 1)]

    with_crew(tmp_path, story)


def test_worker_of_the_crew_comes_for_a_task_that_is_its_alone(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.post(2)
        crew.post(assignee="w2")
        crew.post(assignee="w7")
        await settle()
        assert crew.begun == [("w1", 1), ("w2", 2)]
        await crew.end(1)
        assert crew.begun[2:] == [("w7", 4)]
        await crew.end(4)
        await crew.end(2)
        assert crew.begun[3:] == [("w2", 3)]
        await crew.end(3)
        assert crew.workers() == {}

    with_crew(tmp_path, story)


def test_second_teammate_of_a_name_is_refused_and_so_is_one_too_many(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        for number in range(MOST_TEAMMATES):
            crew.supervisor.add_teammate(f"t{number}", "", "")
        with pytest.raises(ModelFault, match="'t0' is there already"):
            crew.supervisor.add_teammate("t0", "", "")
        with pytest.raises(ModelFault, match="the most there can be"):
            crew.supervisor.add_teammate("one more", "", "")
        with pytest.raises(ModelFault, match="no worker 'nobody'"):
            await crew.supervisor.remove_teammate("nobody")

    with_crew(tmp_path, story)


def test_task_that_failed_rests_and_is_tried_again_when_its_time_comes(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.post()
        await settle()
        for seconds in (1, 2):
            await crew.end(1, well=False)
            assert crew.workers() == {}
            await asyncio.sleep(seconds)
            await settle()
        await crew.end(1, well=False)

        assert crew.begun_at == pytest.approx([0, 1, 3])
        assert crew.statuses() == [TaskStatus.FAILED]
        assert not crew.supervisor.is_busy

    with_crew(tmp_path, story)


def test_task_whose_time_comes_while_the_supervisor_looks_is_not_slept_through(
    tmp_path: Path,
) -> None:
    """The time was still to come at the look, and past when the sleep was planned."""

    class TiredBoard(TaskBoard):
        """A board on which a look takes a second."""

        def has_work_for(self, worker: str, role: str) -> bool:
            answer = super().has_work_for(worker, role)
            loop = asyncio.get_running_loop()
            loop._jumping.passed += 1  # type: ignore[attr-defined]  # VirtualTimeLoop's
            return answer

    async def story() -> list[int]:
        begun: list[int] = []
        board = TiredBoard(Paths(tmp_path), clock=virtual_now)

        async def attempt(member: Member, task: Task) -> None:
            begun.append(task.task_id)
            board.complete_unchanged(current_claim(task), reason="done")

        supervisor = Supervisor(
            board,
            most_workers=1,
            lease=LEASE,
            attempt=attempt,
            clock=virtual_now,
            on_change=lambda member: None,
        )
        board.add(TaskDraft(subject="s"), by="p")
        board.park(1, reason="quota", by="p", until=virtual_now() + timedelta(seconds=0.5))
        running = asyncio.create_task(supervisor.run())
        while not begun:
            await asyncio.sleep(0.1)
            assert (virtual_now() - board.task(1).added_at) < timedelta(seconds=20)
        running.cancel()
        await asyncio.wait([running])
        return begun

    assert run_in_virtual_time(story()) == [1]


def test_wait_for_a_far_time_ends_with_a_wake(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.post()
        crew.board.park(1, reason="quota", by="p", until=virtual_now() + timedelta(days=400))
        await settle()
        crew.post()
        await settle()
        assert crew.begun == [("w1", 2)]

    with_crew(tmp_path, story)


def test_blocked_task_keeps_nobody_busy(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        first, second = crew.post()[0], crew.post(after=(1,))[0]
        await settle()
        crew.board.cancel(first, reason="r", by="p")
        await crew.end(first)
        assert crew.board.task(second).status is TaskStatus.BLOCKED
        assert not crew.supervisor.is_busy
        crew.board.retry(first, by="p")
        crew.supervisor.wake()
        await settle()
        assert crew.begun[-1] == ("w1", first)

    with_crew(tmp_path, story)


def test_paused_crew_begins_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.supervisor.pause(None)
        crew.post(2)
        await settle()
        assert crew.begun == []
        assert not crew.supervisor.is_busy
        assert crew.supervisor.is_paused
        crew.supervisor.resume(None)
        assert not crew.supervisor.is_paused
        await settle()
        assert crew.begun == [("w1", 1), ("w2", 2)]
        await crew.end(1)
        await crew.end(2)

    with_crew(tmp_path, story)


def test_paused_worker_alone_begins_nothing(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.supervisor.add_teammate("ada", "", "")
        crew.supervisor.pause("ada")
        crew.post()
        await settle()
        assert crew.begun == [("w1", 1)]
        assert crew.workers()["ada"] == (WorkerState.WAITING, None)
        crew.supervisor.resume("ada")
        assert crew.workers()["ada"] == (WorkerState.IDLE, None)
        await crew.end(1)

    with_crew(tmp_path, story)


def test_pause_of_a_worker_who_is_not_there_is_refused(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        with pytest.raises(ModelFault, match="'nobody'"):
            crew.supervisor.pause("nobody")

    with_crew(tmp_path, story)
