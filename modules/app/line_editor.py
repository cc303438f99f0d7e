"""The line a person types on, by prompt_toolkit, with everything else written above it.

1. What is written goes above the line in one piece with the line drawn anew, so neither is seen
   torn; bursts are joined into a few drawings a second. Keys are drawn at once.
2. A pasted block is one piece of text, control characters taken out, and marks the whole line.
3. Cursor and deletions go by clusters (clusters.py).
4. Bracketed paste is on from the first drawing to the last, also while the line is drawn anew.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Mapping

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.styles import Style

from modules.app.cluster_editing import ShownClusters, cluster_keys
from modules.app.line_drawing import LineApplication, LineOutput, is_rewrapping
from modules.app.terminal import NEXT_MODE, End, Given, Interrupt, Line, View
from modules.app.terminal_stream import TerminalStream

DRAWINGS_APART_SECONDS = 0.03
MOST_ROWS = 10
"""Rows a long text takes on the screen while it is typed."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLE = Style.from_dict({"asks": "bold ansiyellow", "sign": "bold", "status": "dim"})
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"


class LineEditor:
    """A terminal with a line to type on; see modules.app.terminal.Terminal."""

    echoes = False

    def __init__(
        self, stream: TerminalStream, keys: Vt100Input, variables: Mapping[str, str]
    ) -> None:
        self.view: Callable[[], View] = View
        self._stream = stream
        self._given: asyncio.Queue[Given] = asyncio.Queue()
        self._shown = View()
        self._begun: Line | None = None
        """What is known of the line in the making; None while it is empty."""
        self._buffer = Buffer(on_text_changed=lambda _: self._text_changed())
        self._output = LineOutput(stream)
        self._app = LineApplication(
            layout=self._layout(),
            key_bindings=merge_key_bindings([cluster_keys(self._buffer), self._keys()]),
            style=_STYLE,
            include_default_pygments_style=False,
            color_depth=ColorDepth.DEPTH_1_BIT
            if variables.get("NO_COLOR")
            else ColorDepth.DEPTH_4_BIT,
            erase_when_done=True,
            max_render_postpone_time=None,
            terminal_size_polling_interval=None,
            before_render=lambda _: self._look(),
            after_render=lambda _: self._drawn(),
            input=keys,
            output=self._output,
        )
        self._app.is_rewrapped = is_rewrapping(variables)
        self._running: asyncio.Task[None] | None = None
        self._is_drawn = asyncio.Event()
        self._writing: list[str] = []
        self._is_drawing_due = False
        self._drawn_at = 0.0

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return self._output.get_size().columns

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Takes the terminal, and gives it back as it was."""
        self._stream.write(_PASTE_ON)
        self._running = asyncio.create_task(self._run())
        try:
            await self._is_drawn.wait()
            yield
        finally:
            await self.close()

    async def next(self) -> Given:
        """Returns what the person gives next."""
        return await self._given.get()

    def write(self, text: str) -> None:
        """Writes whole lines above the line; they may hold styles."""
        self._writing.append(text)
        self._draw_soon()

    def redraw(self) -> None:
        """Draws what is around the line anew."""
        self._draw_soon()

    def clear(self) -> None:
        """Takes back what was typed and not sent."""
        self._buffer.reset()
        self._app.invalidate()

    def interrupt(self) -> None:
        """Takes in Ctrl-C."""
        now = asyncio.get_running_loop().time()
        self._given.put_nowait(Interrupt(at=now, has_text=bool(self._buffer.text)))

    async def close(self) -> None:
        """Gives the terminal back; what is written after that stands where the line was."""
        if self._running is None:
            return
        running, self._running = self._running, None
        if self._app.is_running and not self._app.is_done:
            self._app.exit()
        try:
            await running
        finally:
            self._stream.release()
            self._stream.write(_PASTE_OFF)
            self._flush()

    async def _run(self) -> None:
        try:
            await self._app.run_async(handle_sigint=False, set_exception_handler=False)
        except EOFError:
            pass  # the terminal has gone, or its input has ended
        finally:
            self._is_drawn.set()
            self._given.put_nowait(End())

    def _look(self) -> None:
        self._shown = self.view()

    def _drawn(self) -> None:
        self._stream.release()
        self._is_drawn.set()

    def _draw_soon(self) -> None:
        if self._running is None:
            self._flush()
        elif not self._is_drawing_due:
            self._is_drawing_due = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time(), self._drawn_at + DRAWINGS_APART_SECONDS), self._draw)

    def _draw(self) -> None:
        self._is_drawing_due = False
        self._drawn_at = asyncio.get_running_loop().time()
        if self._running is None or not self._app.is_running:
            self._flush()
            return
        if self._writing:
            self._stream.hold()
            self._app.renderer.erase()
            self._flush()
        self._app.invalidate()

    def _flush(self) -> None:
        text, self._writing = "".join(self._writing), []
        self._stream.write(text)

    def _text_changed(self) -> None:
        if not self._buffer.text:
            self._begun = None
        elif self._begun is None:
            self._begun = Line(text="", topic=self._shown.topic)

    def _send(self) -> None:
        text, begun = self._buffer.text, self._begun
        if text.strip():
            self._buffer.append_to_history()
        self._buffer.reset()
        self._begun = None
        if begun is not None:
            self._given.put_nowait(Line(text=text, is_pasted=begun.is_pasted, topic=begun.topic))

    def _paste(self, text: str) -> None:
        self._buffer.insert_text(_CONTROL.sub("", re.sub(r"\r\n?", "\n", text)))
        if self._begun is not None:
            self._begun = Line(text="", is_pasted=True, topic=self._begun.topic)

    def _layout(self) -> Layout:
        typed = BufferControl(self._buffer, input_processors=[ShownClusters()])
        return Layout(
            HSplit(
                [
                    self._row(lambda: self._shown.making, ""),
                    self._row(lambda: self._shown.asks, "class:asks"),
                    Window(
                        typed,
                        height=Dimension(min=1, max=MOST_ROWS),
                        wrap_lines=True,
                        dont_extend_height=True,
                        get_line_prefix=self._sign,
                    ),
                    self._row(lambda: self._shown.status, "class:status"),
                ],
                align=VerticalAlign.TOP,
            )
        )

    def _row(self, text: Callable[[], str], style: str) -> ConditionalContainer:
        control = FormattedTextControl(lambda: [(style, text())])
        return ConditionalContainer(
            Window(control, height=1, dont_extend_height=True), Condition(lambda: bool(text()))
        )

    def _sign(self, line: int, wrapped: int) -> StyleAndTextTuples:
        if line == 0 and wrapped == 0:
            return [("class:sign", self._shown.sign)]
        return [("", " " * len(self._shown.sign))]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            self._send()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            self._buffer.insert_text("\n")

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self.interrupt()

        @keys.add("c-d", filter=Condition(lambda: not self._buffer.text))
        def _(event: KeyPressEvent) -> None:
            self._given.put_nowait(End())

        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            self._paste(event.data)

        @keys.add("s-tab")
        def _(event: KeyPressEvent) -> None:
            self._given.put_nowait(Line(text=NEXT_MODE, topic=self._shown.topic))

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            """Types nothing."""

        return keys
