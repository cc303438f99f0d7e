"""Lines in, lines out, for a terminal that can't move its cursor."""

import asyncio
import os
import pty
from collections.abc import Awaitable, Callable

from modules.app.dumb_terminal import DumbTerminal
from modules.app.terminal import End, Interrupt, Line, View
from modules.app.terminal_stream import TerminalStream


def at_terminal(talk: Callable[[DumbTerminal, int], Awaitable[None]]) -> str:
    """Runs `talk` with a terminal and our end of it; returns what was written."""
    ours, theirs = pty.openpty()

    async def run() -> None:
        terminal = DumbTerminal(TerminalStream(theirs), theirs)
        async with terminal.opened():
            await talk(terminal, ours)

    try:
        asyncio.run(run())
        os.set_blocking(ours, False)
        return os.read(ours, 65_536).decode().replace("\r\n", "\n")
    finally:
        os.close(ours)
        os.close(theirs)


async def until(ours: int, words: bytes) -> None:
    """Waits until the words were written, without taking the loop's time."""
    got = b""
    while words not in got:
        got += await asyncio.to_thread(os.read, ours, 65_536)


def test_lines_are_given_one_by_one_with_the_topic_that_was_shown() -> None:
    async def talk(terminal: DumbTerminal, ours: int) -> None:
        terminal.view = lambda: View(asks="? w1", topic="q1")
        terminal.redraw()
        await until(ours, b"? w1\r\n> ")
        os.write(ours, b"y\n")
        assert await terminal.next() == Line(text="y", topic="q1")

    at_terminal(talk)


def test_lines_that_come_together_are_a_pasted_block() -> None:
    async def talk(terminal: DumbTerminal, ours: int) -> None:
        os.write(ours, "one\n\n/exit\ngrüße\n".encode())
        assert await terminal.next() == Line(text="one\n\n/exit\ngrüße", is_pasted=True)

    at_terminal(talk)


def test_end_of_input_and_interrupt_are_given() -> None:
    async def talk(terminal: DumbTerminal, ours: int) -> None:
        terminal.interrupt()
        assert isinstance(await terminal.next(), Interrupt)
        os.write(ours, b"last\n\x04")
        assert await terminal.next() == Line(text="last")
        assert await terminal.next() == End()

    at_terminal(talk)


def test_sign_is_written_once_after_a_burst_and_begins_no_line_of_output() -> None:
    async def talk(terminal: DumbTerminal, ours: int) -> None:
        terminal.write("one\n")
        terminal.write("two\n")
        await until(ours, b"> ")
        terminal.write("three\n")
        await asyncio.sleep(0)

    assert at_terminal(talk) == "\nthree\n"


def test_no_sign_while_the_lead_is_at_a_turn_and_asks_nothing() -> None:
    async def talk(terminal: DumbTerminal, ours: int) -> None:
        terminal.view = lambda: View(is_busy=True)
        terminal.write("one\n")
        await asyncio.sleep(0.3)

    assert at_terminal(talk) == "one\n"
