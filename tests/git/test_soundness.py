"""Tests of modules/git/soundness.py."""

import subprocess
from pathlib import Path

import pytest

from modules.git.repository import Repository
from modules.git.soundness import fault_in
from tests.repos import Repo, make_repo

Entry = tuple[str, str, str]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


def tree(repo: Repo, *entries: Entry) -> str:
    """Writes a tree as it is told, well-formed or not; returns its id."""
    data = b"".join(
        f"{mode} {name}\0".encode() + bytes.fromhex(object_id) for mode, name, object_id in entries
    )
    command = ["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    done = subprocess.run(command, cwd=repo.root, input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_ordinary_work_is_sound(repo: Repo, repository: Repository) -> None:
    landed = repo.rev("HEAD")
    repo.git("switch", "-q", "-c", "side")
    repo.commit({"s.txt": "s\n"}, "side")
    repo.git("switch", "-q", "main")
    repo.commit({"m.txt": "m\n"}, "main")
    repo.git("merge", "-q", "--no-edit", "side")
    (repo.root / "link").symlink_to("a.txt")
    (repo.root / "tool").write_text("#!/bin/sh\n")
    (repo.root / "tool").chmod(0o755)
    commit = repo.commit({"deep/er/f.txt": "f\n"}, "more")

    assert fault_in(repository, commit, landed=landed) == ""
    assert fault_in(repository, landed, landed=landed) == ""
    assert list(repository.paths.temporary.iterdir()) == []


@pytest.mark.parametrize("name", ["HEAD:new.txt", "HEAD:deep", "HEAD^{tree}"])
def test_missing_object_is_found(repo: Repo, repository: Repository, name: str) -> None:
    landed = repo.rev("HEAD")
    commit = repo.commit({"new.txt": "new\n", "deep/f.txt": "f\n"}, "new")
    object_id = repo.rev(name)
    (repo.root / ".git/objects" / object_id[:2] / object_id[2:]).unlink()

    assert fault_in(repository, commit, landed=landed) != ""


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (("100644 z", "100644 a"), "treeNotSorted"),
        (("100644 a", "100644 a"), "duplicateEntries"),
        (("100644 a", "40000 a"), "duplicateEntries"),
        (("100644 a/b",), "fullPathname"),
        (("40000 ..",), "hasDotdot"),
        (("40000 .GIT",), "hasDotgit"),
        (("100666 a",), "badFilemode"),
        (("104755 a",), "badFilemode"),
        (("120000 .gitmodules",), "gitmodulesSymlink"),
    ],
)
def test_malformed_tree_is_found_though_git_makes_and_lands_it(
    repo: Repo, repository: Repository, names: tuple[str, ...], fault: str
) -> None:
    landed, blob, folder = repo.rev("HEAD"), repo.rev("HEAD:a.txt"), repo.rev("HEAD^{tree}")
    entries = []
    for mode, _, name in (given.partition(" ") for given in names):
        entries.append((mode, name, folder if mode == "40000" else blob))
    commit = repo.git("commit-tree", tree(repo, *entries), "-p", landed, "-m", "bad")
    repo.git("update-ref", "refs/heads/lands", commit)

    found = fault_in(repository, commit, landed=landed)

    assert fault in found
