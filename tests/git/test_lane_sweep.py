"""Tests of modules/git/lane_sweep.py."""

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from modules.git.lane_state import Lane, inspect_lane
from modules.git.lane_sweep import sweep_lanes
from modules.git.lanes import list_lanes, make_lane
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.git.salvage import list_salvages
from tests.repos import NOW, Repo, make_repo

LATER = NOW.replace(year=2100)
"""Long after whatever the test did."""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


@pytest.fixture
def lane(repository: Repository) -> Lane:
    return make_lane(repository, name="t1-1-x", base="main")


def admin(repo: Repo, name: str) -> Path:
    return repo.root / ".git" / "worktrees" / name


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("commondir", None),
        ("commondir", ""),
        ("gitdir", None),
        ("gitdir", ""),
        ("HEAD", None),
        ("HEAD", ""),
        ("HEAD", "0" * 40 + "\n"),
    ],
)
def test_sweep_when_a_registration_is_half_made_then_it_goes_and_git_works_again(
    repo: Repo, repository: Repository, lane: Lane, file: str, content: str | None
) -> None:
    shutil.rmtree(lane.path)
    (admin(repo, lane.name) / "locked").write_text("initializing")
    path = admin(repo, lane.name) / file
    path.unlink() if content is None else path.write_text(content)

    done = sweep_lanes(repository, now=LATER)

    assert done == ["the half-made worktree 't1-1-x' was removed"]
    assert not admin(repo, lane.name).exists()
    assert make_lane(repository, name="t1-1-x", base="main").name == "t1-1-x-2"
    repo.git("fsck")


def test_sweep_when_commondir_is_empty_then_git_was_broken_before(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    (admin(repo, lane.name) / "commondir").write_text("")

    with pytest.raises(GitFault):
        make_lane(repository, name="t2-1", base="main")


def test_sweep_when_the_half_made_registration_is_anothers_then_it_stays(
    repo: Repo, repository: Repository, tmp_path: Path
) -> None:
    repo.git("worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))
    (admin(repo, "mine") / "HEAD").write_text("")
    nameless = admin(repo, "nameless")
    nameless.mkdir()

    done = sweep_lanes(repository, now=LATER)

    assert done == []
    assert admin(repo, "mine").exists()
    assert nameless.exists()


def test_sweep_when_a_lane_is_gone_then_only_its_registration_goes(
    repo: Repo, repository: Repository, lane: Lane, tmp_path: Path
) -> None:
    """digitaldrywood/detent#1438."""
    others = make_lane(repository, name="t2-1", base="main")
    repo.git("worktree", "add", "-q", "-b", "mine", str(tmp_path / "usb-stick"))
    tip = repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
    shutil.rmtree(lane.path)
    shutil.rmtree(tmp_path / "usb-stick")

    done = sweep_lanes(repository, now=LATER)

    assert [line.partition(";")[0] for line in done] == [
        "the worktree 't1-1-x' is gone from disk and was forgotten"
    ]
    assert list_lanes(repository) == [others]
    assert repo.rev("wt/t1-1-x") == tip
    assert admin(repo, "usb-stick").exists()


def test_sweep_when_a_gone_lane_had_staged_work_then_that_is_salvaged(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    (lane.path / "staged.txt").write_text("staged\n")
    repo.git("add", "staged.txt", at=lane.path)
    shutil.rmtree(lane.path)

    sweep_lanes(repository, now=LATER)

    (salvage,) = list_salvages(repository)
    assert repo.git("show", f"{salvage.ref}:staged.txt") == "staged"


def test_sweep_when_a_gone_lane_was_detached_then_its_commit_is_salvaged(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.git("switch", "-q", "--detach", at=lane.path)
    head = repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
    shutil.rmtree(lane.path)

    sweep_lanes(repository, now=LATER)

    (salvage,) = list_salvages(repository)
    assert repo.rev(f"{salvage.ref}^1") == head


def test_sweep_when_a_dead_git_left_a_lock_then_it_goes(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    lock = admin(repo, lane.name) / "index.lock"
    lock.touch()

    sweep_lanes(repository, now=LATER)

    assert not lock.exists()
    repo.git("add", "-A", at=lane.path)


def test_sweep_when_a_git_may_still_run_then_its_lock_stays(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    lock = admin(repo, lane.name) / "index.lock"
    lock.touch()
    with subprocess.Popen(["sleep", "60"], cwd=lane.path) as process:
        sweep_lanes(repository, now=LATER)
        process.kill()
    after_busy = lock.exists()

    sweep_lanes(
        repository, now=NOW.fromtimestamp(lock.stat().st_mtime, NOW.tzinfo) + timedelta(seconds=5)
    )

    assert after_busy
    assert lock.exists()


def test_sweep_when_a_lane_was_never_filled_then_it_goes(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    for path in lane.path.iterdir():
        if path.name != ".git":
            path.unlink()
    (admin(repo, lane.name) / "index").unlink()
    (admin(repo, lane.name) / "locked").write_text("initializing")

    done = sweep_lanes(repository, now=LATER)

    assert done == ["the worktree 't1-1-x' was never filled and was removed"]
    assert not lane.path.exists()
    assert repo.git("worktree", "list").count("\n") == 0


def test_sweep_when_all_is_well_then_nothing_changes(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    (lane.path / "note.txt").write_text("note\n")
    before = inspect_lane(repository, lane)

    done = sweep_lanes(repository, now=LATER)

    assert done == []
    assert inspect_lane(repository, lane) == before
