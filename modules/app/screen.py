"""What a person reads in the console, above the line they type on.

1. The lead's words come as they arrive: rows that are full are written, the row in the making
   stands just above the line.
2. Of the calls only the lead's own are told, and those of workers that could not be run; what
   else the workers are at can be looked up (/team).
3. Whatever came from a model, a worker or a repository is made visible before it is written.
"""

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

from modules.app.event_words import Teller, Told, Tone
from modules.app.terminal import Terminal
from modules.app.visible_text import visible
from modules.records.events import AnyEvent, CallEnded, CallStarted, RunStarted, TextDelta

LEAD = "lead"
MOST_ECHOED_LINES = 8
_TELL_THEMSELVES = ("board_post_task", "assign_task")
"""Tools whose effect is an event of its own."""
_STYLES = {
    Tone.QUIET: "dim",
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.BAD: "red",
    Tone.WARNING: "yellow",
}


class Screen:
    """Writes to the console's terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._text = StringIO()
        self._console = Console(file=self._text, force_terminal=True, highlight=False)
        self._teller = Teller()
        self.making = ""
        """The row of the lead's words that is not full yet."""

    def show(self, event: AnyEvent) -> None:
        """Shows one event."""
        if isinstance(event, TextDelta):
            if event.agent == LEAD:
                self._say(visible(event.text))
            return
        told = self._teller.tell(event)
        if told is not None and not _is_known(event, told):
            self.line(f"· {told.text}", _STYLES[told.tone])

    def echo(self, words: str) -> None:
        """Shows what the person has sent."""
        if self._terminal.echoes:
            return
        lines = visible(words).split("\n")
        shown = lines if len(lines) <= MOST_ECHOED_LINES + 1 else lines[:MOST_ECHOED_LINES]
        self.end_row()
        for sign, line in zip([">", *" " * len(shown)], shown, strict=False):
            self._print(Text(f"{sign} {line}", style="bold"))
        if len(lines) > len(shown):
            self._print(Text(f"  … {len(lines) - len(shown)} lines more", style="dim"))

    def line(self, text: str, style: str = "") -> None:
        """Shows one line, which may be wrapped; what follows its first row is indented."""
        self.end_row()
        indent = len(text) - len(text.lstrip(" ·")) or 2
        rows = Text(visible(text), style=style).wrap(self._console, max(10, self._columns - indent))
        for number, row in enumerate(rows):
            row.rstrip()
            self._print(row if number == 0 else Text(" " * indent) + row)

    def lines(self, lines: Iterable[str], style: str = "") -> None:
        """Shows several lines."""
        for line in lines:
            self.line(line, style)

    def table(self, table: RenderableType) -> None:
        """Shows something that rich lays out."""
        self.end_row()
        self._print(table)

    def end_row(self) -> None:
        """Writes the row in the making, as it stands."""
        if self.making:
            row, self.making = self.making, ""
            self._print(Text(row))

    def _say(self, text: str) -> None:
        *whole, self.making = (self.making + text).split("\n")
        for line in whole:
            self._print(Text(line))
        *full, last = Text(self.making).wrap(self._console, self._columns - 1) or [Text()]
        for row in full:
            row.rstrip()
            self._print(row)
        self.making = last.plain
        self._terminal.redraw()

    @property
    def _columns(self) -> int:
        return max(20, self._terminal.columns)

    def _print(self, what: RenderableType) -> None:
        self._console.print(what, width=self._columns, overflow="fold")
        self._terminal.write(self._text.getvalue())
        self._text.seek(0)
        self._text.truncate()


def _is_known(event: AnyEvent, told: Told) -> bool:
    """Returns whether the person sees it elsewhere, or can look it up."""
    match event:
        case RunStarted():
            return True
        case CallStarted():
            return event.agent != LEAD or event.tool in _TELL_THEMSELVES
        case CallEnded():
            return event.agent != LEAD and told.tone is Tone.QUIET
        case _:
            return False
