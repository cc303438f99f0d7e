"""Locks of killed gits go where they are ours, and are told where they are not."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from modules.git.lanes import make_lane
from modules.git.lock_sweep import sweep_locks
from modules.git.refs import LANDED, set_ref
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from tests.repos import NOW, Repo, make_repo

LATER = NOW.replace(year=2100)
"""Long after whatever the test did."""
OURS = ("refs/crewyard/landed/main.lock", "refs/heads/wt/t1-1-x.lock")
THEIRS = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


def lock(repo: Repo, name: str) -> Path:
    path = repo.root / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_sweep_without_a_lock_says_nothing(repository: Repository) -> None:
    assert sweep_locks(repository, now=LATER) == []


@pytest.mark.parametrize("name", OURS)
def test_sweep_when_nobody_can_hold_a_lock_of_ours_then_it_goes(
    repo: Repo, repository: Repository, name: str
) -> None:
    path = lock(repo, name)
    with pytest.raises(GitFault, match="File exists"):
        _use(repo, repository)

    lines = sweep_locks(repository, now=LATER)
    _use(repo, repository)

    assert lines == [f"The stale lock '.git/{name}' was removed."]
    assert not path.exists()


def _use(repo: Repo, repository: Repository) -> None:
    """Does what the locks are in the way of."""
    quick = repository.git.configured(("core.filesRefLockTimeout", "0"))
    for ref in (f"{LANDED}main", "refs/heads/wt/t1-1-x"):
        set_ref(quick, ref, repo.rev("main"))


@pytest.mark.parametrize("name", THEIRS)
def test_sweep_when_a_lock_is_the_persons_then_it_stays_and_the_way_out_is_told(
    repo: Repo, repository: Repository, name: str
) -> None:
    path = lock(repo, name)

    (line,) = sweep_locks(repository, now=LATER)

    assert path.exists()
    assert line.endswith(f"rm {path}")


@pytest.mark.parametrize("name", [OURS[0], THEIRS[0]])
def test_sweep_when_a_lock_is_new_then_it_stays(
    repo: Repo, repository: Repository, name: str
) -> None:
    path = lock(repo, name)
    os.utime(path, (NOW.timestamp(), NOW.timestamp()))

    (line,) = sweep_locks(repository, now=NOW + timedelta(seconds=30))

    assert path.exists()
    assert "30 s ago" in line


@pytest.mark.parametrize("where", ["checkout", "lane"])
def test_sweep_when_a_git_is_at_work_then_its_lock_stays_and_it_is_named(
    repo: Repo, repository: Repository, where: str
) -> None:
    lane = make_lane(repository, name="t1-1", base="main")
    path = lock(repo, OURS[0])
    with at_work(repo, repo.root if where == "checkout" else lane.path) as pid:
        lines = sweep_locks(repository, now=LATER)

    holder = f"pid {pid} (git)"
    assert path.exists()
    assert lines == [f"git's lock '.git/{OURS[0]}' is there; it may be held by {holder}."]


def test_sweep_when_another_repository_has_a_git_at_work_then_that_does_not_count(
    repo: Repo, repository: Repository, tmp_path: Path
) -> None:
    other = make_repo(tmp_path / "other")
    path = lock(repo, OURS[0])
    with at_work(other, other.root):
        sweep_locks(repository, now=LATER)

    assert not path.exists()


@contextlib.contextmanager
def at_work(repo: Repo, folder: Path) -> Iterator[int]:
    """Keeps a git running in a folder; gives its process id."""
    with subprocess.Popen(
        ["git", "cat-file", "--batch-check"],
        cwd=folder,
        env=repo.variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as git:
        assert git.stdin is not None
        assert git.stdout is not None
        git.stdin.write(b"HEAD\n")
        git.stdin.flush()
        git.stdout.readline()
        yield git.pid
        git.kill()
