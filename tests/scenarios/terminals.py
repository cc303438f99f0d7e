"""A person at a terminal: runs the program on a pseudo-terminal and reads its screen."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyte

from tests.scenarios.programs import command

LIMIT_SECONDS = 60.0
PASTE = "\x1b[200~{}\x1b[201~"
ENTER = "\r"
CTRL_C = "\x03"
CTRL_D = "\x04"
LEFT = "\x1b[D"
BACKSPACE = "\x7f"


class Console:
    """The program on a terminal, with what it shows and all bytes it has written."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", ours: int, theirs: int, columns: int, rows: int
    ) -> None:
        self.process = process
        self._ours = ours
        self._theirs = theirs
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.modes_before = termios.tcgetattr(theirs)

    @property
    def lines(self) -> list[str]:
        """What stands on the screen, without empty rows at its end."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(self.lines)

    def type(self, keys: str) -> None:
        """Types keys."""
        os.write(self._ours, keys.encode())

    def say(self, words: str) -> None:
        """Types words and Enter."""
        self.type(words + ENTER)

    def sees(self, *words: str) -> None:
        """Waits until all the words stand on the screen, wherever it breaks their lines."""
        self.waits(
            lambda: all(_in_one_line(word) in _in_one_line(self.text) for word in words),
            f"{words!r}",
        )

    def waits(self, is_so: Callable[[], bool], what: str) -> None:
        """Waits until something is so, reading what the program writes."""
        end = time.monotonic() + LIMIT_SECONDS
        while not is_so():
            if time.monotonic() > end:
                raise AssertionError(f"never: {what}; the screen is\n{self.text}")
            self.reads(0.05)

    def reads(self, seconds: float) -> None:
        """Takes in what the program writes, waiting at most so long for it."""
        if select.select([self._ours], [], [], seconds)[0]:
            try:
                data = os.read(self._ours, 65_536)
            except OSError:  # nobody has the other end open any more
                return
            self.written += data
            self._stream.feed(data)

    def settles(self) -> None:
        """Waits until the program writes nothing for a while."""
        while True:
            before = len(self.written)
            self.reads(0.5)
            if len(self.written) == before:
                return

    def resizes(self, columns: int, rows: int) -> None:
        """Gives the terminal another size."""
        self.screen.resize(rows, columns)
        set_size(self._ours, columns, rows)

    def hangs_up(self) -> None:
        """Closes the terminal's window."""
        os.close(self._theirs)
        os.close(self._ours)
        self._ours = self._theirs = -1

    def ends(self) -> int:
        """Waits for the program's end; returns its exit code."""
        end = time.monotonic() + LIMIT_SECONDS
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"it does not end; the screen is\n{self.text}")
            if self._ours >= 0:
                self.reads(0.05)
            else:
                time.sleep(0.05)
        while self._ours >= 0 and select.select([self._ours], [], [], 0)[0]:
            self.reads(0)
        return self.process.returncode

    def assert_given_back(self) -> None:
        """Fails when the terminal is not as it was before the program began."""
        assert termios.tcgetattr(self._theirs) == self.modes_before
        assert self.written.rfind(b"\x1b[?2004l") >= self.written.rfind(b"\x1b[?2004h")
        assert self.written.rfind(b"\x1b[?25h") >= self.written.rfind(b"\x1b[?25l")

    def close(self) -> None:
        """Kills what is left."""
        with contextlib.suppress(ProcessLookupError):  # it has ended, as it should
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for descriptor in {self._ours, self._theirs} - {-1}:
            os.close(descriptor)


@contextlib.contextmanager
def console(
    *arguments: str,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    columns: int = 100,
    rows: int = 50,
    program: Sequence[str] = (),
) -> Iterator[Console]:
    """Starts the program on a terminal of its own, as the leader of its session."""
    ours, theirs = pty.openpty()
    set_size(ours, columns, rows)
    process = subprocess.Popen(
        program or command(*arguments),
        cwd=cwd,
        env={**os.environ, "TERM": "xterm-256color", **(environment or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    it = Console(process, ours, theirs, columns, rows)
    try:
        yield it
    finally:
        it.close()


def set_size(descriptor: int, columns: int, rows: int) -> None:
    """Sets a terminal's size; its foreground process hears of it."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _in_one_line(text: str) -> str:
    """Returns `text` with one blank for each run of blanks and line breaks."""
    return " ".join(text.split())
