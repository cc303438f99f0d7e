"""How often a server that went away is started again.

1. A start that fails is tried once more; a second failure in a row is the end.
2. A server that was ready and went away is started again after a pause that doubles each time.
3. A server that stayed ready long enough has a clean record again.
4. More losses in a row than the limit are the end.
"""

from modules.mcp_client.values import Limits
from modules.records.record import Record

MAX_FAILED_STARTS = 2


class History(Record):
    """What went wrong with a server so far."""

    failed_starts: int = 0
    """In a row."""
    losses: int = 0
    """Ends of a ready server, in a row."""


def after_end(history: History, *, ready_seconds: float | None, limits: Limits) -> History:
    """Returns the history after one more end; `ready_seconds` is None for a failed start."""
    if ready_seconds is None:
        return History(failed_starts=history.failed_starts + 1, losses=history.losses)
    if ready_seconds >= limits.steady_seconds:
        return History(losses=1)
    return History(losses=history.losses + 1)


def restart_pause(history: History, limits: Limits) -> float | None:
    """Returns how many seconds to wait before the next start; None: it is not started again."""
    if history.failed_starts >= MAX_FAILED_STARTS or history.losses > limits.max_losses:
        return None
    return limits.first_pause_seconds * 2.0 ** max(history.losses - 1, 0)
