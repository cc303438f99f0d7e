"""The line stays whole under everything that is written above it."""

import asyncio
import os
import pty
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pyte
import pytest
from prompt_toolkit.input.vt100 import Vt100Input

from modules.app.line_editor import LineEditor
from modules.app.terminal import End, Interrupt, Line, View
from modules.app.terminal_stream import TerminalStream
from tests.scenarios.terminals import BACKSPACE, CTRL_C, CTRL_D, PASTE, set_size


class Person:
    """Our end of the terminal, with the screen it shows."""

    def __init__(self, ours: int) -> None:
        self.ours = ours
        self.screen = pyte.Screen(40, 12)
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    async def sees(self, text: str) -> None:
        async with asyncio.timeout(30):
            while self.text != text:
                await self.reads()

    async def reads(self) -> None:
        ready = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self.ours, ready.set)
        await ready.wait()
        loop.remove_reader(self.ours)
        data = os.read(self.ours, 65_536)
        self.written += data
        self.stream.feed(data)


def at_terminal(
    talk: Callable[[LineEditor, Person], Awaitable[None]],
    variables: Mapping[str, str] | None = None,
) -> Person:
    """Runs `talk` with the line on a terminal of 40 columns."""
    ours, theirs = pty.openpty()
    set_size(ours, 40, 12)
    person = Person(ours)

    async def run() -> None:
        with open(theirs, closefd=False) as keys:
            editor = LineEditor(TerminalStream(theirs), Vt100Input(keys), variables or {})
            async with editor.opened():
                await talk(editor, person)

    try:
        asyncio.run(run())
    finally:
        os.close(ours)
        os.close(theirs)
    return person


def test_line_is_sent_with_enter_and_an_empty_one_is_not() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("\r\rhello\r")
        assert await editor.next() == Line(text="hello")
        person.type("two\x1b\rlines\r")
        assert await editor.next() == Line(text="two\nlines")

    at_terminal(talk)


def test_what_is_written_stands_above_the_line_that_is_typed() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("half a")
        await person.sees("> half a")
        for number in range(20):
            editor.write(f"event {number}\n")
        person.type(" line")
        await person.sees("\n".join([f"event {n}" for n in range(9, 20)] + ["> half a line"]))
        editor.view = lambda: View(making="words", asks="? w1", status="busy", sign="> ")
        editor.redraw()
        await person.sees(
            "\n".join(
                [f"event {n}" for n in range(12, 20)] + ["words", "? w1", "> half a line", "busy"]
            )
        )

    person = at_terminal(talk)

    assert person.written.count(b"\x1b[?2004h") == 1


def test_burst_is_drawn_a_few_times_and_each_time_whole() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        await person.sees(">")
        person.written = b""
        for number in range(200):
            editor.write(f"{number}\n")
            await asyncio.sleep(0)
        while b"199\r\n" not in person.written:
            await person.reads()
        while not person.text.endswith("199\n>"):
            await person.reads()

    person = at_terminal(talk)

    assert person.written.count(b"\x1b[J") <= 12


def test_paste_is_one_text_without_orders_and_marks_the_line() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("say " + PASTE.format("a\r\n\tb\x03\x1b[31m\rexit") + " now\r")
        assert await editor.next() == Line(text="say a\n\tb[31m\nexit now", is_pasted=True)
        person.type(PASTE.format("gone") + BACKSPACE * 4 + "y\r")
        assert await editor.next() == Line(text="y")

    at_terminal(talk)


def test_line_belongs_to_the_topic_that_was_drawn_when_it_was_begun() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("y")
        await person.sees("> y")
        editor.view = lambda: View(topic="q1", asks="? w1")
        editor.redraw()
        await person.sees("? w1\n> y")
        person.type("\r")
        assert await editor.next() == Line(text="y")
        person.type("y\r")
        assert await editor.next() == Line(text="y", topic="q1")

    at_terminal(talk)


def test_ctrl_c_says_whether_something_is_typed_and_clear_takes_it_back() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("words" + CTRL_C)
        given = await editor.next()
        assert isinstance(given, Interrupt)
        assert given.has_text
        editor.clear()
        await person.sees(">")
        person.type(CTRL_C)
        given = await editor.next()
        assert isinstance(given, Interrupt)
        assert not given.has_text

    at_terminal(talk)


def test_shift_tab_asks_for_the_next_mode_and_leaves_what_is_typed() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("words\x1b[Z")
        given = await editor.next()
        person.type("\r")

        assert (given, await editor.next()) == (Line(text="/mode next"), Line(text="words"))

    at_terminal(talk)


def test_ctrl_d_ends_only_an_empty_line() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("ab\x01" + CTRL_D + "\r")
        assert await editor.next() == Line(text="b")
        person.type(CTRL_D)
        assert await editor.next() == End()

    at_terminal(talk)


def test_after_closing_the_line_is_gone_and_writing_goes_on() -> None:
    async def talk(editor: LineEditor, person: Person) -> None:
        editor.write("before\n")
        await person.sees("before\n>")
        await editor.close()
        editor.write("after\n")
        await person.sees("before\nafter")

    person = at_terminal(talk)

    assert person.written.count(b"\x1b[?2004l") == 1


@pytest.mark.parametrize(
    ("variables", "left"), [({"TMUX": "/tmp/x"}, 0), ({}, 1)], ids=["known to rewrap", "not known"]
)
def test_rows_that_the_terminal_wrapped_anew_are_taken_away(
    variables: dict[str, str], left: int
) -> None:
    """The terminal is played: narrowed, it shows the line of 30 columns on two rows."""

    async def talk(editor: LineEditor, person: Person) -> None:
        person.type("twenty-eight letters in here")
        await person.sees("> twenty-eight letters in here")
        person.screen.resize(12, 20)
        person.screen.reset()
        person.stream.feed(b"> twenty-eight letters in here")
        set_size(person.ours, 20, 12)
        os.kill(os.getpid(), signal.SIGWINCH)
        while "\n  rs in here" not in person.text:
            await person.reads()
        seen.append(person.text.count("> twenty"))

    seen: list[int] = []
    at_terminal(talk, variables)

    assert seen == [1 + left]


def test_terminal_that_has_gone_takes_everything_and_raises_nothing(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    stream = TerminalStream(theirs)
    os.close(ours)

    stream.write("nobody reads this\n")
    stream.hold()
    stream.write("nor this\n")
    stream.release()

    assert stream.is_gone
    os.close(theirs)
