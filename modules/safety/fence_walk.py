"""The walk from a root folder to where a path leads, on open folders, leaving the root never.

Every step opens one name below an open folder without following a link, so a folder swapped for a
link meanwhile is seen as the link it is. A link is read and its target walked like any other path.
"""

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from modules.records.errors import ModelFault
from modules.safety.protected_names import is_protected_name

MOST_LINKS = 40
# A descriptor that only walks needs no right to list its folder; only Linux has such.
_WALK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Purpose(Enum):
    """What a walk is for."""

    LOOK = auto()
    """To read: links are followed, protected names may be walked."""
    WRITE = auto()
    """To write: links are followed, missing folders made, protected names refused."""
    REMOVE = auto()
    """To delete: a link at the end is not followed, protected names are refused."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: an open folder and a name in it."""

    folder: int
    name: str
    """`.` for the root itself."""
    status: os.stat_result | None
    """What stands there, links not followed; None where nothing does."""


@contextlib.contextmanager
def walked(
    roots: tuple[Path, ...],
    names: list[str],
    *,
    path: str | Path,
    purpose: Purpose,
    most_links: int = MOST_LINKS,
) -> Iterator[Place]:
    """Walks from the root to where `names` lead and keeps the folder there open.

    `roots` are the spellings of one root, the first without links; `path` is what messages say.
    """
    walk = _Walk(roots, path=path, purpose=purpose, most_links=most_links)
    try:
        yield walk.to(names)
    finally:
        walk.close()


def split(text: str) -> list[str]:
    """Returns the names of a path, from the left."""
    return [name for name in text.split("/") if name not in ("", ".")]


def names_below(roots: tuple[Path, ...], target: str, *, path: str | Path) -> list[str]:
    """Returns the names from a root to the absolute path `target`."""
    names = split(target)
    for root in roots:
        prefix = split(str(root))
        if names[: len(prefix)] == prefix:
            return names[len(prefix) :]
    raise leaves_root(path)


def leaves_root(path: str | Path) -> ModelFault:
    """Returns the refusal of a path that leads out."""
    return ModelFault(f"{str(path)!r} leads outside the project's folder.")


class _Walk:
    def __init__(
        self, roots: tuple[Path, ...], *, path: str | Path, purpose: Purpose, most_links: int
    ) -> None:
        self._roots = roots
        self._path = path
        self._purpose = purpose
        self._links_left = most_links
        self._folders = [os.open(roots[0], _WALK)]

    def to(self, names: list[str]) -> Place:
        ahead = deque(names)
        while ahead:
            name = ahead.popleft()
            if name == "..":
                self._step_up()
                continue
            self._check_name(name)
            if ahead:
                self._step_down(name, ahead)
                continue
            status = self._status(name)
            if not self._is_followed(status):
                return Place(self._folders[-1], name, status)
            self._expand(name, ahead)
        return Place(self._folders[-1], ".", os.fstat(self._folders[-1]))

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def _check_name(self, name: str) -> None:
        if self._purpose is not Purpose.LOOK and is_protected_name(name):
            raise ModelFault(f"{str(self._path)!r} leads to {name!r}, which no tool may change.")

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._folders[-1], follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _is_followed(self, status: os.stat_result | None) -> bool:
        is_link = status is not None and stat.S_ISLNK(status.st_mode)
        return is_link and self._purpose is not Purpose.REMOVE

    def _step_up(self) -> None:
        if len(self._folders) == 1:
            raise leaves_root(self._path)
        os.close(self._folders.pop())

    def _step_down(self, name: str, ahead: deque[str]) -> None:
        try:
            folder = self._open_folder(name)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            self._expand(name, ahead)
            return
        self._folders.append(folder)

    def _open_folder(self, name: str) -> int:
        try:
            return os.open(name, _WALK, dir_fd=self._folders[-1])
        except FileNotFoundError:
            if self._purpose is not Purpose.WRITE:
                raise
        with contextlib.suppress(FileExistsError):  # somebody else made it just now: as good
            os.mkdir(name, dir_fd=self._folders[-1])
        return os.open(name, _WALK, dir_fd=self._folders[-1])

    def _expand(self, name: str, ahead: deque[str]) -> None:
        """Puts a link's target in front of what is still ahead."""
        try:
            target = os.readlink(name, dir_fd=self._folders[-1])
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
        if self._links_left == 0:
            raise ModelFault(f"{str(self._path)!r} leads through too many links, or in a circle.")
        self._links_left -= 1
        names = split(target)
        if target.startswith("/"):
            names = names_below(self._roots, target, path=self._path)
            while len(self._folders) > 1:
                self._step_up()
        ahead.extendleft(reversed(names))
