"""Makes text safe to show on a terminal; pure.

1. A control character is shown as its escape and never sent; line breaks and tabs stay.
2. So are the characters that turn the direction of reading: they make a line look like another.
3. Those that join emoji and letters stay: people's languages need them.
"""

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions
    "\u2028\u2029\ud800-\udfff]"  # separators of lines, halves of characters
)


def visible(text: str) -> str:
    """Returns `text` with everything shown that a terminal would obey."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """Returns the first line of `text` that holds something, safe to show."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    return visible(line.strip())


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
