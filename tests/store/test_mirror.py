"""A mirror has the other file's content, and stays the file it was."""

import fcntl
import os
from pathlib import Path

import pytest

from modules.store.mirror import mirror


@pytest.mark.parametrize("content", [b"longer than before", b"short", b"", None])
def test_mirror_becomes_what_the_source_was_replaced_by(
    tmp_path: Path, content: bytes | None
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"as before")
    mirror(source, target)
    assert target.read_bytes() == b"as before"
    inode = target.stat().st_ino
    if content is None:
        source.unlink()
    else:
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").rename(source)
        os.utime(source, ns=(0, target.stat().st_mtime_ns))

    mirror(source, target)

    assert target.read_bytes() == (content or b"")
    assert target.stat().st_ino == inode


def test_mirror_of_the_same_time_and_size_is_not_read_again(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x")
    target.write_bytes(b"y")
    os.utime(target, ns=(0, source.stat().st_mtime_ns))

    mirror(source, target)

    assert target.read_bytes() == b"y"


def test_source_that_was_written_before_the_mirror_and_put_there_after_it_is_seen(
    tmp_path: Path,
) -> None:
    source, target, new = tmp_path / "source", tmp_path / "target", tmp_path / "new"
    source.write_bytes(b"as before")
    new.write_bytes(b"new")
    mirror(source, target)
    new.rename(source)

    mirror(source, target)

    assert target.read_bytes() == b"new"


def test_mirror_waits_for_no_lock_of_one_who_sees_it(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x")
    mirror(source, target)
    source.write_bytes(b"another")

    with target.open("rb") as seen:
        fcntl.flock(seen, fcntl.LOCK_EX)
        mirror(source, target)

    assert target.read_bytes() == b"another"
