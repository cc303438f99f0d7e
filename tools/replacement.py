"""Replaces a piece of text by another, and touches nothing else; pure.

1. The old text must occur as it is, character by character; nothing in it or in the new text is a
   pattern. A line break in it matches both kinds of break, unless it has a carriage return itself.
2. It must occur once, unless all occurrences are asked for.
3. Lines that old and new text share keep their own line breaks. Further breaks of the new text take
   the place of the old ones in order, and then the kind of the break before. New text that has
   carriage returns of its own is taken as it is.
4. When the old text is not found, the fault shows the lines that differ from it in nothing but
   quotes, dashes and blanks, or those most like it.
"""

import difflib
import re
import unicodedata
from typing import Annotated

import msgspec

from modules.records.errors import ModelFault
from modules.records.record import Record

_BREAK = re.compile(r"\r?\n")
_MOST_LINES_NAMED = 10
_MOST_LINES_COMPARED = 5_000
_MOST_LINES_SHOWN = 3
_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ′`", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
        "…": "...",
    }
)


OldText = Annotated[
    str,
    msgspec.Meta(description="The text to replace, exactly as it is in the file.", min_length=1),
]
NewText = Annotated[str, msgspec.Meta(description="What to put in its place.")]
ReplaceAll = Annotated[
    bool, msgspec.Meta(description="Replace every occurrence, not just the only one.")
]


class Edit(Record):
    """One replacement."""

    old_text: OldText
    new_text: NewText
    replace_all: ReplaceAll = False


def replaced(text: str, edit: Edit) -> tuple[str, int]:
    """Returns the text after the edit and the number of replacements.

    Raises ModelFault when the edit can't be made as it is meant.
    """
    if edit.old_text == edit.new_text:
        raise ModelFault("old_text and new_text are the same; there is nothing to do.")
    spans = [match.span() for match in _pattern(edit.old_text).finditer(text)]
    if not spans:
        raise ModelFault(f"old_text was not found. {_hint(text, edit)}")
    if len(spans) > 1 and not edit.replace_all:
        raise ModelFault(
            f"old_text occurs {len(spans)} times, on lines {_lines_of(spans, text)}. "
            "Add the lines around the one you mean, or set replace_all."
        )
    pieces = []
    position = 0
    for start, end in spans:
        pieces += [text[position:start], _fitted(text, start, end, edit)]
        position = end
    return "".join([*pieces, text[position:]]), len(spans)


def _pattern(old: str) -> re.Pattern[str]:
    if "\r" in old:
        return re.compile(re.escape(old))
    return re.compile(r"\r?\n".join(re.escape(line) for line in old.split("\n")))


def _fitted(text: str, start: int, end: int, edit: Edit) -> str:
    """Returns the new text with the line breaks it gets at this place."""
    new = edit.new_text
    if "\r" in edit.old_text or "\r" in new or "\n" not in new:
        return new
    old_lines, new_lines = edit.old_text.split("\n"), new.split("\n")
    last = _BREAK.search(text, end)
    old_breaks = [*_BREAK.findall(text[start:end]), last.group() if last else ""]
    before = _breaks_before(text, start) or old_breaks[-1] or "\n"
    shared_first = _shared(old_lines, new_lines)
    shared_last = min(
        _shared(old_lines[::-1], new_lines[::-1]),
        min(len(old_lines), len(new_lines)) - shared_first,
    )
    fitted = []
    for number, line in enumerate(new_lines[:-1]):
        from_end = number - len(new_lines)
        if -from_end <= shared_last:
            before = old_breaks[from_end] or before
        elif number < len(old_lines) - shared_last:
            before = old_breaks[number] or before
        fitted += [line, before]
    return "".join([*fitted, new_lines[-1]])


def _breaks_before(text: str, start: int) -> str:
    position = text.rfind("\n", 0, start)
    if position < 0:
        return ""
    return "\r\n" if text[position - 1 : position] == "\r" else "\n"


def _shared(first: list[str], second: list[str]) -> int:
    """Returns how many items two lists have in common at their beginning."""
    pairs = zip(first, second, strict=False)
    return next(
        (number for number, (one, other) in enumerate(pairs) if one != other),
        min(len(first), len(second)),
    )


def _lines_of(spans: list[tuple[int, int]], text: str) -> str:
    numbers = [str(text.count("\n", 0, start) + 1) for start, _ in spans[:_MOST_LINES_NAMED]]
    return ", ".join(numbers) + (", …" if len(spans) > _MOST_LINES_NAMED else "")


def _hint(text: str, edit: Edit) -> str:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    plain_lines = [_plain(line) for line in lines]
    wanted = [_plain(line) for line in edit.old_text.strip("\n").split("\n")]
    window = len(wanted)
    for first in range(len(lines) - window + 1):
        if _is_like(plain_lines[first : first + window], wanted):
            return _lookalike(lines[first : first + window], first + 1, edit.old_text)
    if edit.new_text and _pattern(edit.new_text).search(text):
        return "But new_text is in the file already; was the edit made before?"
    return _nearest(lines, plain_lines, wanted)


def _plain(line: str) -> str:
    """Returns a line without what is easily got wrong: quotes, dashes, blanks."""
    return " ".join(unicodedata.normalize("NFKC", line.translate(_LOOKALIKES)).split())


def _is_like(lines: list[str], wanted: list[str]) -> bool:
    if len(wanted) == 1:
        return bool(wanted[0]) and wanted[0] in lines[0]
    return (
        lines[0].endswith(wanted[0])
        and lines[1:-1] == wanted[1:-1]
        and lines[-1].startswith(wanted[-1])
    )


def _lookalike(lines: list[str], number: int, old: str) -> str:
    shown = "\n".join(lines)
    characters = sorted({c for c in shown if not c.isascii() and c not in old})
    names = ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, '')}".strip() for c in characters)
    return (
        f"From line {number} the file differs from it only in quotes, dashes or blank space"
        f"{f' (the file has {names})' if names else ''}. Copy this exactly:\n{shown}"
    )


def _nearest(lines: list[str], plain_lines: list[str], wanted: list[str]) -> str:
    probe = next((line for line in wanted if line), "")
    candidates = list(dict.fromkeys(line for line in plain_lines[:_MOST_LINES_COMPARED] if line))
    found = difflib.get_close_matches(probe, candidates, n=_MOST_LINES_SHOWN)
    if not found:
        return "No line of the file is like it; read the file again."
    numbers = sorted(plain_lines.index(line) for line in found)
    shown = "\n".join(f"line {number + 1}: {lines[number]}" for number in numbers)
    return f"The lines most like its first one:\n{shown}"
