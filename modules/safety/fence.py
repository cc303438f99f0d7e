"""File access below one folder, for tools that run in this process.

1. A path is walked one name at a time from the root's open folder, no step following a link, so
   nothing swapped in meanwhile can lead outside (`fence_walk`).
2. A link is read and its target walked under the same rules: inside it is followed, for writing
   too (the target changes, the link stays a link); one that leaves the root is refused.
3. Writing and deleting refuse protected names (`.git`, `.team`, `.worktrees`) on the way that was
   really walked, and writing refuses files with a second hard link.
4. Only regular files are read and written: no device, pipe, socket or folder.
5. A write is whole or not at all, and keeps the file's mode and owner; no temporary file stays;
   one that a killed process leaves is known to git as nobody's work (`store/paths.EXCLUDED`).
6. Whatever fails is a ModelFault that says what and why.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from modules.records.errors import ModelFault
from modules.safety.fence_walk import Place, Purpose, leaves_root, names_below, split, walked
from modules.store.paths import UNFINISHED_DIGITS, UNFINISHED_PREFIX

_LONGEST_NAME_BYTES = 255
_SAFELY = os.O_NOFOLLOW | os.O_CLOEXEC
_KERNEL_FOLDERS = ("proc", "sys", "dev")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_NO_PLAIN_PATH = re.compile(r"[~$]|file:", re.IGNORECASE)


class FileKind(StrEnum):
    """What a name in a folder stands for."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class FileStat:
    """A file as it was at one moment; two that are equal saw the same content."""

    kind: FileKind
    size_bytes: int
    mode: int
    modified_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's bytes, and the file they were read from."""

    data: bytes
    stat: FileStat


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One name in a folder."""

    name: str
    kind: FileKind


class Fence:
    """The files below `root`, which itself may lie behind links.

    Paths are relative to the root, or absolute and below it.
    """

    def __init__(self, root: Path) -> None:
        self._roots = (root.resolve(), Path(os.path.abspath(root)))  # noqa: PTH100 - keeps links

    @property
    def root(self) -> Path:
        """The folder, links resolved."""
        return self._roots[0]

    def read(self, path: str | Path, *, limit_bytes: int) -> FileContent:
        """Returns a file's bytes and what they were read from; refuses more than `limit_bytes`."""
        with _faults(path), self._walked(path, Purpose.LOOK) as place:
            return _read(place, path, limit_bytes)

    def read_bytes(self, path: str | Path, *, limit_bytes: int) -> bytes:
        """Returns a file's bytes; refuses more than `limit_bytes`."""
        return self.read(path, limit_bytes=limit_bytes).data

    def write_bytes(
        self, path: str | Path, data: bytes, *, expected: FileStat | None = None
    ) -> None:
        """Writes a whole file, making its folders; the bytes are on disk when it returns.

        With `expected`, the file as it was read, a file that has changed since is refused.
        """
        _refuse_invisible(path)
        with _faults(path), self._walked(path, Purpose.WRITE) as place:
            _check_target(place, path, expected)
            _replace(place, data)

    def delete(self, path: str | Path) -> None:
        """Deletes a file, or a link itself."""
        with _faults(path), self._walked(path, Purpose.REMOVE) as place:
            if place.status is not None and stat.S_ISDIR(place.status.st_mode):
                raise ModelFault(f"{str(path)!r} is a folder; only files can be deleted.")
            os.unlink(place.name, dir_fd=place.folder)

    def stat(self, path: str | Path) -> FileStat | None:
        """Returns what a path leads to, None where there is nothing."""
        with _faults(path):
            try:
                with self._walked(path, Purpose.LOOK) as place:
                    return None if place.status is None else _stat_of(place.status)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def list_folder(self, path: str | Path = ".") -> tuple[FolderEntry, ...]:
        """Returns the names in a folder, sorted; links are not followed."""
        flags = os.O_RDONLY | os.O_DIRECTORY | _SAFELY
        with (
            _faults(path),
            self._walked(path, Purpose.LOOK) as place,
            _opened(place.name, flags, folder=place.folder) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            found = [FolderEntry(entry.name, _kind_of_entry(entry)) for entry in entries]
        return tuple(sorted(found, key=lambda entry: entry.name))

    def _walked(self, path: str | Path, purpose: Purpose) -> AbstractContextManager[Place]:
        return walked(self._roots, self._names(str(path)), path=path, purpose=purpose)

    def _names(self, text: str) -> list[str]:
        """Returns the names from the root to a path, without `..`."""
        _refuse_malformed(text)
        plain = os.path.normpath(text)
        if plain.startswith("/"):
            return names_below(self._roots, plain, path=text)
        names = split(plain)
        if names[:1] == [".."]:
            raise leaves_root(text)
        return names


def read_outside(path: Path, *, limit_bytes: int) -> FileContent:
    """Returns a regular file's bytes from anywhere on the machine.

    `path` is absolute and has no link in it: it is the very place the gate has judged.
    """
    names = split(str(path))
    if not path.is_absolute() or ".." in names:
        raise ModelFault(f"{str(path)!r} is not an absolute path without '..'.")
    if names[:1] and names[0] in _KERNEL_FOLDERS:
        raise ModelFault(f"{str(path)!r} is not a file on disk.")
    way = walked((Path("/"),), names, path=path, purpose=Purpose.LOOK, most_links=0)
    with _faults(path), way as place:
        return _read(place, path, limit_bytes)


def _read(place: Place, path: str | Path, limit_bytes: int) -> FileContent:
    # Opening a pipe blocks and opening a device can act, so the kind is looked at first.
    _refuse_irregular(place.status, path)
    flags = os.O_RDONLY | os.O_NONBLOCK | _SAFELY
    with _opened(place.name, flags, folder=place.folder) as descriptor:
        status = os.fstat(descriptor)
        _refuse_irregular(status, path)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise ModelFault(
            f"{str(path)!r} has {status.st_size} bytes, more than the {limit_bytes} that are read."
        )
    return FileContent(data, _stat_of(status))


def _check_target(place: Place, path: str | Path, expected: FileStat | None) -> None:
    if place.status is None:
        if expected is not None:
            raise ModelFault(f"{str(path)!r} is gone since it was read.")
        return
    _refuse_irregular(place.status, path)
    if place.status.st_nlink > 1:
        raise ModelFault(f"{str(path)!r} has a second hard link, maybe elsewhere; not written.")
    if expected is not None and _stat_of(place.status) != expected:
        raise ModelFault(f"{str(path)!r} has changed since it was read. Read it again.")


def _replace(place: Place, data: bytes) -> None:
    temporary = UNFINISHED_PREFIX + secrets.token_hex(UNFINISHED_DIGITS // 2)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
    # A new file's mode is the umask's affair, an old one's is put back.
    mode = 0o666 if place.status is None else 0o600
    try:
        with _opened(temporary, flags, folder=place.folder, mode=mode) as descriptor:
            if place.status is not None:
                _keep_owner_and_mode(descriptor, place.status)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
            os.fsync(descriptor)
        os.replace(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # it may never have been made
            os.unlink(temporary, dir_fd=place.folder)
        raise
    _sync_folder(place.folder)


def _keep_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.fchown(descriptor, old.st_uid, old.st_gid)
    # Like the kernel at any write, this gives no set-id bit to new content.
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)


def _sync_folder(folder: int) -> None:
    # A folder's own descriptor from the walk can't be synced; one that may not be listed can't
    # be opened for it, and then the file alone is synced.
    with (
        contextlib.suppress(PermissionError),
        _opened(".", os.O_RDONLY | os.O_DIRECTORY | _SAFELY, folder=folder) as descriptor,
    ):
        os.fsync(descriptor)


@contextlib.contextmanager
def _opened(name: str, flags: int, *, folder: int, mode: int = 0o600) -> Iterator[int]:
    descriptor = os.open(name, flags, mode, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "is not a folder, or leads through a file that is none",
    errno.ELOOP: "was swapped for a link meanwhile",
    errno.EACCES: "may not be accessed: permission denied",
    errno.EPERM: "may not be accessed: the system does not permit it",
    errno.ENAMETOOLONG: "is too long",
    errno.ENOSPC: "could not be written: the disk is full",
    errno.EDQUOT: "could not be written: the disk quota is used up",
    errno.EROFS: "can't be written: it lies on a read-only file system",
}


@contextlib.contextmanager
def _faults(path: str | Path) -> Iterator[None]:
    """Turns what the system says into a sentence for the model."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"could not be accessed: {error.strerror}")
        raise ModelFault(f"{str(path)!r} {reason}.") from error


def _refuse_malformed(text: str) -> None:
    if not text:
        raise ModelFault("The path is empty.")
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise ModelFault(f"{text!r} has control characters in it.")
    if _NO_PLAIN_PATH.match(text):
        raise ModelFault(f"{text!r} is not expanded; give a plain path.")
    if _WINDOWS_PATH.match(text):
        raise ModelFault(f"{text!r} is a Windows path; give one relative to the project's folder.")
    try:
        longest = max((len(os.fsencode(name)) for name in split(text)), default=0)
    except UnicodeEncodeError as error:
        raise ModelFault(f"{text!a} is not valid Unicode.") from error
    if longest > _LONGEST_NAME_BYTES:
        raise ModelFault(f"{text[:80]!r}… has a name over {_LONGEST_NAME_BYTES} bytes in it.")


def _refuse_invisible(path: str | Path) -> None:
    if any(unicodedata.category(character) == "Cf" for character in str(path)):
        raise ModelFault(f"{str(path)!a} has invisible characters in it; nothing is written there.")


def _refuse_irregular(status: os.stat_result | None, path: str | Path) -> None:
    if status is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if stat.S_ISDIR(status.st_mode):
        raise ModelFault(f"{str(path)!r} is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise ModelFault(f"{str(path)!r} is not a regular file.")


def _stat_of(status: os.stat_result) -> FileStat:
    return FileStat(
        kind=_kind_of(status.st_mode),
        size_bytes=status.st_size,
        mode=stat.S_IMODE(status.st_mode),
        modified_ns=status.st_mtime_ns,
        inode=status.st_ino,
    )


def _kind_of_entry(entry: os.DirEntry[str]) -> FileKind:
    if entry.is_symlink():
        return FileKind.LINK
    if entry.is_dir(follow_symlinks=False):
        return FileKind.FOLDER
    return FileKind.FILE if entry.is_file(follow_symlinks=False) else FileKind.OTHER


def _kind_of(mode: int) -> FileKind:
    if stat.S_ISREG(mode):
        return FileKind.FILE
    if stat.S_ISDIR(mode):
        return FileKind.FOLDER
    return FileKind.LINK if stat.S_ISLNK(mode) else FileKind.OTHER
