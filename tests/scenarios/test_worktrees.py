"""A worktree of one's own: made, removed without losing anything, and given back."""

from pathlib import Path

import pytest

from tests.scenarios.programs import (
    bash,
    calls,
    commit,
    crewyard,
    git,
    make_repository,
    make_script,
    skip_without,
    submit,
    worker,
    writing,
)

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


def test_worktrees_of_workers_and_checks_are_made_ready_and_the_checkout_is_not_written(
    tmp_path: Path, own_environment: Path
) -> None:
    skip_without("bwrap")
    ignored = {"base.txt": "base\n", ".gitignore": "cache/\nlocal.ini\nmade/\n"}
    repository = make_repository(tmp_path / "sample", ignored)
    (repository / "cache").mkdir()
    (repository / "cache" / "big").write_text("cached")
    (repository / "local.ini").write_text("local")
    settings = (
        '[lane]\ncopy = ["local.ini"]\nlink = ["cache"]\n'
        'setup = "mkdir made && cat cache/big local.ini > made/both"\nsetup_makes = ["made"]\n'
    )
    (own_environment / "crewyard").mkdir(exist_ok=True)
    (own_environment / "crewyard" / "settings.toml").write_text(settings)
    look = "test -s made/both && test -s local.ini && test -s cache/big && test -n $CREWYARD_PORT"
    attack = "! echo bad > cache/big && ! touch cache/new && ! rm -rf cache/big"
    crewyard("task", "add", "one", cwd=repository)
    spec = make_script(
        tmp_path,
        [
            worker(
                "*",
                calls(bash(f"{look} && {attack} && cp made/both one.txt"), commit("one")),
                calls(submit()),
            )
        ],
    )

    check = f"{look} && {attack} && ! touch made/poison"
    ended = crewyard("work", "--model", spec, "--check", check, "--json", cwd=repository)

    assert ended.document["exit_code"] == 0, ended.document
    assert git(repository, "show", "main:one.txt") == "cachedlocal"
    assert [path.name for path in (repository / "cache").iterdir()] == ["big"]
    assert (repository / "cache" / "big").read_text() == "cached"
    assert git(repository, "status", "--porcelain") == ""


def test_setup_that_fails_ends_the_attempt_and_names_its_log(
    tmp_path: Path, own_environment: Path
) -> None:
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[lane]\nsetup = "echo no network; exit 3"\n')
    crewyard("task", "add", "one", cwd=repository)
    spec = make_script(tmp_path, [writing("one", "one.txt", "1\n")])

    ended = crewyard("work", "--model", spec, "--check", "true", "--json", cwd=repository)

    (task,) = ended.document["tasks"]
    log = repository / ".team" / "checks" / "setup-t1-1-one.log"
    assert (ended.code, task["status"]) == (3, "failed")
    assert (
        "failed (exit code 3). Its output is in .team/checks/setup-t1-3-one.log" in (task["reason"])
    )
    assert "no network" in log.read_text()
