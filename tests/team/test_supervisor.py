"""The crew: who is started for what, and that nobody is forgotten, robbed or left behind."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from modules.records.crew import WorkerState
from modules.records.errors import ModelFault
from modules.records.tasks import Task, TaskDraft, TaskStatus
from modules.store.paths import Paths
from modules.team.board_rules import current_claim
from modules.team.supervisor import MOST_TEAMMATES, Member, Supervisor
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
            on_change=lambda member, why: self.states.append((member.name, str(member.state))),
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


def test_teammate_that_is_removed_gives_its_task_back_before_it_is_gone(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.supervisor.add_teammate("ada", "", "")
        crew.post(assignee="ada")
        await settle()

        await crew.supervisor.remove_teammate("ada")

        assert crew.statuses() == [TaskStatus.PENDING]
        assert crew.workers() == {}
        assert crew.at_work == {}

    crew = with_crew(tmp_path, story)

    assert crew.states == [("ada", "starting"), ("ada", "stopping"), ("ada", "gone")]


def test_teammate_removed_in_the_moment_it_claims_gives_its_task_back(tmp_path: Path) -> None:
    """A job that is cancelled before its first step runs nothing, its clean end neither."""

    async def unguarded() -> list[str]:
        ran: list[str] = []

        async def job() -> None:
            try:
                ran.append("begun")
            finally:
                ran.append("ended")

        task = asyncio.create_task(job())
        task.cancel()
        await asyncio.wait([task])
        return ran

    assert asyncio.run(unguarded()) == []

    async def story(crew: Crew) -> None:
        crew.supervisor.add_teammate("ada", "", "")
        crew.board.add(TaskDraft(subject="s"), by="p")
        crew.supervisor.wake()
        while not crew.workers() or crew.workers()["ada"][1] is None:
            await asyncio.sleep(0)
        assert crew.begun == []

        await crew.supervisor.remove_teammate("ada")

        assert crew.statuses() == [TaskStatus.PENDING]

    with_crew(tmp_path, story, most_workers=0)


def test_teammate_that_is_idle_is_removed_at_once(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.supervisor.add_teammate("ada", "", "")
        await crew.supervisor.remove_teammate("ada")
        assert crew.workers() == {}

    with_crew(tmp_path, story)


def test_clean_end_of_an_attempt_is_not_broken_by_a_second_order_to_end(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        ended: list[str] = []

        async def take_a_while() -> None:
            await asyncio.sleep(5)
            ended.append("clean")

        crew.clean_end = take_a_while
        crew.supervisor.add_teammate("ada", "", "")
        crew.post(assignee="ada")
        await settle()

        removal = asyncio.create_task(crew.supervisor.remove_teammate("ada"))
        await settle()
        await asyncio.gather(
            removal, crew.supervisor.remove_teammate("ada"), crew.supervisor.stop()
        )

        assert ended == ["clean"]
        assert crew.statuses() == [TaskStatus.PENDING]

    with_crew(tmp_path, story)


def test_removal_that_is_given_up_midway_still_lets_the_teammate_go(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        async def take_a_while() -> None:
            await asyncio.sleep(5)

        crew.clean_end = take_a_while
        crew.supervisor.add_teammate("ada", "", "")
        crew.post(assignee="ada")
        await settle()
        removal = asyncio.create_task(crew.supervisor.remove_teammate("ada"))
        await settle()
        removal.cancel()
        await asyncio.wait([removal])

        await asyncio.sleep(6)

        assert crew.workers() == {}
        assert not crew.supervisor.is_busy

    with_crew(tmp_path, story)


def test_stop_ends_every_attempt_and_claims_nothing_more(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.supervisor.add_teammate("ada", "", "")
        crew.post(4)
        await settle()
        assert len(crew.at_work) == 2

        await crew.supervisor.stop()
        crew.supervisor.wake()
        await settle()

        assert crew.at_work == {}
        assert crew.workers() == {}
        assert crew.statuses() == [TaskStatus.PENDING] * 4
        assert len(crew.begun) == 2
        assert not crew.supervisor.is_busy

    with_crew(tmp_path, story)


def test_stop_in_the_moment_of_a_claim_gives_the_task_back(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.board.add(TaskDraft(subject="s"), by="p")
        crew.supervisor.wake()
        while crew.board.task(1).status is TaskStatus.PENDING:
            await asyncio.sleep(0)
        assert crew.begun == []

        await crew.supervisor.stop()

        assert crew.statuses() == [TaskStatus.PENDING]

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
            on_change=lambda member, why: None,
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


def test_run_that_is_cancelled_as_it_wakes_ends(tmp_path: Path) -> None:
    """A wait_for of Python 3.11 loses a cancel that comes together with what it waits for."""

    async def story() -> bool:
        crew = Crew(tmp_path)
        crew.post()
        crew.board.park(1, reason="quota", by="p", until=virtual_now() + timedelta(days=1))
        running = asyncio.create_task(crew.supervisor.run())
        await settle()
        crew.supervisor.wake()
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running], timeout=10)
        return running.cancelled()

    assert run_in_virtual_time(story())


def test_bug_in_an_attempt_is_raised_by_the_run(tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        crew.post(2)
        await settle()
        crew.at_work[1][1].set_exception(LookupError("a bug"))
        await settle()

    with pytest.raises(LookupError, match="a bug"):
        with_crew(tmp_path, story)


@pytest.mark.parametrize("end", ["remove", "stop"])
def test_bug_in_the_clean_end_of_an_attempt_is_raised_by_who_ended_it(
    tmp_path: Path, end: str
) -> None:
    async def story() -> None:
        crew = Crew(tmp_path)

        async def fail() -> None:
            raise LookupError("a bug")

        crew.clean_end = fail
        crew.supervisor.add_teammate("ada", "", "")
        crew.post(assignee="ada")
        running = asyncio.create_task(crew.supervisor.run())
        await settle()
        running.cancel()
        await asyncio.wait([running])
        with pytest.raises(LookupError, match="a bug"):
            await (
                crew.supervisor.stop() if end == "stop" else crew.supervisor.remove_teammate("ada")
            )
        assert crew.workers() == {}

    run_in_virtual_time(story())


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
