"""Removes whole folders, whatever those who had them did to hinder that.

1. Nothing is followed: a link goes, what it leads to stays.
2. Folders closed to everybody are opened first.
3. However deep folders lie in one another, and however long their paths are: what lies in a folder
   is moved up to the top before the folder goes.
"""

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_FOLDER_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Removes `path`, whatever it is; does nothing where there is nothing."""
    if not path.is_symlink() and path.is_dir():
        _open_up(path, within=None)
        with _opened(path, within=None) as top:
            _empty(top)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def remove_if_possible(path: Path) -> None:
    """Removes `path`, or what of it can be removed; nothing depends on its being gone."""
    with contextlib.suppress(OSError):
        remove_tree(path)


def _empty(top: int) -> None:
    free = itertools.count()
    while names := os.listdir(top):
        for name in names:
            if not _is_folder(name, within=top):
                os.unlink(name, dir_fd=top)
                continue
            _open_up(name, within=top)
            with _opened(name, within=top) as folder:
                for inner in os.listdir(folder):  # noqa: PTH208 - by descriptor
                    _move_up(inner, folder, top, free)
            os.rmdir(name, dir_fd=top)


def _move_up(name: str, folder: int, top: int, free: Iterator[int]) -> None:
    """Unlinks what is no folder, and moves a folder to the top under a name nothing has there."""
    if not _is_folder(name, within=folder):
        os.unlink(name, dir_fd=folder)
        return
    _open_up(name, within=folder)
    to = next(taken for taken in map(str, free) if not _is_there(taken, within=top))
    os.rename(name, to, src_dir_fd=folder, dst_dir_fd=top)


def _open_up(name: str | Path, *, within: int | None) -> None:
    """Gives us all rights in a folder, if we lack any."""
    mode = os.stat(name, dir_fd=within, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IMODE(mode) | stat.S_IRWXU, dir_fd=within)


@contextlib.contextmanager
def _opened(name: str | Path, *, within: int | None) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_folder(name: str, *, within: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)


def _is_there(name: str, *, within: int) -> bool:
    try:
        os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
