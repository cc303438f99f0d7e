"""The state of the merge queue: the fold of its journal; pure.

1. A record that makes an illegal move changes nothing.
2. Moves: queued → checking → merged; queued or checking → conflicted, failed, rejected, no_changes;
   checking → queued (the check proved nothing, or this program died); queued, conflicted, failed or
   rejected → queued (retry). merged and no_changes are the end.
3. An intended landing wins: until it is done or abandoned its entries can't be taken out.
4. An alarm is over when something else has landed, or what has landed passes after all.
5. A landing is over when all its entries are done; each is merged as its own commit.
6. A review is waited for until it is given, or its task brings another commit.
"""

from collections import Counter
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from modules.records.merges import FINAL_STATUSES, Entry, EntryStatus
from modules.records.queue_records import (
    AlarmEnded,
    AlarmRaised,
    AnyQueueRecord,
    CheckBegun,
    EntryReturned,
    EntrySettled,
    EntrySubmitted,
    FlakeSeen,
    Landing,
    LandingAbandoned,
    LandingDone,
    LandingIntended,
    PublishEnded,
    PublishIntended,
    ReviewAsked,
    ReviewGiven,
    TargetAdopted,
)

_Note = (
    LandingIntended
    | FlakeSeen
    | PublishIntended
    | PublishEnded
    | TargetAdopted
    | AlarmRaised
    | AlarmEnded
    | ReviewAsked
    | ReviewGiven
)
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
        self.alarms: dict[str, AlarmRaised] = {}
        """By target, while what has landed there does not pass the check."""
        self.flakes: Counter[str] = Counter()
        """How often each test failed and then passed; the command stands for unnamed ones."""

        self.reviews: dict[int, ReviewAsked] = {}
        """By task, the work that waits for a review."""
        self.answers: dict[tuple[int, str], ReviewGiven] = {}
        """By task and commit, what was said about it since it was asked about last."""

    @property
    def next_id(self) -> int:
        """The id the next entry gets."""
        return max(self.entries, default=0) + 1

    def open_entries(self, target: str) -> list[Entry]:
        """Returns the entries for `target` that haven't come to their end, oldest first."""
        return [entry for entry in self.entries_for(target) if entry.status not in FINAL_STATUSES]

    def entries_for(self, target: str) -> list[Entry]:
        """Returns all entries for `target`, oldest first."""
        return [entry for key, entry in self.entries.items() if self.targets[key] == target]

    def is_landing(self, entry_id: int) -> bool:
        """True for an entry whose landing is intended and neither done nor abandoned."""
        return self._intended(entry_id) is not None

    def apply(self, record: AnyQueueRecord) -> tuple[Entry, ...]:
        """Takes in a record; returns the entries it changed."""
        match record:
            case EntrySubmitted():
                return self._add(record)
            case CheckBegun():
                return self._move(record.entry_id, EntryStatus.CHECKING, record.at)
            case EntryReturned(entry_id=entry_id, reason=reason):
                return self._move(entry_id, EntryStatus.QUEUED, record.at, reason=reason)
            case EntrySettled():
                return self._settle(record)
            case LandingDone():
                return self._land(record)
            case LandingAbandoned():
                return self._abandon(record)
            case _:
                self._note(record)
        return ()

    def _note(self, record: _Note) -> None:
        match record:
            case LandingIntended():
                self.landing = record
            case FlakeSeen(tests=tests, command=command):
                self.flakes.update(tests or (command,))
            case PublishIntended():
                self.publishing = record
            case PublishEnded():
                self.publishing = None
            case AlarmRaised(target=target):
                self.alarms[target] = record
            case TargetAdopted(target=target) | AlarmEnded(target=target):
                self.alarms.pop(target, None)
            case ReviewAsked(submission=work):
                self.reviews[work.task] = record
                self.answers.pop((work.task, work.commit), None)
            case ReviewGiven(task=task, commit=commit):
                self.reviews.pop(task, None)
                self.answers[task, commit] = record
            case _:
                assert_never(record)

    def _add(self, record: EntrySubmitted) -> tuple[Entry, ...]:
        if record.entry_id in self.entries:
            return ()
        entry = Entry(
            entry_id=record.entry_id,
            submission=record.submission,
            fork=record.fork,
            submitted_at=record.at,
            changed_at=record.at,
        )
        self.entries[record.entry_id] = entry
        self.targets[record.entry_id] = record.target
        return (entry,)

    def _settle(self, record: EntrySettled) -> tuple[Entry, ...]:
        if record.status is EntryStatus.MERGED:
            return ()
        return self._move(
            record.entry_id,
            record.status,
            record.at,
            reason=record.reason,
            conflicts=record.conflicts,
            receipt=record.receipt,
        )

    def _land(self, record: LandingDone) -> tuple[Entry, ...]:
        intent, part = self.landing, self._intended(record.entry_id)
        if intent is not None and not intent.landings and intent.to_commit == record.to_commit:
            self.landing = None
        if intent is None or part is None or part.commit != record.to_commit:
            return ()
        self.alarms.pop(record.target, None)
        rest = tuple(other for other in intent.landings if other != part)
        # Taken out of the intent first: while it is in there nothing else may move it.
        self.landing = replace(intent, landings=rest) if rest else None
        return self._move(
            part.entry_id,
            EntryStatus.MERGED,
            record.at,
            reason=part.note,
            receipt=part.receipt,
            landed_as=part.commit,
            proven_as=part.proven_as,
            flaky=part.flaky,
            landed_onto=part.onto,
        )

    def _abandon(self, record: LandingAbandoned) -> tuple[Entry, ...]:
        intent, self.landing = self.landing, None
        moved: list[Entry] = []
        for part in intent.landings if intent is not None else ():
            moved += self._move(part.entry_id, EntryStatus.QUEUED, record.at, reason=record.reason)
        return tuple(moved)

    def _intended(self, entry_id: int) -> Landing | None:
        parts = self.landing.landings if self.landing is not None else ()
        return next((part for part in parts if part.entry_id == entry_id), None)

    def _move(
        self, entry_id: int, status: EntryStatus, at: datetime, **facts: object
    ) -> tuple[Entry, ...]:
        entry = self.entries.get(entry_id)
        if entry is None or self.is_landing(entry_id) or not can_move(entry.status, status):
            return ()
        blank = {"reason": "", "conflicts": (), "receipt": None}
        moved = replace(entry, status=status, changed_at=at, **{**blank, **facts})
        self.entries[entry_id] = moved
        return (moved,)


def can_move(old: EntryStatus, new: EntryStatus) -> bool:
    """True for a legal move of an entry."""
    return new in _MOVES[old]
