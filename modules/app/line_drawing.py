"""How prompt_toolkit draws the line on our terminal, where that differs from its own way.

1. A terminal that wraps old rows anew when it gets narrower pushes our rows down; after a change of
   width those are taken away as well.
2. Nothing is asked of the terminal that it would have to answer.
"""

import os
from collections.abc import Mapping

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from modules.app.terminal_stream import TerminalStream

_REWRAPPING = (
    *("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "WEZTERM_PANE", "ALACRITTY_WINDOW_ID"),
    *("KONSOLE_VERSION", "WT_SESSION", "TERM_PROGRAM", "GHOSTTY_RESOURCES_DIR"),
)
"""Variables that terminals set which wrap old rows anew."""


def is_rewrapping(variables: Mapping[str, str]) -> bool:
    """Returns whether the terminal is known to wrap old rows anew."""
    return any(variables.get(name) for name in _REWRAPPING)


class LineApplication(Application[None]):
    """Draws the line and what is around it."""

    is_rewrapped = False
    """True on a terminal that wraps old rows anew when it gets narrower."""

    def _on_resize(self) -> None:
        screen = self.renderer.last_rendered_screen
        if self.is_rewrapped and screen is not None:
            columns = self.output.get_size().columns
            cursor = screen.get_cursor_position(self.layout.current_window)
            above = [max(screen.data_buffer[y], default=0) for y in range(cursor.y)]
            self.output.cursor_up(sum(last // columns for last in [*above, cursor.x]))
        super()._on_resize()


class LineOutput(Vt100_Output):
    """Writes to the stream; whoever opened the terminal turns bracketed paste on and off."""

    def __init__(self, stream: TerminalStream) -> None:
        self._descriptor = stream.fileno()
        # prompt_toolkit asks for a text file but only writes to it.
        super().__init__(stream, self._size, enable_cpr=False)  # type: ignore[arg-type]

    def erase_down(self) -> None:
        """Erases from the cursor's row down; it stands at the row's beginning."""
        # tmux keeps in its history what is erased from the very first place of the screen.
        self.write_raw("\x1b7\x1b[K\x1b[B\x1b[J\x1b8")

    def enable_bracketed_paste(self) -> None:
        """Does nothing."""

    def disable_bracketed_paste(self) -> None:
        """Does nothing."""

    def _size(self) -> Size:
        try:
            columns, rows = os.get_terminal_size(self._descriptor)
        except OSError:  # the terminal has gone
            columns, rows = 0, 0
        return Size(rows=rows or 24, columns=columns or 80)
