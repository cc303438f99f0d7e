"""Tests of modules/git/repository.py."""

import os
import subprocess
from pathlib import Path

import pytest

from modules.git.repository import exclude_own_folders, open_repository
from modules.git.run_git import Identity
from modules.records.errors import PersonFault
from modules.records.exits import Exit
from tests.repos import make_empty_repo, make_repo


def test_open_repository_from_anywhere_in_it_then_finds_the_main_checkout(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, files={"pkg/a.py": "a\n"})
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    repo.git("worktree", "add", "-q", "--detach", str(repo.root / ".worktrees" / "t1"))
    starts = [
        repo.root,
        repo.root / "pkg",
        repo.root / ".git",
        tmp_path / "linked",
        tmp_path / "linked" / "pkg",
        repo.root / ".worktrees" / "t1" / "pkg",
    ]

    found = [open_repository(start, variables=repo.variables) for start in starts]

    assert {(r.root, r.common_dir, r.target) for r in found} == {
        (repo.root, repo.root / ".git", "main")
    }
    assert found[0].git.identity == Identity("Ada", "ada@example.org")


def test_open_repository_when_git_dir_is_kept_apart_then_finds_the_checkout(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    repo.git("init", "-q", "--separate-git-dir", str(tmp_path / "kept-apart"))

    repository = repo.open()

    assert (repository.root, repository.common_dir) == (repo.root, tmp_path / "kept-apart")
    assert repository.git.text("status", "--porcelain") == ""


def test_open_repository_of_a_submodule_then_works_on_the_submodule(tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner")
    outer = make_repo(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")

    repository = open_repository(outer.root / "sub", variables=outer.variables)

    assert repository.root == outer.root / "sub"


def test_open_repository_when_it_is_none_then_says_how_to_make_one(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()

    fault = _fault(folder, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})

    assert "is not a git repository" in fault.line
    assert "git init" in fault.hint
    assert list(folder.iterdir()) == []


def test_open_repository_without_a_commit_then_says_how_to_make_the_first(tmp_path: Path) -> None:
    """gsd-build/gsd-2#2482, openai/codex#42708."""
    repo = make_empty_repo(tmp_path)
    repo.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    before = sorted(p.name for p in repo.root.rglob("*"))

    fault = _fault(repo.root, repo.variables)

    assert "has no commit yet" in fault.line
    assert "git -C" in fault.hint
    assert sorted(p.name for p in repo.root.rglob("*")) == before


def test_open_repository_when_it_is_bare_then_says_to_clone(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "x", at=tmp_path / "bare.git")

    faults = [_fault(tmp_path / name, repo.variables) for name in ("bare.git", "linked")]

    assert all("is bare" in fault.line and "git clone" in fault.hint for fault in faults)


def test_open_repository_with_a_detached_head_then_asks_for_a_target(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repo.git("checkout", "-q", "--detach")

    fault = _fault(repo.root, repo.variables)

    assert "detached HEAD" in fault.line
    assert fault.hint.endswith("--target main")
    assert repo.open(target="main").target == "main"


@pytest.mark.parametrize("target", ["mian", "a..b", "-x", "main~0", "@{0}", "two words"])
def test_open_repository_when_the_target_does_not_exist_then_says_so(
    tmp_path: Path, target: str
) -> None:
    repo = make_repo(tmp_path)

    fault = _fault(repo.root, repo.variables, target=target)

    assert f"The branch {target!r} does not exist" in fault.line


def test_open_repository_when_a_tag_has_the_branchs_name_then_takes_the_branch(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    repo.git("tag", "main")

    assert repo.open().target == "main"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_open_repository_when_another_user_owns_it_then_names_the_setting(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    os.chown(repo.root, 12345, 12345)

    fault = _fault(repo.root, repo.variables)

    assert "does not trust" in fault.line
    assert fault.hint.endswith(f"git config --global --add safe.directory {repo.root}")
    subprocess.run(
        fault.hint.partition(": ")[2].split(), env=repo.variables, timeout=10, check=True
    )
    assert repo.open().root == repo.root


def test_exclude_own_folders_when_done_twice_then_the_lines_are_there_once(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    exclude = repo.root / ".git" / "info" / "exclude"
    exclude.write_text("*.tmp")
    repository = repo.open()

    exclude_own_folders(repository)
    exclude_own_folders(repository)

    unfinished = f".crewyard-{'[0-9a-f]' * 16}"
    assert exclude.read_text() == f"*.tmp\n/.team/\n/.worktrees/\n{unfinished}\n"


def test_exclude_own_folders_then_a_file_half_written_is_nobodys_work(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    (repo.root / ".crewyard-0123456789abcdef").write_text("half of")
    (repo.root / ".crewyard-notes").write_text("somebody's")

    exclude_own_folders(repo.open())

    assert repo.git("status", "--porcelain") == "?? .crewyard-notes"


def test_exclude_own_folders_then_status_stays_clean(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    for name in (".team", ".worktrees"):
        (repo.root / name).mkdir()
        (repo.root / name / "x").write_text("x")
    unguarded = repo.git("status", "--porcelain")

    exclude_own_folders(repo.open())

    assert unguarded == "?? .team/\n?? .worktrees/"
    assert repo.git("status", "--porcelain") == ""


def test_open_repository_when_one_half_of_the_identity_is_set_then_falls_back(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    (repo.home / ".gitconfig").write_text("[user]\n\tname = Ada\n")

    assert repo.open().git.identity == Identity("Crewyard", "crewyard@localhost")


def test_open_repository_when_author_variables_are_set_then_they_are_the_identity(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    variables = {**repo.variables, "GIT_AUTHOR_NAME": "Bo", "GIT_AUTHOR_EMAIL": "bo@example.org"}

    repository = open_repository(repo.root, variables=variables)

    assert repository.git.identity == Identity("Bo", "bo@example.org")


def _fault(folder: Path, variables: dict[str, str], *, target: str = "") -> PersonFault:
    with pytest.raises(PersonFault) as caught:
        open_repository(folder, variables=variables, target=target)
    assert caught.value.exit_code is Exit.USAGE
    return caught.value
