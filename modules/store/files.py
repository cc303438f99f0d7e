"""Whole files, written so that a reader sees the old content or the new, never a part."""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

_RANDOM_DIGITS = 16


def write_atomically(path: Path, content: bytes | str, *, mode: int | None = None) -> None:
    """Replaces `path`, making its folders; the bytes are on disk when it returns.

    An existing file keeps its mode unless `mode` is given; a new one gets what the umask leaves.
    """
    data = content.encode() if isinstance(content, str) else content
    _replace(path, data, mode=mode, settle=os.fsync)
    sync_folder(path.parent)


def write_soon(path: Path, content: bytes) -> None:
    """Replaces `path`, making its folders; outlives this process, and a power cut only later.

    For what an event loop writes often and nobody misses after a power cut.
    """
    _replace(path, content, mode=None, settle=lambda descriptor: None)


def _replace(path: Path, data: bytes, *, mode: int | None, settle: Callable[[int], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = _mode_of(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(_RANDOM_DIGITS // 2)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # Nobody may open it before it has its mode; a new file's mode is the umask's to decide.
    descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            settle(file.fileno())
        temporary.replace(path)
    except BaseException:
        # The temporary file is ours alone; it may be gone already when the replace itself failed.
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def sweep_unfinished(folder: Path, name: str = "*") -> None:
    """Removes what killed processes left of writing the files called `name` (a glob) in `folder`.

    Only for files that no living process may be writing now.
    """
    for path in folder.glob(f".{name}.{'[0-9a-f]' * _RANDOM_DIGITS}"):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Returns once the names in `folder` are on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mode_of(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None
