"""Plain lines for pipes: whole, visible, and no harm when the reader leaves."""

import io
from datetime import UTC, datetime

from modules.app.plain_view import PlainView
from modules.records.events import Noticed, TextDelta

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


class Closed(io.StringIO):
    """A pipe whose reader has left."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def words(text: str, agent: str = "lead") -> TextDelta:
    return TextDelta(at=AT, agent=agent, text=text)


def test_lead_s_words_run_on_and_events_begin_a_line() -> None:
    stream = io.StringIO()
    view = PlainView(stream, on_gone=lambda: None)

    for event in (words("I be"), words("gin"), words("unheard", "w1")):
        view.show(event)
    view.show(Noticed(at=AT, text="one"))
    view.show(words("On.\n"))
    view.show(Noticed(at=AT, text="two"))
    view.show(words("Done \x1b[31m"))
    view.end_line()
    view.end_line()

    assert stream.getvalue() == "I begin\n· one\nOn.\n· two\nDone \\x1b[31m\n"


def test_reader_that_left_is_told_once_and_written_to_no_more() -> None:
    gone: list[bool] = []
    view = PlainView(Closed(), on_gone=lambda: gone.append(True))

    for _ in range(3):
        view.show(words("hello"))
    view.end_line()

    assert gone == [True]
