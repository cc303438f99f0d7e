"""Reads small files of folders that others may write: nothing is followed, waited for or large."""

import os
import stat
from pathlib import Path

MOST_BYTES = 64_000
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_small(path: Path) -> bytes | None:
    """Returns the first MOST_BYTES of a file; None for a link, a folder, a pipe, or nothing."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, MOST_BYTES) if is_file else None
    finally:
        os.close(descriptor)
