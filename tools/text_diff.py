"""Shows what a change of a text changed, as a short unified diff; pure."""

import difflib
import re

_CONTEXT_LINES = 3
_MOST_LINES_SHOWN = 80
_MOST_LINES_COMPARED = 2_000
_LONGEST_LINE = 400
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def short_diff(before: str, after: str) -> str:
    """Returns the hunks of the change; of a long one the beginning, and how much is missing."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    first, last = _shared_ends(old, new)
    # What both have at their ends, the context apart, need not be compared.
    start, end = max(first - _CONTEXT_LINES, 0), max(last - _CONTEXT_LINES, 0)
    old_part, new_part = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old_part), len(new_part)) > _MOST_LINES_COMPARED:
        return f"[{len(old_part)} lines from line {start + 1} on became {len(new_part)} lines]"
    lines = _hunks(old_part, new_part, start)
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


def _hunks(old: list[str], new: list[str], lines_before: int) -> list[str]:
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    lines = []
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        old_range = _range(group[0][1] + lines_before, group[-1][2] + lines_before)
        new_range = _range(group[0][3] + lines_before, group[-1][4] + lines_before)
        lines.append(f"@@ -{old_range} +{new_range} @@")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                lines += _marked(" ", old[old_start:old_end])
                continue
            lines += _marked("-", old[old_start:old_end])
            lines += _marked("+", new[new_start:new_end])
    return lines


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
