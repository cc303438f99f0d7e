"""Tests of modules/git/lane_objects.py; what a jail lets through is in safety/test_sandbox_*."""

import hashlib
import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from modules.git.lane_objects import take_in, take_in_all
from modules.git.lane_state import Lane, inspect_lane
from modules.git.lane_sweep import sweep_lanes
from modules.git.lanes import CloseAction, close_lane, finish_closing, make_lane
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.store.paths import lane_objects
from tests.repos import NOW, Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


@pytest.fixture
def lane(repository: Repository) -> Lane:
    return make_lane(repository, name="t1-1-x", base="main")


@pytest.fixture
def own(repository: Repository, lane: Lane) -> Path:
    """The folder a jailed git writes the lane's objects into."""
    folder = lane_objects(repository.common_dir) / lane.name
    folder.mkdir(parents=True)
    return folder


def work(repo: Repo, lane: Lane, own: Path, *commands: str) -> None:
    """Runs commands in the lane, where git writes objects as it does in a jail."""
    environment = {
        **repo.variables,
        "GIT_OBJECT_DIRECTORY": str(own),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repo.root / ".git/objects"),
    }
    script = "; ".join(("set -e", *commands))
    subprocess.run(["sh", "-c", script], cwd=lane.path, env=environment, check=True, timeout=60)


COMMIT = ("echo new > new.txt", "git add new.txt", "git commit -qm new")
STAGE = ("echo staged > staged.txt", "git add staged.txt")


def packed(content: bytes, kind: bytes = b"blob") -> tuple[str, bytes]:
    """Returns the id of an object and the file git keeps it in."""
    whole = b"%b %d\0%b" % (kind, len(content), content)
    return hashlib.sha1(whole).hexdigest(), zlib.compress(whole)


