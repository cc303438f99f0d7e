"""Locks between processes; the kernel frees them when their holder dies.

`locked` blocks in flock(2) and is held for one append. `held` waits a limited time and is for the
coarse locks: the lead's, the lanes', the queue's.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from modules.records.errors import PersonFault
from modules.records.exits import Exit

# `read_lead_pid` holds the lead's lock for some microseconds.
_TRIES = 10
_PAUSE_SECONDS = 0.01


@contextlib.contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Holds an exclusive flock on an open file; blocks until it has it."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def held(path: Path, *, what: str, timeout_seconds: float) -> Iterator[None]:
    """Holds the coarse lock `path`.

    Raises PersonFault naming `what` when another process keeps it longer than `timeout_seconds`.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, poll_interval=0.01)
    try:
        lock.acquire(timeout=timeout_seconds)
    except Timeout as error:
        raise PersonFault(
            f"{what} is held by another process ({path}).",
            hint=f"Wait for it to end; it did not within {timeout_seconds:.0f} s.",
            exit_code=Exit.USAGE,
        ) from error
    try:
        yield
    finally:
        lock.release()


class LeadLock:
    """The claim that this process is the one lead of a repository.

    The kernel holds the truth (flock); the file's text names the holder for people. The folder is
    held as well, so that somebody who deletes the file lets no second lead in.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: list[int] = []

    def acquire(self) -> None:
        """Takes the lock; raises PersonFault naming the other lead when there is one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _open_lock(self._path, os.O_CREAT)
        if not _take(descriptor):
            holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise _led_already(holder or "pid unknown")
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not _take(folder):
            os.close(folder)
            os.close(descriptor)
            raise _led_already(f"its {self._path.name} was deleted")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()}\n".encode(), 0)
        self._held = [descriptor, folder]

    def release(self) -> None:
        """Gives the lock back; does nothing when it is not held."""
        if self._held:
            os.ftruncate(self._held[0], 0)
        while self._held:
            os.close(self._held.pop())


def read_lead_pid(path: Path) -> int | None:
    """Returns the pid of the lead that holds `path` now, None when no lead runs.

    The pid is 0 when the lead has not written it yet.
    """
    try:
        descriptor = _open_lock(path)
    except FileNotFoundError:
        return None
    try:
        # Shared, so that two who look don't take each other for a lead.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        words = os.pread(descriptor, 200, 0).decode(errors="replace").split()
        return int(words[1]) if len(words) == 2 and words[1].isdigit() else 0
    else:
        return None
    finally:
        os.close(descriptor)


def _led_already(by: str) -> PersonFault:
    return PersonFault(
        f"A lead already runs in this repository ({by}).",
        hint="Talk to that one, or end it first.",
        exit_code=Exit.USAGE,
    )


def _open_lock(path: Path, flags: int = 0) -> int:
    try:
        # A link planted in a repository must not lead to a file elsewhere.
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o644)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PersonFault(
            f"The lock {path} can't be opened: {error.strerror}.",
            hint="Make it a file of your own that you may read and write.",
            exit_code=Exit.FAILED,
        ) from error


def _take(descriptor: int) -> bool:
    """Takes the lock, outwaiting whoever only looks; returns False when a lead holds it."""
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):  # held; by a lead, or for a look
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_PAUSE_SECONDS)
    return False
