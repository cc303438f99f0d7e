"""Searches files for a regular expression; run as a program of its own, so that it can be killed.

A pattern can keep Python's `re` busy for ever, and nothing inside the same process can stop it.
Standard input: one JSON object, a NUL, then the files, NUL between them, relative to the working
folder. Standard output: one JSON object a line, of the kinds `line` (its `file` counts from 0) and
`end`, or `fault` alone.
Only the standard library is at hand: it runs with `python -I -S`.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

FILE_LIMIT_BYTES = 5_000_000
LINE_LIMIT = 300  # characters shown of a line
_BINARY_WINDOW = 8_192  # bytes


def main() -> None:
    head, _, names = sys.stdin.buffer.read().partition(b"\0")
    request = json.loads(head)
    try:
        pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        _tell({"kind": "fault", "text": str(error)})
        return
    hits = files = skipped = 0
    for number, name in enumerate(names.split(b"\0") if names else []):
        data = _read(name)
        if data is None:
            continue
        if len(data) > FILE_LIMIT_BYTES or b"\0" in data[:_BINARY_WINDOW]:
            skipped += 1
            continue
        lines = _lines(data)
        room = max(request["limit"] - hits, 0)
        found = [index for index, line in enumerate(lines) if pattern.search(line)]
        for index, is_hit in _with_context(found[:room], request["context"], len(lines)):
            text = lines[index][:LINE_LIMIT]
            _tell(
                {
                    "kind": "line",
                    "file": number,
                    "line": index + 1,
                    "text": text,
                    "is_hit": is_hit,
                }
            )
        hits += len(found)
        files += bool(found)
    _tell({"kind": "end", "hits": hits, "files": files, "skipped": skipped})


def _read(name: bytes) -> bytes | None:
    """Returns a file's bytes, as many as show that there are too many; None for no plain file."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None  # gone, a link, or not ours to read
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(FILE_LIMIT_BYTES + 1)


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _with_context(found: list[int], around: int, length: int) -> Iterator[tuple[int, bool]]:
    hits = set(found)
    shown = -1
    for index in found:
        for near in range(max(index - around, shown + 1), min(index + around + 1, length)):
            yield near, near in hits
            shown = near


def _tell(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
