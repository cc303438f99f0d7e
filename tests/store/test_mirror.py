"""A mirror has the other file's content, and stays the file it was."""

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


def test_mirror_younger_than_its_source_is_not_read_again(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x")
    target.write_bytes(b"y")
    os.utime(source, ns=(0, target.stat().st_mtime_ns - 1))

    mirror(source, target)

    assert target.read_bytes() == b"y"
