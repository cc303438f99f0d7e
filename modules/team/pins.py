"""Lets go of refs that keep commits of entries whose end is long ago.

1. An entry's own commit is let go thirty days after it landed or had nothing to change: what it
   brought is in the target's history. What did not land is kept for good.
2. The commit that holds a conflict is let go thirty days after its entry came to any end: it can be
   made again from what is kept.
3. What no entry is known for stays: the journal may have been lost.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from modules.git.refs import CONFLICTS, ENTRIES, delete_refs, read_refs
from modules.git.run_git import Git
from modules.records.merges import FINAL_STATUSES, Entry, EntryStatus

_KEPT = timedelta(days=30)
_IS_IN_HISTORY = frozenset({EntryStatus.MERGED, EntryStatus.NO_CHANGES})


def expired(entries: Iterable[Entry], refs: Mapping[str, str], *, now: datetime) -> dict[str, str]:
    """Returns those of `refs`, name to commit, that need not be kept any more."""
    found: dict[str, str] = {}
    for entry in entries:
        if now - entry.changed_at < _KEPT or entry.status not in FINAL_STATUSES:
            continue
        names = [f"{CONFLICTS}{entry.entry_id}"]
        if entry.status in _IS_IN_HISTORY:
            names.append(f"{ENTRIES}{entry.entry_id}")
        found |= {name: refs[name] for name in names if name in refs}
    return found


def let_go(git: Git, entries: Iterable[Entry], *, now: datetime) -> None:
    """Deletes the refs that need not be kept any more; blocks."""
    if old := expired(entries, read_refs(git, ENTRIES, CONFLICTS), now=now):
        delete_refs(git, old)
