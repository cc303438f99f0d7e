"""However a teammate or the whole crew ends, every task is given back and every bug is heard of."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from modules.records.tasks import TaskDraft, TaskStatus
from tests.fakes.virtual_time import run_in_virtual_time, virtual_now
from tests.team.crews import Crew, settle, with_crew


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
