"""Tests of modules/git/spare_trees.py."""

import os
import stat
import struct
from pathlib import Path

import pytest

from modules.git.lanes import CloseAction, close_lane, make_lane
from modules.git.repository import Repository
from modules.git.spare_trees import (
    MANY_FILES,
    SpareTree,
    are_worth_it,
    begin_spare,
    fill_spare,
    follow,
    remove_spares,
    settle_spare,
)
from tests.repos import NOW, Repo, make_repo

pytestmark = pytest.mark.slow

FILES = {
    ".gitattributes": "*.win text eol=crlf\n*.id ident\n*.up filter=up\n",
    "a.txt": "a\n",
    "deep/er/b.txt": "b\n",
    "deep/.gitattributes": "*.dos text eol=crlf\n",
    "deep/c.dos": "c\nc\n",
    "d.win": "d\nd\n",
    "e.id": "$Id$\n",
    "f.up": "f\n",
    "g é\n\t.txt": "g\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path, files=FILES)
    repo.git("config", "filter.up.smudge", "tr a-z A-Z")
    repo.git("config", "filter.up.clean", "tr A-Z a-z")
    tool = repo.root / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    (repo.root / "link").symlink_to("deep/er")
    (repo.root / "broken").symlink_to("no where")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "./.git", "sub")
    repo.commit({}, "every kind")
    return repo


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


def make_spare(repository: Repository, commit: str, name: str = "1") -> SpareTree:
    spare, steps = begin_spare(repository, commit, name=name)
    for paths in steps:
        fill_spare(repository, spare, paths)
    settle_spare(spare)
    return spare