def put(own: Path, object_id: str, data: bytes) -> Path:
    path = own / object_id[:2] / object_id[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def test_commit_is_missing_until_it_is_taken_in_and_whole_then(
    repo: Repo, repository: Repository, lane: Lane, own: Path
) -> None:
    work(repo, lane, own, *COMMIT, *STAGE)
    with pytest.raises(AssertionError):
        repo.git("fsck", "--strict")

    take_in(repository.common_dir, lane.name)

    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert repo.git("show", f"{lane.branch}:new.txt") == "new"
    assert repo.git("show", ":staged.txt", at=lane.path) == "staged"
    assert [path for path in own.rglob("*") if path.is_file()] == []
    taken = (repository.common_dir / "objects").rglob("[0-9a-f]" * 38)
    assert {path.stat().st_mode & 0o777 for path in taken} == {0o444}


def test_lane_is_read_and_closed_with_all_that_was_made_in_it(
    repo: Repo, repository: Repository, lane: Lane, own: Path
) -> None:
    work(repo, lane, own, *COMMIT, *STAGE, "echo untracked > untracked.txt")

    state = inspect_lane(repository, lane)
    work(repo, lane, own, "git commit -qm second")
    closed = close_lane(
        repository, lane, action=CloseAction.SALVAGE, is_landed=lambda commit: False, now=NOW
    )

    assert (state.unreadable, state.files) == ("", ("new.txt",))
    assert not closed.kept
    for name in ("new", "staged", "untracked"):
        assert repo.git("show", f"{closed.salvage_ref}:{name}.txt") == name
    assert not own.exists()
    repo.git("fsck", "--strict")


def test_dead_leads_lane_is_taken_in_at_the_next_start_and_its_folder_goes_with_it(
    repo: Repo, repository: Repository, lane: Lane, own: Path
) -> None:
    work(repo, lane, own, *COMMIT)
    sweep_lanes(repository, now=NOW)
    assert repo.git("show", f"{lane.branch}:new.txt") == "new"
    assert own.is_dir()
    work(repo, lane, own, "git commit -q --allow-empty -m more")
    shutil.rmtree(lane.path)

    sweep_lanes(repository, now=NOW)

    assert repo.git("log", "-1", "--format=%s", lane.branch) == "more"
    assert not own.parent.exists()


def test_closing_that_was_cut_off_loses_nothing(
    repo: Repo, repository: Repository, lane: Lane, own: Path
) -> None:
    work(repo, lane, own, *COMMIT)
    repo.git("worktree", "remove", "--force", str(lane.path))

    finish_closing(repository, is_landed=lambda commit: False, now=NOW)

    (ref,) = repo.git("for-each-ref", "--format=%(refname)", "refs/crewyard/salvage").split()
    assert repo.git("show", f"{ref}:new.txt") == "new"


def test_every_kind_and_size_of_object_is_taken_in(
    repo: Repo, repository: Repository, own: Path
) -> None:
    contents = [b"", b"x", os.urandom(600_000), b"0" * 3_000_000, b"ab" * 131_072]
    objects = dict(packed(content) for content in contents)
    for object_id, data in objects.items():
        put(own, object_id, data)

    take_in_all(repository.common_dir)

    for object_id, content in zip(objects, contents, strict=True):
        taken = repository.git.run("cat-file", "blob", object_id).stdout
        assert taken == content


def test_what_is_not_what_its_name_says_is_not_taken_in(
    repo: Repo, repository: Repository, own: Path, tmp_path: Path
) -> None:
    good_id, good = packed(b"good")
    outside = tmp_path / "outside"
    outside.write_bytes(good)
    forged = {
        "another's content": packed(b"evil")[1],
        "cut off": good[:-4],
        "more behind it": good + b"x",
        "two in one": good + good,
        "nothing": b"",
        "not packed": b"blob 4\0good",
        "wrong size": zlib.compress(b"blob 5\0good"),
        "unknown kind": packed(b"good", b"plop")[1],
    }
    target = repository.common_dir / "objects" / good_id[:2] / good_id[2:]

    for why, data in forged.items():
        path = put(own, good_id, data)
        take_in(repository.common_dir, own.name)
        assert not target.exists(), why
        assert path.read_bytes() == data
        path.unlink()
    path.symlink_to(outside)
    take_in(repository.common_dir, own.name)
    path.unlink()
    os.mkfifo(path)
    take_in(repository.common_dir, own.name)
    path.unlink()
    path.mkdir()
    take_in(repository.common_dir, own.name)
    shutil.rmtree(path.parent)
    (tmp_path / good_id[2:]).write_bytes(good)
    path.parent.symlink_to(tmp_path)
    take_in(repository.common_dir, own.name)

    assert not target.exists()
    assert (tmp_path / good_id[2:]).exists()
    path.parent.unlink()
    put(own, good_id, good)
    take_in(repository.common_dir, own.name)
    assert target.read_bytes() == good
    assert list(target.parent.glob("tmp_obj_*")) == []


def test_object_the_repository_has_is_not_replaced(
    repo: Repo, repository: Repository, own: Path
) -> None:
    object_id, _ = packed(b"one\ntwo\nthree\n")
    theirs = repository.common_dir / "objects" / object_id[:2] / object_id[2:]
    before = theirs.stat().st_ino
    path = put(own, object_id, packed(b"evil")[1])

    take_in(repository.common_dir, own.name)

    assert theirs.stat().st_ino == before
    assert not path.exists()


def test_file_that_is_held_open_can_not_change_what_was_taken_in(
    repo: Repo, repository: Repository, own: Path
) -> None:
    object_id, data = packed(b"good")
    path = put(own, object_id, data)

    with path.open("r+b") as held:
        take_in(repository.common_dir, own.name)
        held.write(b"evil")

    assert repo.git("cat-file", "blob", object_id) == "good"


def test_sha256_objects_are_taken_in(tmp_path: Path) -> None:
    common, own = tmp_path / "git", lane_objects(tmp_path / "git") / "x"
    (common / "objects").mkdir(parents=True)
    own.mkdir(parents=True)
    whole = b"blob 4\0good"
    object_id = hashlib.sha256(whole).hexdigest()
    put(own, object_id, zlib.compress(whole))

    take_in(common, "x")

    assert (common / "objects" / object_id[:2] / object_id[2:]).exists()


def test_repository_that_can_not_be_written_is_told_and_the_object_stays(
    repository: Repository, lane: Lane, own: Path, tmp_path: Path
) -> None:
    object_id, data = packed(b"good")
    path = put(own, object_id, data)
    folder = repository.common_dir / "objects" / object_id[:2]
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("in the way")

    with pytest.raises(GitFault, match="t1-1-x"):
        take_in(repository.common_dir, own.name)

    assert path.exists()
    assert "t1-1-x" in inspect_lane(repository, lane).unreadable
    # It must hinder neither others nor the next start.
    take_in_all(repository.common_dir)
    (repository.common_dir / "worktrees" / lane.name).rename(tmp_path / "gone")
    sweep_lanes(repository, now=NOW)
    assert path.exists()


def test_lane_that_closed_its_folders_hinders_nobody(
    repo: Repo, repository: Repository, lane: Lane, own: Path
) -> None:
    theirs, _ = packed(b"one\ntwo\nthree\n")
    put(own, theirs, b"").unlink()
    (own / theirs[:2] / theirs[2:]).mkdir()
    take_in(repository.common_dir, own.name)
    own.chmod(0)

    closed = close_lane(
        repository, lane, action=CloseAction.SALVAGE, is_landed=lambda commit: False, now=NOW
    )

    assert not closed.kept
    assert not own.exists()
