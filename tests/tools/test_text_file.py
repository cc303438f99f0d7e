"""Bytes to text and back to the same bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.records.errors import ModelFault
from tools.text_file import TextFile, line_breaks, read_text


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("é漢\r\n".encode(), "é漢\r\n", "utf-8"),
        (b"\xef\xbb\xbfa", "a", "utf-8"),
        (b"\xff\xfea\0", "a", "utf-16-le"),
        (b"\xfe\xff\0a", "a", "utf-16-be"),
        (b"caf\xe9", "café", "latin-1"),
    ],
)
def test_read_text_when_a_file_is_text_then_it_is_known_how(
    data: bytes, text: str, encoding: str
) -> None:
    file = read_text(data, "a.txt")

    assert (file.text, file.encoding) == (text, encoding)
    assert file.encoded() == data


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"\x89PNG\r\n\x1a\n\xff",
        b"\xff\xfe\0\0a\0\0\0",
        b"\xff\xfea\0b",
        b"\xff\xfe\0\xd8a\0",
        b"\xef\xbb\xbf\xff",
    ],
)
def test_read_text_when_a_file_is_binary_then_it_is_refused(data: bytes) -> None:
    with pytest.raises(ModelFault, match=rf"'a.bin' is a binary file \({len(data)} bytes\)"):
        read_text(data, "a.bin")


@given(st.binary(max_size=40))
def test_read_text_when_any_bytes_are_text_then_they_come_back_the_same(data: bytes) -> None:
    try:
        file = read_text(data, "a")
    except ModelFault:
        return

    assert file.encoded() == data
    assert "�" not in file.text or "�".encode() in data or data[:1] in (b"\xff", b"\xfe")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (TextFile("", encoding="latin-1", peculiarity="not UTF-8"), "漢"),
        (TextFile(""), "\ud800"),
    ],
)
def test_encoded_when_a_character_has_no_bytes_then_it_is_refused(
    file: TextFile, text: str
) -> None:
    with pytest.raises(ModelFault, match="can't be written: the file's text is"):
        file.with_text(text).encoded()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\nb\n", ""),
        ("none", ""),
        ("a\r\nb\r\n", "line breaks are CRLF"),
        ("a\r\nb\nc\n", "line breaks are mixed: 1 CRLF, 2 LF"),
    ],
)
def test_line_breaks_are_told_when_unusual(text: str, words: str) -> None:
    assert line_breaks(text) == words
