"""Tests of modules/team/landings.py: what happens between the intent to land and its record."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.team.queue_case import QueueCase, make_case


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
