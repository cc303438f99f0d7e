"""Tests of modules/team/landings.py: what happens between the intent to land and its record."""

import asyncio
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from modules.team.probe_pace import Limits
from tests.team.lander_case import LanderCase, until
from tests.team.queue_case import QueueCase, make_case

pytestmark = pytest.mark.slow


class Acts(dict[str, Callable[[], object]]):
    """What a test does at a step of a landing, the next time it is reached."""

    def __call__(self, name: str) -> None:
        if act := self.pop(name, None):
            act()


def queue_with(acts: Acts, folder: Path, *, is_checked_out: bool = True) -> QueueCase:
    """Makes a queue that does things at its steps."""
    case = make_case(folder, step=acts)
    if not is_checked_out:
        case.repo.git("checkout", "-q", "--detach")
    return case


def move_main(case: QueueCase, commit: str) -> None:
    """Moves the branch behind the back of whoever has it checked out."""
    case.repo.git("update-ref", "refs/heads/main", commit)


@pytest.mark.parametrize("is_checked_out", [True, False])
def test_land_when_the_person_commits_meanwhile_then_their_commit_is_built_upon(
    tmp_path: Path, is_checked_out: bool
) -> None:
    acts = Acts()
    case = queue_with(acts, tmp_path, is_checked_out=is_checked_out)
    case.submit(1, {"x.txt": "x\n"})
    mine = case.repo.git("commit-tree", "main^{tree}", "-p", "main", "-m", "mine")
    acts["land"] = lambda: move_main(case, mine)

    assert case.drain() == ["merged"]
    subjects = case.repo.git("log", "--format=%s", "main").split("\n")
    assert subjects == ["task 1", "mine", "first commit"]


def test_land_when_the_person_sets_the_branch_back_meanwhile_then_it_does_not_land(
    tmp_path: Path,
) -> None:
    acts = Acts()
    case = queue_with(acts, tmp_path, is_checked_out=False)
    case.submit(1, {"x.txt": "x\n"})
    assert case.drain() == ["merged"]
    case.submit(2, {"y.txt": "y\n"})
    landed = case.queue.landed
    acts["land"] = lambda: move_main(case, "main~1")

    assert case.drain() == []
    assert case.queue.landed == landed
    assert "was set back" in case.queue.pause_reason


def test_land_when_its_commit_was_collected_then_the_same_is_made_again(tmp_path: Path) -> None:
    acts = Acts()
    case = queue_with(acts, tmp_path)
    case.submit(1, {"x.txt": "x\n"})

    def collect() -> None:
        # The check's own worktree keeps the commit from being collected.
        shutil.rmtree(case.repo.root / ".worktrees" / "check-1")
        case.repo.git("worktree", "prune", "--expire=now")
        case.repo.git("gc", "-q", "--prune=now")

    acts["land"] = collect

    assert case.drain() == ["merged"]


class NoRoom:
    """Lets the disk be full at one step."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, name: str) -> None:
        if name == self.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "name",
    [
        "begin checks",
        "intend to land",
        "land",
        "record the landing",
        "intend to publish",
        "publish",
        "record publishing",
    ],
)
def test_land_when_the_disk_is_full_at_a_step_then_that_is_told_and_nothing_is_lost(
    tmp_path: Path, name: str
) -> None:
    full = NoRoom(name)
    case = make_case(tmp_path, step=full)
    case.submit(1, {"x.txt": "x\n"})

    with pytest.raises(OSError, match="No space left"):
        case.drain()
    full.name = ""
    case.restart()
    case.drain()

    assert [str(entry.status) for entry in case.queue.entries()] == ["merged"]
    assert case.repo.git("log", "--format=%s", "main").split("\n") == ["task 1", "first commit"]
    assert case.repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("limit_bytes", [100, 400, 800, 1_200, 1_700, 2_300])
def test_land_when_no_file_may_grow_any_more_then_nothing_is_lost_and_it_goes_on(
    tmp_path: Path, limit_bytes: int
) -> None:
    case = make_case(tmp_path)
    for task in (1, 2):
        case.submit(task, {f"{task}.txt": "x\n"})
    (case.repo.root / "b.txt").write_text("my own\n")
    grown = case.repository.paths.queue.stat().st_size + limit_bytes

    process = run_limited(case, limit_bytes=grown)
    case.restart()
    case.drain()

    assert process.returncode in (0, 1)
    assert [str(entry.status) for entry in case.queue.entries()] == ["merged", "merged"]
    assert sorted(case.repo.git("log", "--format=%s", "main").split("\n")) == [
        "first commit",
        "task 1",
        "task 2",
    ]
    assert case.repo.git("status", "--porcelain") == " M b.txt"
    assert (case.repo.root / "b.txt").read_text() == "my own\n"
    assert case.repo.git("fsck", "--no-dangling") == ""


def run_limited(case: QueueCase, *, limit_bytes: int) -> "subprocess.CompletedProcess[bytes]":
    """Works off the queue in a process whose files can't grow beyond a limit."""
    script = (
        "import resource; from pathlib import Path; "
        "from tests.repos import Repo; from tests.team.queue_case import QueueCase; "
        f"case = QueueCase(Repo(Path({str(case.repo.root)!r}), Path({str(case.repo.home)!r}))); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, {limit_bytes})); "
        "case.drain()"
    )
    return subprocess.run(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_land_when_the_person_cleans_and_collects_during_a_check_then_all_of_it_lands(
    tmp_path: Path,
) -> None:
    flag = tmp_path / "flag"
    check = f"while test -e 2.txt && ! test -e {flag}; do sleep 0.05; done"
    case = make_case(tmp_path, check=check, limits=Limits(lanes=1, chunk=1))
    for task in (1, 2, 3):
        case.submit(task, {f"{task}.txt": "x\n"})

    async def land() -> list[str]:
        assert await case.queue.land_next() is not None
        landing = asyncio.create_task(case.queue.land_next())
        await until((case.repo.root / ".worktrees" / "check-1" / "2.txt").exists)
        case.repo.git("reflog", "expire", "--expire=now", "--all")
        case.repo.git("gc", "-q", "--prune=now")
        case.repo.git("clean", "-ffdxq", "-e", ".team")
        flag.touch()
        await landing
        while await case.queue.land_next() is not None:
            pass
        return [str(entry.status) for entry in case.queue.entries()]

    assert asyncio.run(land()) == ["merged"] * 3


def test_submit_when_the_commits_being_checked_were_collected_then_they_are_made_again(
    tmp_path: Path,
) -> None:
    queue = LanderCase(make_case(tmp_path))
    queue.submit("1")

    async def land() -> list[tuple[int, str]]:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: bool(queue.prover.under_way()))
        queue.case.repo.git("gc", "-q", "--prune=now")
        queue.submit("2")
        queue.lander.stir()
        await until(lambda: draining.done() or len(queue.prover.under_way()) == 2)
        queue.prover.let_go()
        return await draining

    assert asyncio.run(land()) == [(1, "merged"), (2, "merged")]


def test_land_when_the_person_merged_the_branch_by_hand_then_it_ends_as_nothing_new(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path)
    lane = case.lane(1)
    case.queue.submit(case.work(1, {"x.txt": "x\n"}, lane=lane))
    case.submit(2, {"y.txt": "y\n"})
    case.repo.git("merge", "-q", "--no-ff", "-m", "by hand", lane.branch)

    assert case.drain() == ["no_changes", "merged"]
    assert case.repo.git("log", "--format=%s", "--first-parent", "main").split("\n") == [
        "task 2",
        "by hand",
        "first commit",
    ]
