"""What a worker may plant where git keeps its lane ends neither a closing nor the next start."""

import os
from pathlib import Path

import pytest

from modules.git.lane_state import inspect_lane
from modules.git.lane_sweep import sweep_lanes
from modules.git.lanes import CloseAction, Closed, close_lane, list_lanes, make_lane
from modules.git.planted import remove_planted
from modules.git.run_git import GitFault
from modules.store.small_files import MOST_BYTES, read_small
from tests.repos import NOW, make_repo


def plant(path: Path, what: str) -> None:
    if path.exists():
        path.unlink()
    match what:
        case "folder":
            (path / "inner").mkdir(parents=True)
        case "link":
            path.symlink_to("/nowhere")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.write_bytes(b"\xff\xfe\0")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("index.lock", "folder"),
        ("HEAD.lock", "folder"),
        ("MERGE_HEAD", "bytes"),
        ("MERGE_HEAD", "pipe"),
        ("index", "folder"),
        ("logs/HEAD", "folder"),
        ("locked", "folder"),
    ],
)
def test_lane_with_something_planted_is_salvaged_and_closed(
    tmp_path: Path, name: str, what: str
) -> None:
    repo = make_repo(tmp_path)
    repository = repo.open()
    lane = make_lane(repository, name="t1-1-x", base="main")
    (lane.path / "work.txt").write_text("work")
    plant(repo.root / ".git/worktrees" / lane.name / name, what)

    state = inspect_lane(repository, lane)
    closed = close_lane(
        repository,
        lane,
        action=CloseAction.SALVAGE,
        is_landed=lambda commit: False,
        now=NOW,
    )

    assert not state.unreadable or name == "index"
    assert closed == Closed(kept=False, salvage_ref=closed.salvage_ref)
    assert repo.git("show", f"{closed.salvage_ref}:work.txt") == "work"
    assert list_lanes(repository) == []


@pytest.mark.parametrize(
    ("name", "what"), [("index.lock", "folder"), ("locked", "bytes"), ("HEAD", "folder")]
)
def test_start_goes_on_where_a_dead_leads_worker_planted_something(
    tmp_path: Path, name: str, what: str
) -> None:
    repo = make_repo(tmp_path)
    repository = repo.open()
    lane = make_lane(repository, name="t1-1-x", base="main")
    plant(repo.root / ".git/worktrees" / lane.name / name, what)
    os.utime(repo.root / ".git/worktrees" / lane.name, (0, 0))

    sweep_lanes(repository, now=NOW)

    assert list_lanes(repository) == [lane]


@pytest.mark.parametrize("what", ["bytes", "folder"])
def test_index_that_is_never_there_can_not_be_put_there(tmp_path: Path, what: str) -> None:
    repo = make_repo(tmp_path)
    repository = repo.open()
    lane = make_lane(repository, name="t1-1-x", base="main")
    plant(repo.root / ".git/worktrees" / lane.name / "no-index", what)
    head = repo.commit({"new.txt": "new"}, "work", at=lane.path)

    state = inspect_lane(repository, lane)

    assert (state.head, state.files, state.unreadable) == (head, ("new.txt",), "")


def test_only_what_is_no_file_goes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repository = repo.open()
    lane = make_lane(repository, name="t1-1-x", base="main")
    folder = repo.root / ".git/worktrees" / lane.name
    plant(folder / "locked", "folder")
    plant(folder / "ORIG_HEAD", "bytes")
    with pytest.raises(GitFault):
        list_lanes(repository)

    assert remove_planted(folder) == ["locked"]
    assert list_lanes(repository) == [lane]
    assert (folder / "ORIG_HEAD").exists()


def test_small_file_is_read_and_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * (MOST_BYTES + 1))
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")

    assert read_small(tmp_path / "file") == b"x" * MOST_BYTES
    for name in ("link", "pipe", ".", "nothing"):
        assert read_small(tmp_path / name) is None
