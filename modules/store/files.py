"""Whole files, written so that a reader sees the old content or the new, never a part."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: bytes | str, *, mode: int | None = None) -> None:
    """Replaces `path`, making its folders; the bytes are on disk when it returns.

    An existing file keeps its mode unless `mode` is given.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = _mode_of(path)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        # The temporary file is ours alone; it may be gone already when the replace itself failed.
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        # The umask can only be read by setting it.
        umask = os.umask(0o022)
        os.umask(umask)
        return 0o666 & ~umask
