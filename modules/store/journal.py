"""Append-only files of records: one JSON object a line.

1. A record counts once its line is whole, line break included; readers take only whole lines.
2. A writer catches up first, takes the lock, catches up again, decides, appends, syncs.
3. What a crash in mid-write left behind the last line break is settled by the next writer: a whole
   object gets its line break, anything else is set aside in `<name>.torn` with one warning, and
   never glued to what comes after.
4. A whole line that can't be read is skipped, counted and warned of; it is never rewritten. NUL
   bytes before a record (a block a power cut never filled) don't cost the record.
5. Nothing rewrites history. A file that got shorter or was deleted is an error, not an empty
   journal.
6. Text that is no valid Unicode is written with U+FFFD in its place.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.record import Record, to_json
from modules.store.files import sync_folder
from modules.store.locks import locked

_log = logging.getLogger(__name__)
RecordT = TypeVar("RecordT", bound=Record)


class Journal(Generic[RecordT]):
    """One journal as one process sees it: what it has read so far, and the way to append.

    `apply` is called once for every record, in file order, own appends included, and must not use
    the journal. The threads of a process may share it.
    """

    def __init__(
        self, path: Path, record_type: object, *, apply: Callable[[RecordT], None]
    ) -> None:
        self._path = path
        self._apply = apply
        self._decoder: msgspec.json.Decoder[RecordT] = msgspec.json.Decoder(record_type)
        self._offset = 0
        self._descriptor: int | None = None
        self._is_name_new = False
        """True until the name of a file made here is on disk, too."""
        # The kernel's lock belongs to the open file, so it does not part threads of one process.
        self._in_use = threading.RLock()
        self.skipped_lines = 0
        """Whole lines that could not be read as a record."""

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def catch_up(self) -> None:
        """Applies every whole line that was written since the last look."""
        with self._in_use:
            try:
                descriptor = self._open(create=False)
            except FileNotFoundError:
                return
            self._read_from(descriptor)

    def append(self, decide: Callable[[], Sequence[RecordT]], *, sync: bool = True) -> None:
        """Appends what `decide` returns, decided on the newest state under the lock.

        Whatever `decide` raises passes through and nothing is written. Raises PersonFault when the
        disk does not take it; of several records the first ones may be written then.
        """
        with self._in_use:
            descriptor = self._open(create=True)
            self._read_from(descriptor)
            with locked(descriptor):
                self._read_from(descriptor)
                self._settle_tail(descriptor)
                records = decide()
                if records:
                    self._write(
                        descriptor,
                        b"".join(to_json(record) + b"\n" for record in records),
                        sync=sync,
                    )
                    self._read_from(descriptor)

    def sync(self) -> None:
        """Returns once all that was appended is on disk; others may append meanwhile.

        Raises PersonFault when the disk does not take it.
        """
        with self._in_use:
            descriptor = self._descriptor
        if descriptor is not None:
            try:
                self._sync_written(descriptor)
            except OSError as error:
                raise self._unwritable(error) from error

    def close(self) -> None:
        """Closes the file; no sync may be under way."""
        with self._in_use:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _open(self, *, create: bool) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = self._opened(create=create)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise PersonFault(
                    f"The journal {self._path} can't be opened: {error.strerror}.",
                    hint="Make it a file of your own that you may read and write.",
                    exit_code=Exit.FAILED,
                ) from error
        return self._descriptor

    def _opened(self, *, create: bool) -> int:
        # A link planted in a repository must not lead to a file elsewhere.
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(self._path, flags)
        except FileNotFoundError:
            if not create:
                raise
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, flags | os.O_CREAT, 0o644)
        self._is_name_new = True
        return descriptor

    def _read_from(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if status.st_size < self._offset or status.st_nlink == 0:
            trouble = "was deleted" if status.st_nlink == 0 else "got shorter"
            raise PersonFault(
                f"The journal {self._path} {trouble} while it was in use.",
                hint="Restore it from refs/crewyard/state; nothing was written.",
                exit_code=Exit.FAILED,
            )
        whole, line_break, _ = os.pread(
            descriptor, status.st_size - self._offset, self._offset
        ).rpartition(b"\n")
        if not line_break:
            return
        for line in whole.split(b"\n"):
            self._offset += len(line) + 1
            self._apply_line(line)

    def _apply_line(self, line: bytes) -> None:
        try:
            record = self._decoder.decode(line.lstrip(b"\0"))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self.skipped_lines += 1
            _log.warning("%s: a line was skipped: %s: %r", self._path, error, line[:80])
            return
        self._apply(record)

    def _settle_tail(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, size - self._offset, self._offset)
        if not tail:
            return
        if _is_object(tail.lstrip(b"\0")):
            self._write(descriptor, b"\n", sync=True)
            self._read_from(descriptor)
            return
        aside = self._path.with_name(self._path.name + ".torn")
        with aside.open("ab") as file:
            file.write(tail + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(descriptor, self._offset)
        _log.warning("%s: a torn last line was set aside in %s", self._path, aside.name)

    def _write(self, descriptor: int, data: bytes, *, sync: bool) -> None:
        start = os.fstat(descriptor).st_size
        written = 0
        try:
            while written < len(data):
                written += os.write(descriptor, data[written:])
            if sync:
                self._sync_written(descriptor)
        except OSError as error:
            # Half a line is taken back. Whole ones stay: a reader may have taken them already.
            os.ftruncate(descriptor, start + data.rfind(b"\n", 0, written) + 1)
            raise self._unwritable(error) from error

    def _sync_written(self, descriptor: int) -> None:
        os.fsync(descriptor)
        if self._is_name_new:
            sync_folder(self._path.parent)
            self._is_name_new = False

    def _unwritable(self, error: OSError) -> PersonFault:
        return PersonFault(
            f"The journal {self._path} can't be written: {error.strerror}.",
            hint="Make room on that disk and start again.",
            exit_code=Exit.FAILED,
        )


def _is_object(data: bytes) -> bool:
    """Returns whether `data` is a JSON object to its end; no beginning of an object is one."""
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
