"""Takes objects that git made in a jailed lane into the repository.

1. Such a git writes its objects into a folder of the lane's own. Nobody else reads that folder, and
   no other object is within the reach of those who write to it.
2. Only what is whole and is what its name says is taken in. The bytes that were looked at are
   copied: a file that others hold open could still change.
3. An object leaves the lane's folder once the repository has it. What can't be taken in stays, and
   goes with the folder.
4. git writes a branch or an index after the objects in it. So whoever takes in after having read
   one finds its objects.
5. A folder goes when its lane is gone, after all in it was taken in.
"""

import contextlib
import hashlib
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from modules.git.run_git import GitFault
from modules.store.mirror import mirror
from modules.store.paths import lane_objects, seen_packed_refs
from modules.store.removal import remove_tree

_FOLDER = re.compile(r"[0-9a-f]{2}")
_FILE = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}")
_HEADER = re.compile(rb"(?:blob|tree|commit|tag) (0|[1-9][0-9]*)\0")
_LONGEST_HEADER = 40
_CHUNK_BYTES = 1 << 18
_MODE = 0o444
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_UNFINISHED = "tmp_obj_"
"""How git calls what it has not finished; its own pruning removes what is left of these."""


def take_in(common_dir: Path, name: str) -> None:
    """Takes in what the lane that git knows as `name` has made; blocks.

    Raises GitFault when the repository can't be written to.
    """
    try:
        with _opened_folder(str(lane_objects(common_dir) / name)) as source:
            for folder in _names_in(source, _FOLDER):
                with _opened_folder(folder, source) as descriptor:
                    for file in _names_in(descriptor, _FILE):
                        _take(descriptor, file, common_dir / "objects" / folder)
    except OSError as error:
        raise GitFault(("unpack-objects", name), code=None, stderr=str(error)) from error


def show_packed_refs(common_dir: Path) -> None:
    """Lets jails see the packed refs as they are now; git outside may pack the lanes' branches."""
    mirror(common_dir / "packed-refs", seen_packed_refs(common_dir))


def take_in_all(common_dir: Path) -> None:
    """Takes in what every lane has made; what goes wrong with one is left to who looks at it."""
    for name in _names(common_dir):
        with contextlib.suppress(GitFault):
            take_in(common_dir, name)


def drop(common_dir: Path, name: str) -> None:
    """Removes the folder of a lane that is gone, once all in it was taken in."""
    folder = lane_objects(common_dir) / name
    if folder.is_dir():
        take_in(common_dir, name)
        remove_tree(folder)


def drop_left_over(common_dir: Path) -> None:
    """Removes the folders of lanes that are gone, but those from which not all can be taken in.

    Only the lead may, for it is who makes these folders.
    """
    for name in _names(common_dir):
        if not (common_dir / "worktrees" / name).exists():
            with contextlib.suppress(GitFault):
                drop(common_dir, name)
    if not _names(common_dir):
        seen_packed_refs(common_dir).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):  # The usual case: no jail was ever made.
            lane_objects(common_dir).rmdir()


def _names(common_dir: Path) -> list[str]:
    try:
        return sorted(os.listdir(lane_objects(common_dir)))  # noqa: PTH208 - names alone
    except FileNotFoundError:
        return []


def _names_in(folder: int, pattern: "re.Pattern[str]") -> list[str]:
    return [] if folder < 0 else [name for name in os.listdir(folder) if pattern.fullmatch(name)]


@contextlib.contextmanager
def _opened_folder(path: str, within: int | None = None) -> Iterator[int]:
    """Opens a real folder; -1 for a link that somebody put there, one closed to us, or nothing."""
    try:
        descriptor = os.open(path, _FOLDER_FLAGS, dir_fd=within)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        yield -1
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _take(folder: int, name: str, target: Path) -> None:
    """Takes in one object, if it is what its name says."""
    if os.path.lexists(target / name) or _take_copy(folder, name, target):
        # Another may have taken it in at the same time, or what has its name is no file at all.
        with contextlib.suppress(FileNotFoundError, IsADirectoryError, PermissionError):
            os.unlink(name, dir_fd=folder)


def _take_copy(folder: int, name: str, target: Path) -> bool:
    try:
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    except OSError:
        return False  # a link, a socket, or taken in by another
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        _make_folder(target)
        copy = target / f"{_UNFINISHED}{secrets.token_hex(8)}"
        with open(descriptor, "rb", closefd=False) as source:
            return _take_file(source, copy, target / name)
    finally:
        os.close(descriptor)


def _take_file(source: BinaryIO, copy: Path, target: Path) -> bool:
    try:
        with copy.open("xb") as out:
            is_sound = _copy(source, out, target.parent.name + target.name)
            os.fchmod(out.fileno(), _MODE)
        if is_sound:
            copy.rename(target)
        return is_sound
    finally:
        copy.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        # So that a repository shared by a group stays so.
        folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode))


def _copy(source: BinaryIO, out: BinaryIO, object_id: str) -> bool:
    """Copies a file of one object; returns whether it is whole and what `object_id` says."""
    digest = hashlib.sha1() if len(object_id) == 40 else hashlib.sha256()
    head, size = b"", 0
    try:
        for data in _unpacked(source, out):
            digest.update(data)
            size += len(data)
            head += data[: _LONGEST_HEADER - len(head)]
            if size > _LONGEST_HEADER and size > _said_size(head):
                # What follows may unpack to a thousand times what it takes.
                return False
    except zlib.error:
        return False
    return size == _said_size(head) and digest.hexdigest() == object_id


def _said_size(head: bytes) -> int:
    """Returns how long an object is, its header included, by that header; -1 where it is none."""
    header = _HEADER.match(head)
    return -1 if header is None else len(header[0]) + int(header[1])


def _unpacked(source: BinaryIO, out: BinaryIO) -> Iterator[bytes]:
    """Copies `source` and gives its content in parts; raises zlib.error for what is none."""
    unpacker = zlib.decompressobj()
    while packed := source.read(_CHUNK_BYTES):
        out.write(packed)
        while packed:
            yield unpacker.decompress(packed, _CHUNK_BYTES)
            packed = unpacker.unconsumed_tail
    yield unpacker.flush()
    if not unpacker.eof or unpacker.unused_data:
        raise zlib.error("It ends too early or too late.")
