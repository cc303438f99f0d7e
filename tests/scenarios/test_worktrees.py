"""A worktree of one's own: made, removed without losing anything, and given back."""

from pathlib import Path

import pytest

from tests.scenarios.programs import crewyard, git, make_repository, make_script, writing

pytestmark = pytest.mark.slow


def test_work_in_a_removed_worktree_can_be_listed_restored_and_let_go(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    crewyard("worktree", "create", "mine", cwd=repository)
    (repository / ".worktrees" / "mine" / "new.txt").write_text("mine\n")

    removed = crewyard("worktree", "remove", "mine", "--json", cwd=repository).document
    kept = crewyard("worktree", "salvage", "list", "--json", cwd=repository).document
    crewyard("worktree", "salvage", "restore", kept[0]["ref"], "--name", "back", cwd=repository)

    assert removed["removed"]
    assert not (repository / ".worktrees" / "mine").exists()
    assert [each["ref"] for each in kept] == [removed["salvage"]]
    assert (repository / ".worktrees" / "back" / "new.txt").read_text() == "mine\n"
    assert git(repository, "status", "--porcelain") == ""

    crewyard("worktree", "salvage", "expire", "--days", "0", cwd=repository)

    assert git(repository, "for-each-ref", "refs/crewyard/salvage") == ""


def test_run_leaves_a_worktree_made_by_hand_alone(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    crewyard("worktree", "create", "mine", cwd=repository)
    (repository / ".worktrees" / "mine" / "new.txt").write_text("mine\n")
    crewyard("task", "add", "one", cwd=repository)
    spec = make_script(tmp_path, [writing("one", "one.txt", "1\n")])

    ended = crewyard("work", "--model", spec, "--check", "test -f base.txt", cwd=repository)

    assert ended.code == 0, ended.err
    assert (repository / ".worktrees" / "mine" / "new.txt").read_text() == "mine\n"


def test_worktree_that_is_not_there_is_named(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})

    ended = crewyard("worktree", "remove", "nowhere", cwd=repository)

    assert ended.code == 2
    assert "'nowhere'" in ended.err
