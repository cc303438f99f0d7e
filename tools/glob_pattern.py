"""Which paths a glob names; pure, and linear in the length of pattern and path.

1. `*` and `?` stay within one name, `[…]` is one character, `**` is any number of folders.
2. `{a,b}` stands for either; at most ALTERNATIVES_LIMIT patterns may come of it.
3. A pattern without `/` is matched against the file's name, at any depth; another one against the
   whole path.
4. Names that begin with a dot are names like others.
"""

import fnmatch
import re
from collections.abc import Callable

from modules.records.errors import ModelFault

ALTERNATIVES_LIMIT = 64
_BRACES = re.compile(r"\{([^{}]*)\}")
_ANY_FOLDERS = None


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Returns whether a relative path matches, as a function."""
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ModelFault(f"The pattern {pattern!r} must be relative to `path` and stay below it.")
    alternatives = [_segments(one) for one in _expanded(pattern)]

    def matches(path: str) -> bool:
        names = path.split("/")
        return any(_match(segments, names) for segments in alternatives)

    return matches


def _expanded(pattern: str) -> list[str]:
    done: list[str] = []
    ahead = [pattern]
    while ahead:
        one = ahead.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
        else:
            choices = braces.group(1).split(",")
            ahead += [one[: braces.start()] + choice + one[braces.end() :] for choice in choices]
        if len(done) + len(ahead) > ALTERNATIVES_LIMIT:
            raise ModelFault(f"The pattern {pattern!r} stands for too many others; simplify it.")
    return done


def _segments(pattern: str) -> list[re.Pattern[str] | None]:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if "/" not in pattern:
        names.insert(0, "**")
    return [_ANY_FOLDERS if name == "**" else re.compile(fnmatch.translate(name)) for name in names]


def _match(segments: list[re.Pattern[str] | None], names: list[str]) -> bool:
    # The positions in `segments` that the names so far can have led to.
    reached = _with_skips({0}, segments)
    for name in names:
        following = set()
        for position in reached:
            if position == len(segments):
                continue
            segment = segments[position]
            if segment is _ANY_FOLDERS:
                following.add(position)
            elif segment.match(name):
                following.add(position + 1)
        reached = _with_skips(following, segments)
    return len(segments) in reached


def _with_skips(positions: set[int], segments: list[re.Pattern[str] | None]) -> set[int]:
    """Adds the positions behind each `**`, which may stand for no folder at all."""
    reached = set(positions)
    for position in positions:
        while position < len(segments) and segments[position] is _ANY_FOLDERS:
            position += 1
            reached.add(position)
    return reached
