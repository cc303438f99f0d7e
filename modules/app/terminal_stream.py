"""Writes to a terminal, at once and whole, for as long as it is there.

1. What is written while the stream is held goes out in one piece, so nothing is seen half drawn.
2. A terminal that has gone takes nothing and raises nothing: whoever writes to it has work to end.
"""

import errno
import os
import select

_GONE = (errno.EIO, errno.EPIPE, errno.EBADF, errno.ENXIO)


class TerminalStream:
    """The writing end of a terminal."""

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held: list[str] | None = None
        self.is_gone = False
        """True once the terminal was found to be gone."""

    def fileno(self) -> int:
        """Returns the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Returns True."""
        return True

    def write(self, text: str) -> int:
        """Writes text."""
        if self._held is not None:
            self._held.append(text)
        else:
            self._send(text)
        return len(text)

    def flush(self) -> None:
        """Does nothing: nothing is kept back."""

    def hold(self) -> None:
        """Keeps back what is written from now on."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Writes what was kept back."""
        if self._held is not None:
            text, self._held = "".join(self._held), None
            self._send(text)

    def _send(self, text: str) -> None:
        data = text.encode(self.encoding, "replace")
        while data and not self.is_gone:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # somebody else made the terminal so
                select.select([], [self._descriptor], [])
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                self.is_gone = True
