"""What of earlier attempts at a task the next one goes on with; pure.

1. It goes on with work that was handed in last and came back for its conflict or its check, or
   whose review was not given while its attempt lasted. Of what nobody handed in nobody has said
   that it is any good: that is only named.
2. That is what the last lane left that holds what was handed in; else what was handed in.
3. The new lane starts with it, on top of what has landed, where it goes there without a conflict.
   Else it starts with what has landed alone, and its worker is told what to merge.
4. Nothing is taken away: what is kept of earlier lanes stays where it is.
"""

import re
from collections.abc import Iterable

from modules.records.merges import Entry, EntryStatus, Submission

_CAME_BACK = frozenset({EntryStatus.CONFLICTED, EntryStatus.FAILED})
_KEPT = re.compile(r"/t(\d+)-(\d+)(?:-[^/]*)?/([^/]+)$")
"""The end of the name of a ref that keeps what an attempt's lane left: task, attempt, time."""


def came_back(entries: Iterable[Entry], *, task: int, attempt: int) -> Entry | None:
    """Returns what was handed in last before `attempt`, if that came back; else None."""
    last = _last(entries, task=task, attempt=attempt)
    return last if last is not None and last.status in _CAME_BACK else None


def unreviewed(
    asked: Submission | None, entries: Iterable[Entry], *, task: int, attempt: int
) -> Submission | None:
    """Returns what waits for its review, `asked`, if it was handed in last before `attempt`."""
    if asked is None or asked.task != task or asked.attempt >= attempt:
        return None
    last = _last(entries, task=task, attempt=attempt)
    return asked if last is None or last.submission.attempt <= asked.attempt else None


def _last(entries: Iterable[Entry], *, task: int, attempt: int) -> Entry | None:
    earlier = [
        entry
        for entry in entries
        if entry.submission.task == task and entry.submission.attempt < attempt
    ]
    return earlier[-1] if earlier else None


def kept_of(refs: Iterable[str], *, task: int, attempt: int) -> list[str]:
    """Returns the refs that keep what lanes of the task left before `attempt`, the newest first."""
    found = [
        (int(parts[2]), parts[3], ref)
        for ref in refs
        if (parts := _KEPT.search(ref)) and int(parts[1]) == task and int(parts[2]) < attempt
    ]
    return [ref for _, _, ref in sorted(found, reverse=True)]
