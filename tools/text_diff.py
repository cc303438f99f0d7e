"""Shows what a change of a text changed, as a short unified diff; pure."""

import difflib
import re
from typing import Literal

_CONTEXT_LINES = 3
_MOST_LINES_SHOWN = 80
_MOST_LINES_COMPARED = 2_000
_LONGEST_LINE = 400
_Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def short_diff(before: str, after: str) -> str:
    """Returns the hunks of the change; of a long one the beginning, and how much is missing."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    first, last = _shared_ends(old, new)
    # What both have at their ends need not be compared.
    old_part, new_part = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(old_part), len(new_part)) > _MOST_LINES_COMPARED:
        return f"[{len(old_part)} lines from line {first + 1} on became {len(new_part)} lines]"
    lines = _hunks(old, new, first, last)
    if len(lines) > _MOST_LINES_SHOWN:
        missing = len(lines) - _MOST_LINES_SHOWN
        lines = [*lines[:_MOST_LINES_SHOWN], f"[{missing} more lines of the diff]"]
    return "\n".join(lines)


def _shared_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    shortest = min(len(old), len(new))
    first = 0
    while first < shortest and old[first] == new[first]:
        first += 1
    last = 0
    while last < shortest - first and old[-1 - last] == new[-1 - last]:
        last += 1
    return first, last


class _Compared(difflib.SequenceMatcher[str]):
    """Groups differences that are known already."""

    def __init__(self, opcodes: list[_Opcode]) -> None:
        super().__init__()
        self._opcodes = opcodes

    def get_opcodes(self) -> list[_Opcode]:
        return list(self._opcodes)


def _hunks(old: list[str], new: list[str], first: int, last: int) -> list[str]:
    lines = []
    compared = _Compared(_opcodes(old, new, first, last))
    for group in compared.get_grouped_opcodes(_CONTEXT_LINES):
        old_range = _range(group[0][1], group[-1][2])
        new_range = _range(group[0][3], group[-1][4])
        lines.append(f"@@ -{old_range} +{new_range} @@")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                lines += _marked(" ", old[old_start:old_end])
                continue
            lines += _marked("-", old[old_start:old_end])
            lines += _marked("+", new[new_start:new_end])
    return lines


def _opcodes(old: list[str], new: list[str], first: int, last: int) -> list[_Opcode]:
    """Returns the differences of the whole texts, found in what lies between their shared ends."""
    old_end, new_end = len(old) - last, len(new) - last
    middle = difflib.SequenceMatcher(
        a=old[first:old_end], b=new[first:new_end], autojunk=False
    ).get_opcodes()
    found: list[_Opcode] = [("equal", 0, first, 0, first)] if first else []
    found += [(tag, a + first, b + first, c + first, d + first) for tag, a, b, c, d in middle]
    if last:
        found.append(("equal", old_end, len(old), new_end, len(new)))
    return found


def _range(start: int, end: int) -> str:
    length = end - start
    # An empty range names the line it stands after.
    return f"{start + 1 if length else start},{length}"


def _marked(sign: str, lines: list[str]) -> list[str]:
    marked = []
    for line in lines:
        marked.append(sign + _cut(line.removesuffix("\n")))
        if not line.endswith("\n"):
            marked.append("\\ No newline at end of file")
    return marked


def _cut(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]} [{len(line) - _LONGEST_LINE} more characters]"
