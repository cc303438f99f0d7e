"""Turns what a program writes to a terminal into plain text.

1. Bytes that are not UTF-8 become U+FFFD, and are counted.
2. Escape sequences and control characters go; line breaks and tabs stay.
3. Of a line that was written over with carriage returns only the last writing stays; what was
   written over is counted.
4. A character followed by a backspace goes.
"""

import codecs
import re

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
)
_BEGUN_SEQUENCE = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*)?|\x9b[0-?]*[ -/]*)\Z")
_STRUCK_OUT = re.compile(r"[^\n\x08]\x08")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ESCAPED_BYTE = re.compile(r"[\udc80-\udcff]")
_LINE_LIMIT = 65_536  # characters of an unfinished line that are held back


class PlainText:
    """A stream of a program's output on its way to plain text."""

    def __init__(self) -> None:
        # Each byte that is not UTF-8 comes out as a surrogate of its own, so it can be counted.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._unfinished = ""
        self.invalid_bytes = 0
        """Bytes that were not UTF-8."""
        self.overwritten = 0
        """Writings a carriage return took back."""

    def feed(self, data: bytes) -> str:
        """Takes the next bytes and returns the text of the lines they complete."""
        text = self._unfinished + self._decode(data, final=False)
        lines, line_break, self._unfinished = text.rpartition("\n")
        whole = lines + line_break
        if len(self._unfinished) > _LINE_LIMIT:
            # A return at the very end may still turn out to be half a line break.
            ending = "\r" if self._unfinished.endswith("\r") else ""
            self._unfinished = self._last_writing(self._unfinished) + ending
        if len(self._unfinished) > _LINE_LIMIT:
            whole, self._unfinished = whole + self._unfinished, ""
        return self._clean(whole)

    def so_far(self) -> str:
        """Returns the text of the unfinished line, but for half a character or half a sequence."""
        begun = _BEGUN_SEQUENCE.search(self._unfinished)
        end = len(self._unfinished) if begun is None else begun.start()
        text, self._unfinished = self._unfinished[:end], self._unfinished[end:]
        return self._clean(text)

    def finish(self) -> str:
        """Returns the text of the last, unfinished line."""
        text, self._unfinished = self._unfinished + self._decode(b"", final=True), ""
        return self._clean(text)

    def _decode(self, data: bytes, *, final: bool) -> str:
        text = self._decoder.decode(data, final)
        if text.isascii():
            return text
        text, count = _ESCAPED_BYTE.subn("�", text)
        self.invalid_bytes += count
        return text

    def _clean(self, text: str) -> str:
        if "\x1b" in text or "\x9b" in text:
            text = _ESCAPE.sub("", text)
        if "\r" in text:
            text = "\n".join(self._last_writing(line) for line in text.split("\n"))
        if "\x08" in text:
            text = _STRUCK_OUT.sub("", text)
        return _CONTROL.sub("", text)

    def _last_writing(self, line: str) -> str:
        writings = line.rstrip("\r").split("\r")
        self.overwritten += len(writings) - 1
        return writings[-1]
