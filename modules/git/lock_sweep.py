"""Locks that git left in the repository when it was killed; looked at once, at the start.

1. A lock may belong to a git that is at work: as long as one is in this repository, or the lock is
   younger than a minute, it stays. It is told whose it may be.
2. A lock on a ref of ours that nobody can hold any more is removed: it would never go.
3. Any other is the person's: told, with the command that removes it, and left.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from modules.git.repository import Repository

_PROC = Path("/proc")
_QUIET_SECONDS = 60.0
_OURS = ("refs/crewyard", "refs/heads/wt", "refs/heads/wt-lanes")
_THEIRS = ("HEAD.lock", "index.lock", "config.lock", "packed-refs.lock", "shallow.lock")


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file of git's."""

    path: Path
    is_ours: bool
    age_seconds: float


def sweep_locks(repository: Repository, *, now: datetime) -> list[str]:
    """Removes what is ours to remove; returns a sentence for each lock that was there."""
    locks = list(_locks(repository, now))
    if not locks:
        return []
    holders = gits_at_work(repository)
    lines = []
    for lock in locks:
        if is_stale(lock, holders) and lock.is_ours:
            with contextlib.suppress(FileNotFoundError):  # Whoever held it was quicker.
                lock.path.unlink()
        lines.append(lock_words(lock, holders, root=repository.root))
    return lines


def is_stale(lock: Lock, holders: list[str]) -> bool:
    """True for a lock nobody can hold any more."""
    return not holders and lock.age_seconds > _QUIET_SECONDS


def lock_words(lock: Lock, holders: list[str], *, root: Path) -> str:
    """Returns what a person should know of a lock."""
    path = os.path.relpath(lock.path, root)
    if holders:
        return f"git's lock {path!r} is there; it may be held by {', '.join(holders)}."
    if not is_stale(lock, holders):
        return (
            f"git's lock {path!r} was made {lock.age_seconds:.0f} s ago; nobody seems to hold it."
        )
    if lock.is_ours:
        return f"The stale lock {path!r} was removed."
    minutes = lock.age_seconds / 60
    return (
        f"git's lock {path!r} is {minutes:.0f} minutes old and no git is at work here: it stops "
        f"git. If you know of none either: rm {lock.path}"
    )


def gits_at_work(repository: Repository) -> list[str]:
    """Returns the processes of git that work on the repository, as `pid 12 (git)`."""
    places = (os.fsencode(repository.root), os.fsencode(repository.common_dir))
    found = []
    for process in _PROC.glob("[0-9]*"):
        try:
            name = (process / "comm").read_text().strip()
            if name != "git" and not name.startswith("git-"):
                continue
            where = os.fsencode((process / "cwd").readlink())
            environment = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            # It ended meanwhile, or is somebody else's.
            continue
        named = [entry.partition(b"=")[2] for entry in environment if entry.startswith(b"GIT_")]
        if any(_lies_in(place, parent) for place in (where, *named) for parent in places):
            found.append(f"pid {process.name} ({name})")
    return found


def _lies_in(place: bytes, parent: bytes) -> bool:
    return place == parent or place.startswith(parent + b"/")


def _locks(repository: Repository, now: datetime) -> Iterator[Lock]:
    common = repository.common_dir
    target = common / f"{repository.target_ref}.lock"
    ours = [path for folder in _OURS for path in sorted((common / folder).rglob("*.lock"))]
    for path in (*ours, *(common / name for name in _THEIRS), target):
        try:
            made_at = path.lstat().st_mtime
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield Lock(path, path in ours, max(now.timestamp() - made_at, 0.0))
