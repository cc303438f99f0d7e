"""Checkouts are kept ready for the next lanes, and follow what lands."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from modules.app.event_bus import EventBus
from modules.app.spare_lanes import SpareLanes
from modules.git.lanes import make_lane
from modules.git.spare_trees import SpareTree, remove_spares
from modules.records.events import EntryChanged, Noticed, Spent
from modules.records.messages import Usage
from tests.repos import NOW, Repo, make_repo

SECONDS = 60
SPENT = Spent(at=NOW, agent="lead", usage=Usage(), cost_usd=None)


class Case:
    """A run's spares on one repository."""

    def __init__(self, repo: Repo, *, most: int = 1, many_files: int = 1) -> None:
        self.repo = repo
        self.repository = repo.open()
        self.events = EventBus(lambda: NOW)
        self.told: list[str] = []
        self.events.listen(lambda e: self.told.append(e.text) if isinstance(e, Noticed) else None)
        self.trees = self.repository.common_dir / "crewyard-trees"
        self.landed = repo.rev("main")
        self.spares = SpareLanes(
            self.repository,
            self.events,
            landed=lambda: self.landed,
            most=most,
            many_files=many_files,
        )

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncIterator["asyncio.Task[None]"]:
        duty = asyncio.create_task(self.spares.run())
        try:
            yield duty
        finally:
            duty.cancel()
            await asyncio.wait({duty})

    async def next(self) -> SpareTree:
        async with asyncio.timeout(SECONDS):
            while (spare := self.spares.take()) is None:
                await asyncio.sleep(0.02)
        return spare


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.mark.slow
def test_lane_takes_a_spare_that_followed_what_landed_and_another_is_made(repo: Repo) -> None:
    case = Case(repo)

    async def work() -> None:
        async with case.at_work():
            case.events.emit(SPENT)
            spare = await case.next()
            lane = make_lane(case.repository, name="t1-1", base=spare.commit, spare=spare)
            assert repo.git("status", "--porcelain", at=lane.path) == ""
            case.landed = repo.commit({"new.txt": "new\n"}, "new")
            case.events.emit(
                EntryChanged(at=NOW, entry=1, task=1, status="merged", commit=case.landed)
            )
            async with asyncio.timeout(SECONDS):
                while not (case.trees / "2/tree/new.txt").exists():
                    await asyncio.sleep(0.02)

    asyncio.run(work())

    assert case.told == []
    remove_spares(case.repository)


@pytest.mark.slow
def test_end_of_the_run_waits_for_no_whole_checkout(tmp_path: Path) -> None:
    count = 1_200
    case = Case(make_repo(tmp_path, files={f"d{n // 100}/{n}": "" for n in range(count)}))

    async def work() -> None:
        async with case.at_work():
            case.events.emit(SPENT)
            folder = case.trees / "1/tree/d0"
            async with asyncio.timeout(SECONDS):
                while not folder.exists():
                    await asyncio.sleep(0)

    asyncio.run(work())

    assert 0 < sum(path.is_file() for path in case.trees.glob("1/tree/*/*")) < count
    remove_spares(case.repository)
    assert not case.trees.exists()


@pytest.mark.parametrize(("most", "many_files"), [(0, 1), (1, 3)], ids=["none wanted", "small"])
def test_small_repository_and_a_person_who_wants_none_have_none(
    repo: Repo, most: int, many_files: int
) -> None:
    case = Case(repo, most=most, many_files=many_files)

    async def work() -> None:
        async with case.at_work() as duty:
            case.events.emit(SPENT)
            async with asyncio.timeout(SECONDS):
                await duty

    asyncio.run(work())

    assert case.spares.take() is None
    assert not case.trees.exists()


def test_spare_that_can_not_be_made_is_told_once_and_ends_nothing(repo: Repo) -> None:
    case = Case(repo)
    case.trees.write_text("in the way")

    async def work() -> None:
        async with case.at_work() as duty:
            case.events.emit(SPENT)
            async with asyncio.timeout(SECONDS):
                await duty

    asyncio.run(work())

    (line,) = case.told
    assert line.startswith("No more checkouts are kept ready for lanes: ")


def test_spare_that_can_not_be_filled_takes_no_room(repo: Repo) -> None:
    blob = repo.git("rev-parse", "HEAD:b.txt")
    (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    case = Case(repo)

    async def work() -> None:
        async with case.at_work() as duty:
            case.events.emit(SPENT)
            async with asyncio.timeout(SECONDS):
                await duty

    asyncio.run(work())

    assert len(case.told) == 1
    assert list(case.trees.iterdir()) == []
