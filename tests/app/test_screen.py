"""What stands above the line: words as they arrive, in whole rows, nothing obeyed."""

from datetime import UTC, datetime

import pytest
from rich.table import Table

from modules.app.screen import Screen
from modules.records.events import CallEnded, CallStarted, Noticed, RunStarted, TextDelta
from tests.fakes.terminal import FakeTerminal

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def words(text: str, agent: str = "lead") -> TextDelta:
    return TextDelta(at=AT, agent=agent, text=text)


def call(agent: str, tool: str) -> CallStarted:
    return CallStarted(at=AT, agent=agent, call_id="c-1", tool=tool, text="x")


def test_words_stand_in_the_row_in_the_making_until_it_is_full() -> None:
    terminal = FakeTerminal(columns=21)
    screen = Screen(terminal)

    screen.show(words("one two "))
    first = (terminal.lines, screen.making)
    screen.show(words("three four fi"))
    screen.show(words("ve six\nse"))
    screen.show(words("unheard", "w1"))

    assert first == ([], "one two ")
    assert terminal.lines == ["one two three four", "five six"]
    assert screen.making == "se"
    screen.end_row()
    assert (terminal.lines[-1], screen.making) == ("se", "")


def test_word_longer_than_a_row_and_wide_letters_fill_rows() -> None:
    terminal = FakeTerminal(columns=21)
    screen = Screen(terminal)

    screen.show(words("漢字" * 8 + "\n" + "x" * 45))

    assert terminal.lines == ["漢字" * 5, "漢字" * 3, "x" * 20, "x" * 20]
    assert screen.making == "x" * 5


def test_event_ends_the_row_in_the_making() -> None:
    terminal = FakeTerminal()
    screen = Screen(terminal)

    screen.show(words("I am at"))
    screen.show(Noticed(at=AT, text="something"))

    assert terminal.lines == ["I am at", "· something"]


def test_calls_of_the_lead_are_told_unless_they_tell_themselves() -> None:
    terminal = FakeTerminal()
    screen = Screen(terminal)

    for event in (
        RunStarted(at=AT, target="main", target_commit="abc", workers=3),
        call("lead", "bash"),
        call("lead", "board_post_task"),
        call("w1", "bash"),
    ):
        screen.show(event)

    assert terminal.lines == ["· lead: bash x"]


def failed(agent: str, tool: str) -> CallEnded:
    return CallEnded(at=AT, agent=agent, call_id="c-1", tool=tool, is_error=True, text="It broke.")


def test_failed_calls_of_the_lead_are_told_also_where_the_call_was_not() -> None:
    terminal = FakeTerminal()
    screen = Screen(terminal)

    for event in (call("lead", "board_post_task"), failed("lead", "board_post_task")):
        screen.show(event)

    assert terminal.lines == ["· lead: board_post_task failed: It broke"]


def test_failed_calls_of_workers_are_told_where_they_never_ran() -> None:
    terminal = FakeTerminal()
    screen = Screen(terminal)

    for event in (call("w1", "bash"), failed("w1", "bash"), failed("w1", "bash")):
        screen.show(event)

    assert terminal.lines == ["· w1: bash can't be run: It broke"]


def test_nothing_a_model_says_is_obeyed() -> None:
    terminal = FakeTerminal()
    screen = Screen(terminal)

    screen.show(words("a\x1b[2Jb [bold]c[/bold]\r\n"))
    screen.line("d\x1b]0;title\x07 [red]e")
    screen.echo("f\x1b[Ag")

    assert terminal.lines == [
        r"a\x1b[2Jb [bold]c[/bold]",
        r"d\x1b]0;title\x07 [red]e",
        r"> f\x1b[Ag",
    ]


def test_long_line_is_indented_where_it_goes_on() -> None:
    terminal = FakeTerminal(columns=20)

    Screen(terminal).line("· one two three four five six")

    assert terminal.lines == ["· one two three", "  four five six"]


def test_long_block_is_echoed_by_its_beginning() -> None:
    terminal = FakeTerminal()
    screen = Screen(terminal)

    screen.echo("one\ntwo")
    screen.echo("\n".join(map(str, range(30))))

    assert terminal.lines[:3] == ["> one", "  two", "> 0"]
    assert terminal.lines[-2:] == ["  7", "  … 22 lines more"]


def test_table_of_wide_letters_is_aligned() -> None:
    terminal = FakeTerminal()
    table = Table("task", "status", box=None, pad_edge=False)
    for subject in ("漢字", "한국어", "plain"):
        table.add_row(subject, "open")

    Screen(terminal).table(table)

    assert terminal.lines[1:] == ["漢字    open  ", "한국어  open  ", "plain   open  "]


@pytest.mark.parametrize(("variable", "has_colour"), [("1", False), ("", True)])
def test_no_color_takes_the_colours(
    variable: str, has_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", variable)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = FakeTerminal()

    Screen(terminal).line("text", "red")

    assert ("\x1b[31m" in terminal.written) is has_colour
