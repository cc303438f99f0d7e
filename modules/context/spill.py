"""Cuts long text to both of its ends and keeps the whole of it in a file.

1. Text of at most `limit` characters is left alone, and no file is made.
2. Longer text keeps its two ends, half of `limit` each; a tail that looks like an error gets 7/10.
3. The note between the ends tells exactly how many characters are missing, and in which file they
   are, in the words of whoever knows where the reader finds it. The note does not count towards
   `limit`.
4. A file takes FILE_LIMIT_BYTES at most; the note says so when it was full.
5. When the file can't be written the ends are shown all the same, and the note says why.
"""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

FILE_LIMIT_BYTES = 10_000_000
KEPT_FOR = timedelta(days=7)
ERROR_TAIL_SHARE = 0.7
ERROR_WINDOW = 2_000  # characters at the end that are searched for words of failure
_ERROR = re.compile(r"error|exception|traceback|fail(ed|ure)|fatal|panic|abort|denied", re.I)
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def bound_output(
    text: str,
    *,
    limit: int,
    spill_folder: Path,
    name: str,
    where: Callable[[Path], str] = str,
) -> str:
    """Returns `text`, or its two ends with a note on the file that holds all of it.

    `name` is the stem of that file; a number is added when it is taken. `where` returns where the
    reader finds the file, once it is whole.
    """
    bounded = BoundedText(limit=limit, spill_folder=spill_folder, name=name)
    bounded.add(text)
    return bounded.finish(where)


class BoundedText:
    """A text that comes in pieces and of which both ends are kept in memory."""

    def __init__(self, *, limit: int, spill_folder: Path, name: str) -> None:
        self._limit = limit
        self._spill = _Spill(spill_folder, name)
        self._head = ""
        self._tail: list[str] = []
        self._tail_length = 0
        self._length = 0

    def add(self, text: str) -> None:
        """Takes the next piece."""
        room = self._limit - len(self._head)
        kept, rest = text[:room], text[room:]
        self._head += kept
        self._length += len(text)
        if rest:
            self._spill.begin_with(self._head)
            self._spill.write(rest)
            self._keep_tail(rest)

    def finish(self, where: Callable[[Path], str] = str) -> str:
        """Returns what is to be shown, and closes the file."""
        note = self._spill.finish(where)
        if self._length <= self._limit:
            return self._head
        ends = self._head + "".join(self._tail)
        tail_length = self._limit - self._limit // 2
        if _ERROR.search(ends[-min(ERROR_WINDOW, tail_length) :]):
            tail_length = int(self._limit * ERROR_TAIL_SHARE)
        head = ends[: self._limit - tail_length]
        tail = ends[-tail_length:]
        omitted = self._length - self._limit
        return f"{head}\n[{omitted} characters omitted; {note}]\n{tail}"

    def _keep_tail(self, text: str) -> None:
        self._tail.append(text)
        self._tail_length += len(text)
        # Joined only when twice too long, so that many small pieces stay cheap.
        if self._tail_length > 2 * self._limit:
            self._tail = ["".join(self._tail)[-self._limit :]]
            self._tail_length = self._limit


def sweep_spills(folder: Path, *, now: datetime) -> int:
    """Deletes the files of `folder` that were last written over KEPT_FOR ago; returns how many."""
    oldest = (now - KEPT_FOR).timestamp()
    expired = [path for path in folder.glob("*.txt") if path.lstat().st_mtime < oldest]
    for path in expired:
        path.unlink()
    return len(expired)


class _Spill:
    """The file that takes all of a text once it proves too long."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._stem = _UNSAFE_IN_NAME.sub("_", name)[:80] or "output"
        self._file: BinaryIO | None = None
        self._path = folder
        self._room = FILE_LIMIT_BYTES
        self._fault = ""

    def begin_with(self, text: str) -> None:
        """Makes the file and writes what came before; does nothing the second time."""
        if self._file is not None or self._fault:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._path, self._file = self._create()
        except OSError as error:
            self._fault = error.strerror or str(error)
            return
        self.write(text)

    def write(self, text: str) -> None:
        """Writes the next piece, as far as there is room."""
        if self._file is None or not self._room:
            return
        data = text.encode(errors="replace")
        try:
            self._file.write(data[: self._room])
        except OSError as error:
            self._give_up(error)
            return
        self._room -= min(self._room, len(data))

    def finish(self, where: Callable[[Path], str]) -> str:
        """Closes the file and returns where the whole text is, in words."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._give_up(error)
        if self._fault:
            return f"they could not be kept in a file: {self._fault}"
        if self._file is None:
            return ""
        if not self._room:
            return f"the first {FILE_LIMIT_BYTES // 1_000_000} MB are in {where(self._path)}"
        return f"the whole text is in {where(self._path)}"

    def _create(self) -> tuple[Path, BinaryIO]:
        for path in self._names():
            # A name may be taken by an earlier run; "x" also refuses to follow a planted link.
            with contextlib.suppress(FileExistsError):
                return path, path.open("xb")
        raise AssertionError("the names never end")

    def _names(self) -> Iterator[Path]:
        yield self._folder / f"{self._stem}.txt"
        for number in itertools.count(2):
            yield self._folder / f"{self._stem}-{number}.txt"

    def _give_up(self, error: OSError) -> None:
        self._fault = error.strerror or str(error)
        # What is still buffered can't be written either; half a file would be taken for the whole.
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink()
        self._file = None
