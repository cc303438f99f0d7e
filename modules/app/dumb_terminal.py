"""A terminal that can't move its cursor (TERM=dumb, an editor's shell): lines in, lines out.

1. No escape sequence is written and the terminal's own line editing is left on.
2. Lines that arrive together are a pasted block.
3. Ctrl-C is the terminal's own: it takes the typed line back and comes as SIGINT.
"""

import asyncio
import contextlib
import os
import select
from collections.abc import AsyncIterator, Callable

from modules.app.terminal import End, Given, Interrupt, Line, View
from modules.app.terminal_stream import TerminalStream

_QUIET_SECONDS = 0.1
_MOST_BYTES = 65_536
"""The kernel gives one line of at most 4,096 bytes a read."""


class DumbTerminal:
    """A terminal of lines; see modules.app.terminal.Terminal."""

    echoes = True

    def __init__(self, stream: TerminalStream, descriptor: int) -> None:
        self.view: Callable[[], View] = View
        self._stream = stream
        self._descriptor = descriptor
        self._given: asyncio.Queue[Given] = asyncio.Queue()
        self._signed = ""
        """The sign that stands on the last row, waiting for the person."""
        self._topic = ""
        self._is_open = False
        self._is_sign_due = False

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except OSError:  # the terminal has gone
            return 80

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Reads lines until it is closed."""
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        self._is_open = True
        self.redraw()
        try:
            yield
        finally:
            await self.close()

    async def next(self) -> Given:
        """Returns what the person gives next."""
        return await self._given.get()

    def write(self, text: str) -> None:
        """Writes whole lines."""
        line_break, self._signed = "\n" if self._signed else "", ""
        self._stream.write(line_break + text)
        self.redraw()

    def redraw(self) -> None:
        """Writes the sign, once nothing more comes, where the person may type and none stands."""
        self._topic = self.view().topic
        if self._is_open and not self._is_sign_due:
            self._is_sign_due = True
            asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._sign)

    def clear(self) -> None:
        """Does nothing: the terminal takes the line back itself."""

    def interrupt(self) -> None:
        """Takes in a SIGINT."""
        now = asyncio.get_running_loop().time()
        self._given.put_nowait(Interrupt(at=now, has_text=False))

    async def close(self) -> None:
        """Reads no more."""
        if self._is_open:
            self._is_open = False
            asyncio.get_running_loop().remove_reader(self._descriptor)

    def _sign(self) -> None:
        self._is_sign_due = False
        view = self.view()
        sign = f"{view.asks}\n{view.sign}" if view.asks else view.sign
        may_type = not view.making and (view.topic or not view.is_busy)
        if self._is_open and may_type and self._signed != sign:
            self._stream.write(("\n" if self._signed else "") + sign)
            self._signed = sign

    def _read(self) -> None:
        data, is_over = self._everything()
        if data:
            text = data.decode(errors="replace").rstrip("\n")
            self._signed = ""
            self._given.put_nowait(Line(text=text, is_pasted="\n" in text, topic=self._topic))
        if is_over:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._given.put_nowait(End())

    def _everything(self) -> tuple[bytes, bool]:
        """Returns all that can be read at once, and whether the input is over."""
        data = b""
        while select.select([self._descriptor], [], [], 0)[0]:
            try:
                more = os.read(self._descriptor, _MOST_BYTES)
            except OSError:  # the terminal has gone
                more = b""
            if not more:
                return data, True
            data += more
        return data, False
