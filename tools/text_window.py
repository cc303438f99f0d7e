"""The part of a file's text that is shown at once; pure.

1. Lines are shown as they are, without numbers and with LF between them.
2. At most CHARACTERS_LIMIT characters are shown, whole lines of them, or the beginning of one line
   that is longer.
3. Notes in brackets follow: what is unusual about the file, which lines these are, how to go on.
"""

from modules.records.errors import ModelFault
from tools.text_file import TextFile, line_breaks

LINES_LIMIT = 2_000
CHARACTERS_LIMIT = 40_000


def shown_text(file: TextFile, *, path: str, offset: int, limit: int) -> str:
    """Returns at most `limit` lines from line `offset` on, with notes.

    Raises ModelFault when the file has no such line. `path` is for the message.
    """
    if not file.text:
        return "(empty file)"
    lines = [line.removesuffix("\r") for line in file.text.split("\n")]
    ends_with_break = not lines[-1]
    if ends_with_break:
        lines.pop()
    if offset > len(lines):
        raise ModelFault(f"{path!r} has {len(lines)} lines, none from {offset} on.")
    first = offset - 1
    window = _fitting(lines[first : first + limit])
    last = first + len(window)
    notes = [file.peculiarity, line_breaks(file.text)]
    if first or last < len(lines):
        more = f"; go on with offset={last + 1}" if last < len(lines) else ""
        notes.append(f"lines {first + 1}-{last} of {len(lines)}{more}")
    if len(lines[first]) > CHARACTERS_LIMIT:
        notes.append(
            f"line {first + 1} has {len(lines[first])} characters, the first {CHARACTERS_LIMIT} "
            "are shown; the others can be had with `cut -c` in bash"
        )
    if last == len(lines) and not ends_with_break:
        notes.append("no line break at the end of the file")
    return "\n".join([*window, *(f"[{note}]" for note in notes if note)])


def _fitting(lines: list[str]) -> list[str]:
    """Returns as many of the first lines as may be shown, at least a part of one."""
    fitting: list[str] = []
    room = CHARACTERS_LIMIT
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        fitting.append(line)
    return fitting or [lines[0][:CHARACTERS_LIMIT]]
