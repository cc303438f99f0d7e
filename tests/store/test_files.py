"""A file is replaced whole, with its mode, or stays as it was."""

import os
import stat
from pathlib import Path

import pytest

from modules.store.files import sweep_unfinished, write_atomically, write_soon


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_write_makes_folders_and_the_file_as_the_umask_says(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.txt"
    before = os.umask(0o027)
    try:
        write_atomically(path, "é")
    finally:
        os.umask(before)

    assert path.read_bytes() == "é".encode()
    assert mode_of(path) == 0o640
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o4711])
def test_write_over_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(mode)

    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert mode_of(path) == mode


def test_write_with_a_mode_sets_it(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text("old")

    write_atomically(path, "new", mode=0o700)

    assert mode_of(path) == 0o700


def test_file_written_soon_is_whole_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"

    write_soon(path, b"old")
    write_soon(path, b"new")

    assert [one.read_bytes() for one in path.parent.iterdir()] == [b"new"]


def test_reader_of_the_old_file_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    with path.open() as reader:
        write_atomically(path, "new")

        assert reader.read() == "old"


def test_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "file").write_text("old")

    with pytest.raises(OSError, match="directory"):
        write_atomically(path, "new")

    assert list(tmp_path.iterdir()) == [path]
    assert (path / "file").read_text() == "old"


def test_sweep_removes_what_a_killed_write_left_and_nothing_else(tmp_path: Path) -> None:
    kept = [".crew.json.0123", ".hidden", "crew.json", ".other.json.0123456789abcdef"]
    for name in [*kept, ".crew.json.0123456789abcdef"]:
        (tmp_path / name).write_text("x")

    sweep_unfinished(tmp_path, "crew.json")

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
