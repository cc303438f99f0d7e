"""The terminal as the console sees it: what a person gives, and what is drawn around their line."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

NEXT_MODE = "/mode next"
"""What Shift-Tab sends."""


@dataclass(frozen=True, slots=True)
class Line:
    """What a person sent with Enter."""

    text: str
    is_pasted: bool = False
    """True when a part of it was pasted, or came as a block."""
    topic: str = ""
    """The topic that was drawn when the line was begun."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Ctrl-C."""

    at: float
    """Seconds of the event loop's clock."""
    has_text: bool
    """True when something was typed and not sent."""


@dataclass(frozen=True, slots=True)
class End:
    """Ctrl-D, or no more input."""


Given = Line | Interrupt | End


@dataclass(frozen=True, slots=True)
class View:
    """What is drawn around the line a person types on; each part is at most one row."""

    making: str = ""
    """What is being said and not yet ended, above the line."""
    asks: str = ""
    """The question that waits, above the line."""
    sign: str = "> "
    status: str = ""
    """Below the line."""
    topic: str = ""
    """Id of the question; a line begun under another topic does not answer it."""
    is_busy: bool = False
    """True while the lead is at a turn."""


class Terminal(Protocol):
    """A terminal with a person at it."""

    view: Callable[[], View]
    """Asked for whenever the line is drawn."""
    echoes: bool
    """True when what was sent stays on the screen by itself."""

    @property
    def columns(self) -> int:
        """How wide it is now."""
        ...

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Takes the terminal, and gives it back as it was."""
        ...

    async def next(self) -> Given:
        """Returns what the person gives next."""
        ...

    def write(self, text: str) -> None:
        """Writes whole lines above the line; they may hold styles."""
        ...

    def redraw(self) -> None:
        """Draws what is around the line anew."""
        ...

    def clear(self) -> None:
        """Takes back what was typed and not sent."""
        ...

    def interrupt(self) -> None:
        """Takes in a SIGINT as if Ctrl-C were typed."""
        ...

    async def close(self) -> None:
        """Gives the terminal back; what is written after that stands where the line was."""
        ...
