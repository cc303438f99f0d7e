"""A word of a command line as bash would read it; pure.

A pattern is a word's value with what was quoted marked by a backslash, so that `*` and `\\*` stay
apart. UNKNOWN stands for whatever only running the command would tell.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import product

from modules.records.record import Record

UNKNOWN = "\0"
_SPECIAL = re.compile(r"[\\*?\[\]{},~]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_./:=+@%^-]+")
_LITERAL_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "?": "?"}
_ANSI_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_SUFFIX = re.compile(r"\.[A-Za-z0-9]+$")
_MOST_VALUES = 32


class Word(Record):
    """One word of a command."""

    raw: str
    """As it was written."""
    pattern: str
    is_split: bool = False
    """True where bash may make several words of it, or none."""
    others: tuple[str, ...] = ()
    """Patterns it may turn into, as far as earlier assignments tell."""

    @property
    def text(self) -> str:
        """The value, quotes gone; UNKNOWN for what isn't known."""
        return unescaped(self.pattern)

    @property
    def is_known(self) -> bool:
        """True where the value is certain before anything runs."""
        return UNKNOWN not in self.pattern and not self.has_glob

    @property
    def has_glob(self) -> bool:
        """True where the folder's files decide the value."""
        return any(sign in "*?[" for sign in _unquoted(self.pattern))

    @property
    def is_plain(self) -> bool:
        """True for a word with nothing quoted, expanded or hidden in it."""
        return self.raw == self.pattern and _PLAIN.fullmatch(self.raw) is not None

    @property
    def may_be_option(self) -> bool:
        """True where the value could begin with a dash that isn't written there."""
        if self.is_split:
            return True
        return self.pattern[:1] in (UNKNOWN, "*", "?", "[")

    @property
    def may_hide_option(self) -> bool:
        """True where the value could be any option, not just one that ends like a file name."""
        return self.may_be_option and (
            self.is_split or UNKNOWN in self.pattern or not _SUFFIX.search(self.pattern)
        )

    def values(self) -> tuple[str, ...]:
        """Returns the texts it may stand for, the most certain first."""
        return (self.text, *(unescaped(pattern) for pattern in self.others))

    def after(self, length: int) -> "Word":
        """Returns the word without its first `length` characters."""
        return Word(
            raw=self.raw[length:],
            pattern=escaped(self.text[length:]) if "\\" in self.pattern else self.pattern[length:],
            is_split=self.is_split,
            others=tuple(other[length:] for other in self.others),
        )


def literal(text: str) -> Word:
    """Returns a word whose value is certain."""
    return Word(raw=text, pattern=escaped(text))


def unknown() -> Word:
    """Returns a word nothing is known of."""
    return Word(raw="?", pattern=UNKNOWN, is_split=True)


def escaped(text: str) -> str:
    """Returns the pattern of quoted text."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def unescaped(pattern: str) -> str:
    """Returns the text of a pattern."""
    return _ESCAPED.sub(r"\1", pattern) if "\\" in pattern else pattern


def unquoted_pattern(raw: str) -> str:
    """Returns the pattern of text outside quotes, its backslashes read as bash does."""
    if "\\" not in raw:
        return raw
    return _ESCAPED.sub(lambda m: "" if m.group(1) == "\n" else escaped(m.group(1)), raw)


def double_quoted_pattern(raw: str) -> str:
    """Returns the pattern of text inside double quotes."""
    plain = re.sub(r"\\([$`\"\\\n])", lambda m: "" if m.group(1) == "\n" else m.group(1), raw)
    return escaped(plain)


def ansi_pattern(raw: str) -> str:
    """Returns the pattern of the text between `$'` and `'`."""
    return escaped(_ANSI_ESCAPE.sub(_ansi_character, raw))


def _ansi_character(match: "re.Match[str]") -> str:
    code = match.group(1)
    if code[0] in "xu" and len(code) > 1:
        letter = chr(int(code[1:], 16))
        return UNKNOWN if unicodedata.category(letter) == "Cs" else letter
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _LITERAL_ESCAPES.get(code, UNKNOWN)


def _unquoted(pattern: str) -> Iterator[str]:
    position = 0
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 2
            continue
        yield pattern[position]
        position += 1


def has_braces(pattern: str) -> bool:
    """True where bash would look for a list in braces."""
    return "{" in pattern and "{" in _unquoted(pattern)


def brace_values(pattern: str) -> tuple[str, ...]:
    """Returns the patterns a brace list makes; (UNKNOWN,) where that isn't clear."""
    if not has_braces(pattern):
        return (pattern,)
    start = _find(pattern, "{", 0)
    end = _closing(pattern, start)
    if end < 0:
        return (pattern,)
    inside = pattern[start + 1 : end]
    choices = _choices(inside)
    if choices is None:
        tails = brace_values(pattern[end + 1 :])
        return tuple(f"{pattern[: end + 1]}{tail}" for tail in tails)
    heads = [value for choice in choices for value in brace_values(choice)]
    tails = brace_values(pattern[end + 1 :])
    if len(heads) * len(tails) > _MOST_VALUES:
        return (UNKNOWN,)
    return tuple(f"{pattern[:start]}{head}{tail}" for head, tail in product(heads, tails))


def _choices(inside: str) -> list[str] | None:
    span = re.fullmatch(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?", inside)
    if span is not None:
        return _span(span.group(1), span.group(2))
    parts = [""]
    depth = 0
    position = 0
    while position < len(inside):
        sign = inside[position]
        if sign == "\\":
            parts[-1] += inside[position : position + 2]
            position += 2
            continue
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
        position += 1
    return parts if len(parts) > 1 else None


def _span(first: str, last: str) -> list[str]:
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        low, high = sorted((int(first), int(last)))
        numbers = range(low, min(high, low + _MOST_VALUES) + 1)
        return [str(number) for number in numbers]
    return [UNKNOWN]


def _find(pattern: str, sign: str, start: int) -> int:
    position = start
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 2
            continue
        if pattern[position] == sign:
            return position
        position += 1
    return -1


def _closing(pattern: str, start: int) -> int:
    depth = 0
    position = start
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 2
            continue
        depth += (pattern[position] == "{") - (pattern[position] == "}")
        if depth == 0:
            return position
        position += 1
    return -1