def content(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Returns each path with its mode and its bytes, links as they are."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        data = b""
        if stat.S_ISLNK(mode):
            data = os.fsencode(path.readlink())
        elif stat.S_ISREG(mode) and path.name != ".git":
            data = path.read_bytes()
        found[str(path.relative_to(folder))] = (mode, data)
    return found


def admin(repo: Repo, name: str) -> dict[str, tuple[int, bytes]]:
    found = content(repo.root / ".git/worktrees" / name)
    return {path: facts for path, facts in found.items() if not path.startswith(("logs", "index"))}


def entries(repo: Repo, path: Path) -> list[str]:
    """Returns the index with its flags, and what a look at all files finds."""
    return [
        repo.git("ls-files", "--stage", "-v", at=path),
        repo.git("ls-files", "--eol", at=path),
        repo.git("status", "--porcelain", "--ignored", at=path),
        repo.git("diff-files", at=path),
    ]


@pytest.mark.parametrize("start", ["old", "new"])
def test_lane_from_a_spare_is_what_a_new_one_is(
    repo: Repo, repository: Repository, start: str
) -> None:
    commits = {"old": repo.rev("HEAD")}
    repo.git("rm", "-q", "--cached", "deep/er/b.txt")
    (repo.root / "deep/er/b.txt").unlink()
    (repo.root / "tool").chmod(0o644)
    (repo.root / "link").unlink()
    commits["new"] = repo.commit({"a.txt": "new\n", "link": "file\n", "more/x.win": "x\n"}, "new")
    spare = make_spare(repository, commits["old"])

    taken = make_lane(
        repository, name="t1-1", base=commits["old"], start=commits[start], spare=spare
    )
    plain = make_lane(repository, name="t2-1", base=commits["old"], start=commits[start])

    assert content(taken.path) == content(plain.path)
    assert taken.path.stat().st_mode == plain.path.stat().st_mode
    assert entries(repo, taken.path) == entries(repo, plain.path)
    assert entries(repo, taken.path)[2:] == ["", ""]
    # What `git reset` leaves where HEAD was; it was never elsewhere.
    assert admin(repo, "t1-1").keys() == admin(repo, "t2-1").keys() - {"ORIG_HEAD"}
    assert repo.rev("HEAD", at=taken.path) == commits[start]
    assert not spare.folder.exists()


def test_lane_from_a_spare_is_worked_in_and_closed_like_any(
    repo: Repo, repository: Repository
) -> None:
    spare = make_spare(repository, repo.rev("HEAD"))
    lane = make_lane(repository, name="t1-1", base="main", spare=spare)
    (lane.path / "a.txt").write_text("b\n")
    assert repo.git("status", "--porcelain", at=lane.path) == " M a.txt"
    repo.commit({"a.txt": "work\n"}, "work", at=lane.path)
    (lane.path / "left.txt").write_text("left\n")

    closed = close_lane(
        repository, lane, action=CloseAction.SALVAGE, is_landed=lambda commit: False, now=NOW
    )

    assert not closed.kept, closed.reason
    assert repo.git("show", f"{closed.salvage_ref}:left.txt") == "left"
    assert not lane.path.exists()


@pytest.mark.parametrize("fault", ["attributes", "edited", "no index", "gone", "other mode"])
def test_spare_that_is_not_fit_is_thrown_away_and_the_lane_is_filled(
    repo: Repo, repository: Repository, fault: str
) -> None:
    spare = make_spare(repository, repo.rev("HEAD"))
    files = {"a.txt": "new\n"} | ({"deep/.gitattributes": ""} if fault == "attributes" else {})
    commit = repo.commit(files, "new")
    match fault:
        case "edited":
            (spare.tree / "a.txt").write_text("edited\n")
        case "no index":
            spare.index.unlink()
        case "gone":
            (spare.tree / "a.txt").unlink()
            (spare.tree / "a.txt").mkdir()
        case "other mode":
            spare.tree.chmod(0o700)

    lane = make_lane(repository, name="t1-1", base=commit, spare=spare)
    plain = make_lane(repository, name="t2-1", base=commit)

    assert content(lane.path) == content(plain.path)
    assert entries(repo, lane.path) == entries(repo, plain.path)
    assert not spare.folder.exists()


def test_spare_follows_what_lands_and_all_are_removed_at_once(
    repo: Repo, repository: Repository
) -> None:
    spares = [make_spare(repository, repo.rev("HEAD"), name) for name in ("1", "2")]
    commit = repo.commit({"new.txt": "new\n"}, "new")

    followed = follow(repository, spares[0], commit)

    assert followed.commit == commit
    assert (followed.tree / "new.txt").read_text() == "new\n"
    assert not (spares[1].tree / "new.txt").exists()
    remove_spares(repository)
    assert not followed.folder.parent.exists()
    remove_spares(repository)


def test_settled_spare_is_not_read_again(repo: Repo, repository: Repository) -> None:
    """What git can't tell apart by its time it reads; so does nobody who changed nothing."""
    spare = make_spare(repository, repo.rev("HEAD"))
    files = [p for p in spare.tree.rglob("*") if p.is_file() and not p.is_symlink()]

    assert all(path.lstat().st_mtime_ns <= spare.index.stat().st_mtime_ns for path in files)


@pytest.mark.parametrize(("files", "expected"), [(MANY_FILES, True), (MANY_FILES - 1, False)])
def test_spares_are_worth_it_from_many_files_on(
    repo: Repo, repository: Repository, files: int, expected: bool
) -> None:
    index = repo.root / ".git/index"
    index.write_bytes(struct.pack(">4sII", b"DIRC", 2, files) + index.read_bytes()[12:])

    assert are_worth_it(repository) is expected


def test_sparse_checkouts_and_repositories_without_an_index_get_none(
    repo: Repo, repository: Repository
) -> None:
    index = repo.root / ".git/index"
    index.write_bytes(struct.pack(">4sII", b"DIRC", 2, MANY_FILES) + index.read_bytes()[12:])
    repo.git("config", "core.sparseCheckout", "true")
    assert not are_worth_it(repository)
    repo.git("config", "core.sparseCheckout", "false")
    assert are_worth_it(repository)

    index.unlink()

    assert not are_worth_it(repository)
