"""When a turn has gone on long enough; pure.

1. A turn has at most `steps` requests.
2. The same call with the same input `repeats` times in a row ends the turn: it will not differ. Not
   so a call that waits for something.
3. An answer cut off by the output limit, or without a word, is asked for again `continuations`
   times in a row; then the turn has failed.
"""

from modules.records.messages import ToolCall
from modules.records.record import Record


class Limits(Record):
    """Bounds of one turn."""

    steps: int = 200
    repeats: int = 6
    continuations: int = 3


class RepeatCount:
    """Counts how often in a row an agent made the same calls."""

    def __init__(self) -> None:
        self._last: tuple[tuple[str, str, str], ...] = ()
        self._times = 0

    def count(self, calls: tuple[ToolCall, ...]) -> int:
        """Takes the calls of one step and returns how often they came in a row."""
        signature = tuple((call.name, repr(call.input), call.fault) for call in calls)
        self._times = self._times + 1 if signature == self._last else 1
        self._last = signature
        return self._times
