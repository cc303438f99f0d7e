"""The rules of the merge queue; pure.

1. The state is the fold of the journal. A record that makes an illegal move changes nothing.
2. Moves: queued → checking → merged; queued or checking → conflicted, failed, rejected, no_changes;
   checking → queued (the check proved nothing, or this program died); queued, conflicted, failed or
   rejected → queued (retry). merged and no_changes are the end.
3. An intended landing wins: until it is done or abandoned its entry can't be taken out.
4. A task has one open entry: a newer submission rejects the older. A commit that was refused for
   its conflict or its check is not taken again; a new commit is.
5. Order: priority, where each half hour of waiting counts as one step, then age, then id. An entry
   whose check proved nothing on what has landed waits until something else lands or it is retried.
6. Only a passed check lets anything land. A failed or timed out one fails the entry. One that
   proved nothing (no tests, could not run) is tried on what has landed: when that passes, the entry
   is to blame and fails; when it doesn't either, the entry waits and a person is told.
7. A landing may change only paths its submission changed, renames on either side allowed for.
8. The target branch follows what has landed. Commits somebody put on top of it are adopted; commits
   made beside it are merged in, and checked; a branch that was set back is never moved again
   unasked.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from msgspec.structs import replace

from modules.records.merges import FINAL_STATUSES, CheckOutcome, Entry, EntryStatus
from modules.records.queue_records import (
    AnyQueueRecord,
    CheckBegun,
    EntryReturned,
    EntrySettled,
    EntrySubmitted,
    LandingAbandoned,
    LandingDone,
    LandingIntended,
    PublishEnded,
    PublishIntended,
    TargetAdopted,
)

_AGEING = timedelta(minutes=30)
_MOVES = {
    EntryStatus.QUEUED: FINAL_STATUSES - {EntryStatus.MERGED}
    | {EntryStatus.CHECKING, EntryStatus.QUEUED},
    EntryStatus.CHECKING: FINAL_STATUSES | {EntryStatus.QUEUED},
    EntryStatus.CONFLICTED: frozenset({EntryStatus.QUEUED}),
    EntryStatus.FAILED: frozenset({EntryStatus.QUEUED}),
    EntryStatus.REJECTED: frozenset({EntryStatus.QUEUED}),
    EntryStatus.NO_CHANGES: frozenset[EntryStatus](),
    EntryStatus.MERGED: frozenset[EntryStatus](),
}


class QueueState:
    """The fold of the queue's journal."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.targets: dict[int, str] = {}
        """The target branch of each entry."""
        self.landing: LandingIntended | None = None
        """An intended landing that is neither done nor abandoned."""
        self.publishing: PublishIntended | None = None
        """A move of the target branch that was begun and not ended."""

    @property
    def next_id(self) -> int:
        """The id the next entry gets."""
        return max(self.entries, default=0) + 1

    def open_entries(self, target: str) -> list[Entry]:
        """Returns the entries for `target` that haven't come to their end, oldest first."""
        return [
            entry
            for entry in self.entries.values()
            if entry.status not in FINAL_STATUSES and self.targets[entry.entry_id] == target
        ]

    def apply(self, record: AnyQueueRecord) -> Entry | None:
        """Takes in a record; returns the entry it changed."""
        match record:
            case EntrySubmitted():
                return self._add(record)
            case CheckBegun():
                return self._move(record.entry_id, EntryStatus.CHECKING, record.at)
            case EntryReturned(entry_id=entry_id, reason=reason):
                return self._move(entry_id, EntryStatus.QUEUED, record.at, reason=reason)
            case EntrySettled():
                return self._settle(record)
            case LandingIntended():
                self.landing = record
            case LandingDone():
                return self._land(record)
            case LandingAbandoned(entry_id=entry_id, reason=reason):
                self.landing = None
                return self._move(entry_id, EntryStatus.QUEUED, record.at, reason=reason)
            case PublishIntended() | PublishEnded() | TargetAdopted():
                self._follow(record)
            case _:
                assert_never(record)
        return None

    def _follow(self, record: PublishIntended | PublishEnded | TargetAdopted) -> None:
        if isinstance(record, PublishIntended):
            self.publishing = record
        elif isinstance(record, PublishEnded):
            self.publishing = None

    def _add(self, record: EntrySubmitted) -> Entry | None:
        if record.entry_id in self.entries:
            return None
        entry = Entry(
            entry_id=record.entry_id,
            submission=record.submission,
            submitted_at=record.at,
            changed_at=record.at,
        )
        self.entries[record.entry_id] = entry
        self.targets[record.entry_id] = record.target
        return entry

    def _settle(self, record: EntrySettled) -> Entry | None:
        if record.status is EntryStatus.MERGED:
            return None
        return self._move(
            record.entry_id,
            record.status,
            record.at,
            reason=record.reason,
            conflicts=record.conflicts,
            receipt=record.receipt,
        )

    def _land(self, record: LandingDone) -> Entry | None:
        intent, self.landing = self.landing, None
        if intent is None or intent.to_commit != record.to_commit:
            return None
        return self._move(
            record.entry_id,
            EntryStatus.MERGED,
            record.at,
            receipt=intent.receipt,
            landed_as=record.to_commit,
        )

    def _move(
        self, entry_id: int, status: EntryStatus, at: datetime, **facts: object
    ) -> Entry | None:
        entry = self.entries.get(entry_id)
        is_landing = self.landing is not None and self.landing.entry_id == entry_id
        if entry is None or is_landing or not can_move(entry.status, status):
            return None
        blank = {"reason": "", "conflicts": (), "receipt": None}
        moved = replace(entry, status=status, changed_at=at, **{**blank, **facts})
        self.entries[entry_id] = moved
        return moved


def can_move(old: EntryStatus, new: EntryStatus) -> bool:
    """True for a legal move of an entry."""
    return new in _MOVES[old]


def next_entry(entries: Iterable[Entry], *, now: datetime) -> Entry | None:
    """Returns the queued entry whose turn it is."""
    queued = [entry for entry in entries if entry.status is EntryStatus.QUEUED]
    return min(queued, key=lambda entry: _turn(entry, now), default=None)


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


class Verdict(StrEnum):
    """What a check's outcome means for an entry."""

    LAND = "land"
    FAIL = "fail"
    TRY_LANDED = "try_landed"
    """It proved nothing; whose fault that is, the same check on what has landed tells."""
    WAIT = "wait"


def verdict(outcome: CheckOutcome, *, on_landed: CheckOutcome | None = None) -> Verdict:
    """Returns what follows from an entry's check and, where it ran, the one on what has landed."""
    match outcome:
        case CheckOutcome.PASSED:
            return Verdict.LAND
        case CheckOutcome.FAILED | CheckOutcome.TIMED_OUT:
            return Verdict.FAIL
        case CheckOutcome.NO_TESTS | CheckOutcome.COULD_NOT_RUN:
            if on_landed is None:
                return Verdict.TRY_LANDED
            return Verdict.FAIL if on_landed is CheckOutcome.PASSED else Verdict.WAIT
        case _:
            assert_never(outcome)


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


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a merge did since both were one."""

    paths: Sequence[str]
    """Paths that differ, both names of a rename included."""
    renames: Sequence[tuple[str, str]] = ()
    """Pairs (old, new)."""


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


def _turn(entry: Entry, now: datetime) -> tuple[int, datetime, int]:
    waited = (now - entry.submitted_at) // _AGEING
    return entry.submission.priority - max(waited, 0), entry.submitted_at, entry.entry_id
