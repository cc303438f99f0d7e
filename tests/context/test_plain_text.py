"""What a terminal would show, as text."""

import pytest

from modules.context.plain_text import PlainText


def plain(*pieces: bytes) -> str:
    stream = PlainText()
    return "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\ntwo\n", "one\ntwo\n"),
        (b"tab\tstays", "tab\tstays"),
        (b"\x1b[1;31mred\x1b[0m \x1b[38;5;200mpink\x1b[K", "red pink"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1bPq#0;2;0\x1b\\after", "after"),
        (b"\x1b(B\x1b=\x1b7text\x1b", "text"),
        (b"\x1b]never ended\nnext line", "\nnext line"),
        ("\x9b31mred \x85".encode(), "red "),
        (b"a\0b\x07c\x7fd", "abcd"),
        (b"N\x08NA\x08A", "NA"),
        (b"10%\r50%\r100%\ndone", "100%\ndone"),
        (b"windows\r\nlines\r\n", "windows\nlines\n"),
        (b"odd\r\r\n", "odd\n"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("é漢😀".encode(), "é漢😀"),
        ("\ufffd".encode(), "\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_plain_text_when_fed_whole_or_byte_by_byte_then_it_is_the_same(
    data: bytes, text: str
) -> None:
    assert plain(data) == text
    assert plain(*(data[place : place + 1] for place in range(len(data)))) == text


def test_plain_text_when_bytes_are_not_utf_8_then_they_are_counted() -> None:
    stream = PlainText()

    stream.feed(b"ok \xf0 " + "\ufffd é".encode() + b"\xff\n\xc3")
    stream.finish()

    assert stream.invalid_bytes == 3


def test_plain_text_when_a_line_is_written_over_then_that_is_counted() -> None:
    stream = PlainText()

    stream.feed(b"1%\r2%\r3%\nfoo\r\n")

    assert stream.overwritten == 2


def test_plain_text_when_a_line_never_ends_then_little_is_held_back() -> None:
    stream = PlainText()

    text = "".join(stream.feed(b"x" * 65_536) for _ in range(100)) + stream.finish()

    assert text == "x" * 6_553_600


def test_plain_text_when_progress_never_ends_its_line_then_only_the_last_stays() -> None:
    stream = PlainText()

    text = "".join(stream.feed(b"%07d\r" % number) for number in range(100_000))

    assert text + stream.finish() == "0099999"
    assert stream.overwritten == 99_999


@pytest.mark.parametrize(
    ("first", "second"),
    [(b"n\xc3", b"\xa4chst"), (b"n\xc3\xa4\x1b[3", b"1mchst"), (b"n\xc3\xa4\x1b", b"[1mchst")],
    ids=["character", "sequence", "begin of one"],
)
def test_look_in_the_middle_of_something_shows_it_whole_later(first: bytes, second: bytes) -> None:
    stream = PlainText()
    seen = stream.feed(first) + stream.so_far()

    seen += stream.feed(second) + stream.so_far()

    assert seen + stream.finish() == "n\xe4chst"
    assert stream.invalid_bytes == 0
