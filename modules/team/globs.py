"""Whether two sets of file globs can touch the same file; pure.

1. `**` overlaps everything.
2. A glob without a wildcard stands for that file or folder and everything below it.
3. A glob with one stands for every path that begins as it does before its first wildcard.
4. Two globs overlap when one's beginning begins the other's; doubt counts as overlap.
"""

from collections.abc import Iterable

ANYTHING = "**"
_WILDCARDS = frozenset("*?[{\\")


def overlap(first: Iterable[str], second: Iterable[str]) -> bool:
    """Returns True when a glob of `first` and one of `second` may name the same file."""
    others = [_beginning(glob) for glob in second]
    return any(
        one.startswith(other) or other.startswith(one)
        for one in map(_beginning, first)
        for other in others
    )


def _beginning(glob: str) -> str:
    """Returns what every path a glob stands for begins with, each being followed by a slash."""
    beginning = ""
    for part in glob.split("/"):
        if part == "..":
            return ""
        wildcard = next((at for at, sign in enumerate(part) if sign in _WILDCARDS), None)
        if wildcard is not None:
            return beginning + part[:wildcard]
        if part not in ("", "."):
            beginning += part + "/"
    return beginning
