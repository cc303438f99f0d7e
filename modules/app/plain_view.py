"""Shows a run as plain lines, for pipes, logs and runs without a person."""

from collections.abc import Callable
from typing import TextIO

from modules.app.event_words import Teller
from modules.app.visible_text import visible
from modules.records.events import AnyEvent, TextDelta

LEAD = "lead"


class PlainView:
    """Writes one line an event; the lead's words run on as they arrive.

    `on_gone` is called once when nobody reads any more; nothing is written after that.
    """

    def __init__(self, stream: TextIO, on_gone: Callable[[], object]) -> None:
        self._stream = stream
        self._on_gone = on_gone
        self._is_gone = False
        self._is_in_words = False
        self._teller = Teller()

    def show(self, event: AnyEvent) -> None:
        """Shows one event."""
        if isinstance(event, TextDelta):
            if event.agent == LEAD:
                self._write(visible(event.text))
                self._is_in_words = not event.text.endswith("\n")
            return
        told = self._teller.tell(event)
        if told is not None:
            self.end_line()
            self._write(f"· {told.text}\n")

    def end_line(self) -> None:
        """Ends the lead's line, when they are in one."""
        if self._is_in_words:
            self._is_in_words = False
            self._write("\n")

    def _write(self, text: str) -> None:
        if self._is_gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            self._is_gone = True
            self._on_gone()
