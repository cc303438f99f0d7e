"""A terminal without a screen: a test puts in what a person gives, and reads what was written."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from rich.text import Text

from modules.app.terminal import Given, Line, View


class FakeTerminal:
    """Remembers everything; see modules.app.terminal.Terminal."""

    echoes = False

    def __init__(self, *given: Given, columns: int = 80) -> None:
        self.view: Callable[[], View] = View
        self.columns = columns
        self.written = ""
        self.is_cleared = False
        self._given: asyncio.Queue[Given] = asyncio.Queue()
        self._is_written = asyncio.Event()
        for one in given:
            self.give(one)

    @property
    def text(self) -> str:
        """What was written, without styles."""
        return Text.from_ansi(self.written).plain

    @property
    def lines(self) -> list[str]:
        """The lines that were written, without styles."""
        return self.text.splitlines()

    def give(self, given: Given) -> None:
        """Gives something as a person would."""
        self._given.put_nowait(given)

    def say(self, text: str, *, is_pasted: bool = False) -> None:
        """Sends a line that was begun now."""
        self.give(Line(text=text, is_pasted=is_pasted, topic=self.view().topic))

    async def sees(self, words: str) -> None:
        """Waits until the words are written."""
        async with asyncio.timeout(10):
            while words not in self.text:
                self._is_written.clear()
                await self._is_written.wait()

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Does nothing."""
        yield

    async def next(self) -> Given:
        """Returns what was put in next."""
        return await self._given.get()

    def write(self, text: str) -> None:
        """Remembers the text."""
        self.written += text
        self._is_written.set()

    def redraw(self) -> None:
        """Asks for the view, as a terminal does."""
        self.view()

    def clear(self) -> None:
        """Remembers that it was called."""
        self.is_cleared = True

    def interrupt(self) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""
