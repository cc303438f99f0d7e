"""A file's bytes as text, and back to the very same bytes; pure.

1. A byte order mark is kept apart from the text, so the text starts where the words start.
2. UTF-8 unless the mark says UTF-16; line breaks stay as they are.
3. What is not UTF-8 is taken as Latin-1, which maps every byte to one character and back.
4. NUL, and other control characters in what is not UTF-8, make a file binary.
"""

import codecs
import re
from dataclasses import dataclass, replace

from modules.records.errors import ModelFault

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 LE with a byte order mark"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 BE with a byte order mark"),
)
_NUL = re.compile(r"\x00")
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_LATIN_1 = "not UTF-8; shown as Latin-1, other characters can't be written into it"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text and how it is written on disk."""

    text: str
    mark: bytes = b""
    encoding: str = "utf-8"
    peculiarity: str = ""
    """What is unusual about the encoding, in words."""

    def encoded(self) -> bytes:
        """Returns the file's bytes; raises ModelFault for characters it can't hold."""
        try:
            return self.mark + self.text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = self.text[error.start]
            raise ModelFault(
                f"The character {character!a} can't be written: the file's text is "
                f"{self.peculiarity or 'UTF-8'}. Nothing was written."
            ) from error

    def with_text(self, text: str) -> "TextFile":
        """Returns the same kind of file with other text."""
        return replace(self, text=text)


def read_text(data: bytes, path: str) -> TextFile:
    """Returns a file's text; raises ModelFault when it is binary. `path` is for the message."""
    for mark, encoding, peculiarity in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, encoding, peculiarity, path)
    try:
        file = TextFile(data.decode())
    except UnicodeDecodeError:
        file = TextFile(data.decode("latin-1"), b"", "latin-1", _LATIN_1)
    refused = _CONTROL if file.peculiarity else _NUL
    if refused.search(file.text):
        raise _binary(data, path)
    return file


def _marked(data: bytes, mark: bytes, encoding: str, peculiarity: str, path: str) -> TextFile:
    try:
        file = TextFile(data.removeprefix(mark).decode(encoding), mark, encoding, peculiarity)
    except UnicodeDecodeError as error:
        raise _binary(data, path) from error
    if _NUL.search(file.text):
        raise _binary(data, path)
    return file


def _binary(data: bytes, path: str) -> ModelFault:
    return ModelFault(
        f"{path!r} is a binary file ({len(data)} bytes), which the file tools don't show or edit."
    )


def line_breaks(text: str) -> str:
    """Returns what is unusual about the line breaks, in words; empty for none but LF."""
    windows = text.count("\r\n")
    if not windows:
        return ""
    unix = text.count("\n") - windows
    return f"line breaks are mixed: {windows} CRLF, {unix} LF" if unix else "line breaks are CRLF"
