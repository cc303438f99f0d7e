"""The rules of the merge queue; pure. How entries move is in queue_state, what is checked when in
probe_plan.

1. A task has one open entry: a newer submission rejects the older. A commit that was refused for
   its conflict or its check is not taken again; a new commit is.
2. Order: priority, where each half hour of waiting counts as one step, then age, then id. Entries
   of a chain that is being checked, or of which something is known, keep their places in front.
3. A landing may change only paths its submission changed, renames on either side allowed for.
4. The target branch follows what has landed. Commits somebody put on top of it are adopted; commits
   made beside it are merged in, and checked; a branch that was set back is never moved again
   unasked.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from modules.git.changes import Side
from modules.records.merges import Entry, EntryStatus

_AGEING = timedelta(minutes=30)


def in_turn(entries: Iterable[Entry], *, first: Sequence[int], now: datetime) -> list[Entry]:
    """Returns the entries in the order of their turns; those with an id in `first` lead."""
    places = {entry_id: place for place, entry_id in enumerate(first)}

    def turn(entry: Entry) -> tuple[int, int, datetime, int]:
        place = places.get(entry.entry_id, len(places))
        steps = max((now - entry.submitted_at) // _AGEING, 0)
        urgency = entry.submission.priority - steps
        return place, urgency, entry.submitted_at, entry.entry_id

    return sorted(entries, key=turn)


def superseded(entries: Iterable[Entry], *, task: int) -> list[Entry]:
    """Returns the open entries that a new submission of `task` takes the place of."""
    return [entry for entry in entries if task and entry.submission.task == task]


def refused_before(entries: Iterable[Entry], *, task: int, commit: str) -> Entry | None:
    """Returns the entry that was refused for this very commit of the task."""
    refused = (EntryStatus.FAILED, EntryStatus.CONFLICTED)
    found = [
        entry
        for entry in entries
        if entry.status in refused
        and (entry.submission.task, entry.submission.commit) == (task, commit)
    ]
    return found[-1] if found else None


class Position(StrEnum):
    """Where the target branch stands against what has landed."""

    LEVEL = "level"
    BEHIND = "behind"
    """It has not followed yet."""
    AHEAD = "ahead"
    """Somebody put commits on top of what has landed."""
    BESIDE = "beside"
    """Somebody put commits on it before it followed."""
    SET_BACK = "set_back"
    """Somebody took away what it had followed to."""
    GONE = "gone"


def position(
    *, target: str, landed: str, published: str, is_ancestor: Callable[[str, str], bool]
) -> Position:
    """Judges the target branch; all are commits, an empty `target` is no branch."""
    if not target:
        return Position.GONE
    if target == landed:
        return Position.LEVEL
    if is_ancestor(landed, target):
        return Position.AHEAD
    if not is_ancestor(published, target):
        return Position.SET_BACK
    return Position.BEHIND if is_ancestor(target, landed) else Position.BESIDE


def strays(*, landing: Iterable[str], submitted: Side, landed: Side) -> list[str]:
    """Returns the paths a landing would change although its submission did not.

    What one side changed or added under a name the other renamed, file or folder, moves along.
    """
    allowed = set(submitted.paths) | _moved(submitted.paths, landed.renames)
    carried = _moved(landed.paths, submitted.renames)
    if carried:
        folders = [_differing_folders(old, new)[0] for old, new in submitted.renames]
        allowed |= carried | {p for p in landed.paths if any(_lies_in(p, f) for f in folders)}
    return sorted(set(landing) - allowed)


def _moved(paths: Sequence[str], pairs: Sequence[tuple[str, str]]) -> set[str]:
    """Returns where `paths` lie after the renames of `pairs`."""
    moved = {new for old, new in pairs if old in set(paths)}
    for old, new in pairs:
        before, after = _differing_folders(old, new)
        if before != after:
            moved |= {after + p.removeprefix(before) for p in paths if _lies_in(p, before)}
    return moved


def _lies_in(path: str, folder: str) -> bool:
    return path.startswith(folder) if folder else "/" not in path


def _differing_folders(old: str, new: str) -> tuple[str, str]:
    """Returns the folders, ending in a slash, that a rename turned one into the other."""
    olds, news = old.split("/")[:-1], new.split("/")[:-1]
    while olds and news and olds[-1] == news[-1]:
        olds.pop()
        news.pop()
    return "".join(f"{name}/" for name in olds), "".join(f"{name}/" for name in news)
