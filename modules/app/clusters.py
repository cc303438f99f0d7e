"""What a person sees as one character, though it may be several in the text; pure.

1. The cursor steps over a cluster and a deletion takes all of it.
2. An emoji of several parts is shown by its first part: terminals don't agree on the width of the
   whole, and where they differ from us the cursor would stand in the wrong place.
3. A tab is shown as four spaces.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

_JOINER = "\u200d"
_SELECTORS = "\ufe0e\ufe0f"
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_TAB = "    "


def cluster_before(text: str, position: int) -> int:
    """Returns how many characters the cluster holds that ends at `position`."""
    if position == 0:
        return 0
    starts = _starts(_clusters(text))
    return position - max(start for start in starts if start < position)


def cluster_after(text: str, position: int) -> int:
    """Returns how many characters the cluster holds that begins at `position`."""
    later = [start for start in _starts(_clusters(text)) if start > position]
    return (later[0] if later else len(text)) - position


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line as it is shown, and where each of its characters then stands."""

    text: str
    columns: Sequence[int]
    """For each place in the line, its end included, the place in `text`."""

    def to_shown(self, position: int) -> int:
        """Returns where a place of the line is shown."""
        last = len(self.columns) - 1
        return self.columns[position] if position <= last else self.columns[last] + position - last

    def to_line(self, position: int) -> int:
        """Returns the place of the line that is shown at `position`."""
        return bisect_left(self.columns, self.columns[bisect_right(self.columns, position) - 1])


def shown_line(line: str) -> ShownLine:
    """Returns a line as it is shown."""
    if line.isascii() and "\t" not in line:
        return ShownLine(line, range(len(line) + 1))
    parts: list[str] = []
    columns: list[int] = []
    width = 0
    for cluster in _clusters(line):
        columns += [width] * len(cluster)
        parts.append(_shown(cluster))
        width += len(parts[-1])
    return ShownLine("".join(parts), [*columns, width])


def _shown(cluster: str) -> str:
    from wcwidth import wcwidth

    if cluster == "\t":
        return _TAB
    if len(cluster) == 1:
        return cluster
    first = cluster.partition(_JOINER)[0] if wcwidth(cluster[0]) == 2 else cluster
    kept = "".join(sign for sign in first[1:] if sign not in _SELECTORS + _SKIN_TONES)
    return cluster[0] + kept


def _clusters(text: str) -> list[str]:
    if text.isascii():
        return list(text)
    from wcwidth import iter_graphemes

    return list(iter_graphemes(text))


def _starts(clusters: Sequence[str]) -> list[int]:
    return [0, *accumulate(map(len, clusters))][:-1]
