"""Calls back at once when a name in one of a few folders is written; Linux alone.

Interface: inotify(7).
"""

import asyncio
import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_CLOSE_WRITE, _MOVED_TO = 0x8, 0x80
_BUFFER_BYTES = 65_536


@contextlib.contextmanager
def watching(folders: Sequence[Path], on_change: Callable[[], None]) -> Iterator[None]:
    """Calls `on_change` in the running event loop after files in `folders` were written or renamed.

    Several changes may give one call. Raises OSError where nothing can be watched.
    """
    descriptor = _open(folders)
    loop = asyncio.get_running_loop()

    def read() -> None:
        os.read(descriptor, _BUFFER_BYTES)
        on_change()

    loop.add_reader(descriptor, read)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _open(folders: Sequence[Path]) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = _checked(libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
    try:
        for folder in folders:
            _checked(
                libc.inotify_add_watch(descriptor, os.fsencode(folder), _CLOSE_WRITE | _MOVED_TO)
            )
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"inotify: {os.strerror(number)}")
    return result
