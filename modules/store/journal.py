"""Append-only files of records: one JSON object a line.

1. A record counts once its line is whole, line break included; readers take only whole lines.
2. A writer catches up first, takes the lock, catches up again, decides, appends, syncs.
3. A torn tail (a crash in mid-write) is set aside in `<name>.torn` by the next writer, with one
   warning, and never glued to what comes after.
4. A whole line that can't be read is skipped, counted and warned of; it is never rewritten.
5. Nothing rewrites history. A file that got shorter is an error, not an empty journal.
"""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.store.locks import locked

_log = logging.getLogger(__name__)
RecordT = TypeVar("RecordT")


class Journal(Generic[RecordT]):
    """One journal as one process sees it: what it has read so far, and the way to append.

    `apply` is called once for every record, in file order, own appends included.
    """

    def __init__(
        self, path: Path, record_type: object, *, apply: Callable[[RecordT], None]
    ) -> None:
        self._path = path
        self._apply = apply
        self._decoder: msgspec.json.Decoder[RecordT] = msgspec.json.Decoder(record_type)
        self._encoder = msgspec.json.Encoder()
        self._offset = 0
        self._descriptor: int | None = None
        self.skipped_lines = 0
        """Whole lines that could not be read as a record."""

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def catch_up(self) -> None:
        """Applies every whole line that was written since the last look."""
        try:
            descriptor = self._open(create=False)
        except FileNotFoundError:
            return
        self._read_from(descriptor)

    def append(self, decide: Callable[[], Sequence[RecordT]], *, sync: bool = True) -> None:
        """Appends what `decide` returns, decided on the newest state under the lock.

        Whatever `decide` raises passes through and nothing is written.
        """
        descriptor = self._open(create=True)
        self._read_from(descriptor)
        with locked(descriptor):
            self._read_from(descriptor)
            self._set_torn_tail_aside(descriptor)
            records = decide()
            if not records:
                return
            data = b"".join(self._encoder.encode(record) + b"\n" for record in records)
            self._write_whole(descriptor, data)
            if sync:
                os.fsync(descriptor)
            self._offset += len(data)
        for record in records:
            self._apply(record)

    def close(self) -> None:
        """Closes the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self, *, create: bool) -> int:
        if self._descriptor is None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
            if create:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                flags |= os.O_CREAT
            try:
                self._descriptor = os.open(self._path, flags, 0o644)
            except PermissionError as error:
                raise PersonFault(
                    f"The journal {self._path} can't be opened: {error.strerror}.",
                    hint="Give yourself the right to read and write it.",
                    exit_code=Exit.FAILED,
                ) from error
        return self._descriptor

    def _read_from(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size < self._offset:
            raise PersonFault(
                f"The journal {self._path} got shorter while it was in use.",
                hint="Restore it from refs/crewyard/state; nothing was written.",
                exit_code=Exit.FAILED,
            )
        while self._offset < size:
            chunk = os.pread(descriptor, size - self._offset, self._offset)
            whole = chunk[: chunk.rfind(b"\n") + 1]
            if not whole:
                return
            self._offset += len(whole)
            for line in whole.splitlines():
                self._apply_line(line)

    def _apply_line(self, line: bytes) -> None:
        try:
            record = self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.skipped_lines += 1
            _log.warning("%s: a line was skipped: %s: %r", self._path, error, line[:80])
            return
        self._apply(record)

    def _set_torn_tail_aside(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size == self._offset:
            return
        tail = os.pread(descriptor, size - self._offset, self._offset)
        aside = self._path.with_name(self._path.name + ".torn")
        with aside.open("ab") as file:
            file.write(tail + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(descriptor, self._offset)
        _log.warning("%s: a torn last line was set aside in %s", self._path, aside.name)

    def _write_whole(self, descriptor: int, data: bytes) -> None:
        start = self._offset
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError:
            # A full disk leaves a part of the line; take it back so nothing half counts.
            os.ftruncate(descriptor, start)
            raise
