"""Tests of modules/git/check_tree.py."""

import shutil
import subprocess
from pathlib import Path

import pytest

from modules.git.check_tree import (
    check_tree_path,
    check_tree_problem,
    end_left_over_git,
    point_check_tree,
)
from modules.git.lanes import list_lanes, make_lane
from modules.git.repository import Repository
from tests.repos import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


def is_pristine(repo: Repo, path: Path, commit: str) -> bool:
    status = repo.git("status", "--porcelain", "--ignored", at=path)
    return status == "" and repo.rev("HEAD", at=path) == commit


def test_point_then_the_tree_holds_exactly_the_commit(repo: Repo, repository: Repository) -> None:
    first = repo.rev("main")
    second = repo.commit({"x.txt": "x\n"}, "x")

    path = point_check_tree(repository, 1, second)
    was_second = is_pristine(repo, path, second)
    point_check_tree(repository, 1, first)

    assert was_second
    assert is_pristine(repo, path, first)
    assert list_lanes(repository) == []
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    "damage",
    [
        "dirty",
        "nested repository",
        "locked folder",
        "gone",
        "git file",
        "hidden change",
        "merge",
        "rebase",
        "index",
        "stale lock",
        "registration",
        "link",
    ],
)
def test_point_when_the_last_run_did_damage_then_nothing_of_it_is_left(
    repo: Repo, repository: Repository, tmp_path: Path, damage: str
) -> None:
    commit = repo.rev("main")
    path = point_check_tree(repository, 1, commit)
    _damage(repo, path, tmp_path, damage)

    point_check_tree(repository, 1, commit)

    assert not path.is_symlink()
    assert is_pristine(repo, path, commit)
    assert (path / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert check_tree_problem(repository, 1, commit) == ""


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("dirty", "it changed tracked files: 'a.txt'"),
        ("gone", "it removed its own worktree"),
        ("commit", "it moved HEAD"),
        ("index", "git can't read the worktree any more"),
        ("staged", "it changed tracked files: 'staged.txt'"),
    ],
)
def test_problem_then_tells_what_the_run_did(
    repo: Repo, repository: Repository, tmp_path: Path, damage: str, words: str
) -> None:
    commit = repo.rev("main")
    path = point_check_tree(repository, 1, commit)
    _damage(repo, path, tmp_path, damage)

    assert words in check_tree_problem(repository, 1, commit)


def test_problem_when_only_untracked_files_were_made_then_there_is_none(
    repo: Repo, repository: Repository
) -> None:
    commit = repo.rev("main")
    path = point_check_tree(repository, 1, commit)
    (path / "build").mkdir()
    (path / "build" / "out").write_text("x")

    assert check_tree_problem(repository, 1, commit) == ""


def test_make_lane_when_named_like_a_check_tree_then_gets_another_name(
    repository: Repository,
) -> None:
    lane = make_lane(repository, name="check-1", base="main")

    assert lane.path != check_tree_path(repository, 1)


def _damage(repo: Repo, path: Path, tmp_path: Path, damage: str) -> None:
    _damage_files(repo, path, tmp_path, damage)
    if path.exists() and not path.is_symlink():
        _damage_git(repo, path, damage)


def _damage_files(repo: Repo, path: Path, tmp_path: Path, damage: str) -> None:
    match damage:
        case "dirty":
            (path / "a.txt").write_text("dirty\n")
            (path / "untracked").write_text("x")
        case "nested repository":
            (path / "in").mkdir()
            repo.git("init", "-q", at=path / "in")
            repo.commit({"x": "x"}, "x", at=path / "in")
        case "locked folder":
            (path / "locked" / "deep").mkdir(parents=True)
            (path / "locked").chmod(0)
        case "gone":
            shutil.rmtree(path)
        case "git file":
            (path / ".git").write_text("gitdir: /nowhere\n")
        case "link":
            path.rename(tmp_path / "moved")
            path.symlink_to(tmp_path / "moved")


def test_end_left_over_git_then_only_git_in_the_queues_own_trees_is_ended(
    repo: Repo, repository: Repository
) -> None:
    git_dir = repo.root / ".git"
    places = (git_dir / "worktrees" / "check-1", git_dir / "worktrees" / "t1-1", git_dir)
    ours, lanes, persons = (
        subprocess.Popen(["sleep", "60"], env={**repo.variables, "GIT_DIR": str(place)})
        for place in places
    )

    end_left_over_git(repository)
    ended = ours.wait(timeout=10)
    others = (lanes.poll(), persons.poll())
    for process in (lanes, persons):
        process.kill()
        process.wait(timeout=10)

    assert ended == -9
    assert others == (None, None)


def _damage_git(repo: Repo, path: Path, damage: str) -> None:
    admin = repo.root / ".git" / "worktrees" / "check-1"
    match damage:
        case "hidden change":
            repo.git("update-index", "--assume-unchanged", "a.txt", at=path)
            (path / "a.txt").write_text("hidden\n")
        case "merge":
            (admin / "MERGE_HEAD").write_text(repo.rev("main") + "\n")
        case "rebase":
            (admin / "rebase-merge").mkdir()
        case "index":
            (admin / "index").write_bytes(b"garbage")
        case "stale lock":
            (admin / "index.lock").touch()
        case "registration":
            shutil.rmtree(admin)
        case "commit":
            repo.git("commit", "-q", "--allow-empty", "-m", "x", at=path)
        case "staged":
            (path / "staged.txt").write_text("x")
            repo.git("add", "staged.txt", at=path)


def test_point_when_the_checkout_is_sparse_then_the_tree_is_whole_and_kept(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, files={"in/a": "a\n", "out/b": "b\n"})
    repo.git("sparse-checkout", "set", "in")
    repository = repo.open()
    commit = repo.rev("main")

    path = point_check_tree(repository, 1, commit)
    first = path.stat().st_ino
    (path / "out" / "b").write_text("changed\n")
    point_check_tree(repository, 1, commit)

    assert not (repo.root / "out").exists()
    assert (path / "out" / "b").read_text() == "b\n"
    assert path.stat().st_ino == first
    assert check_tree_problem(repository, 1, commit) == ""


def test_point_when_a_run_left_files_in_a_submodules_folder_then_they_are_gone(
    tmp_path: Path,
) -> None:
    """git shows such files in no status and cleans them away by no option."""
    repo = make_repo(tmp_path)
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.rev('main')},vendor/lib")
    repo.git("commit", "-q", "-m", "submodule")
    repository, commit = repo.open(), repo.rev("HEAD")
    path = point_check_tree(repository, 1, commit)
    (path / "vendor" / "lib" / "left").write_text("by a run\n")
    assert repo.git("status", "--porcelain", "--ignored", at=path) == ""

    point_check_tree(repository, 1, commit)

    assert list((path / "vendor" / "lib").iterdir()) == []
