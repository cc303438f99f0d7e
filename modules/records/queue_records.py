"""The merge queue's journal: what was decided, written before and after it was done."""

from datetime import datetime

from modules.records.merges import Conflict, EntryStatus, Receipt, Submission
from modules.records.record import Record
from modules.records.settings import Review

NO_ENTRY = 0
"""Entry id of a landing that brings in commits the person made on the target branch."""
NO_TASK = 0
"""Task id of an entry that no task asked for: a revert."""


class QueueRecord(Record, tag_field="record"):
    """Something that happened in the queue at a time."""

    at: datetime


class EntrySubmitted(QueueRecord, tag="submitted"):
    """A commit was pinned and waits its turn."""

    entry_id: int
    target: str
    submission: Submission
    fork: str = ""
    """The newest commit it had in common with what had landed."""


class CheckBegun(QueueRecord, tag="checking"):
    """The entry was merged in memory, and the check runs on the result."""

    entry_id: int
    tree: str


class EntryReturned(QueueRecord, tag="returned"):
    """The entry waits again: retried, or its check proved nothing."""

    entry_id: int
    reason: str


class EntrySettled(QueueRecord, tag="settled"):
    """The entry came to its end without landing."""

    entry_id: int
    status: EntryStatus
    reason: str
    conflicts: tuple[Conflict, ...] = ()
    receipt: Receipt | None = None


class Landing(Record):
    """One entry's part of a landing."""

    entry_id: int
    commit: str
    onto: str = ""
    """What the target would hold without it."""
    receipt: Receipt
    """The proof of its own tree where that was checked; else of the tree the landing ends with."""
    proven_as: str = ""
    """The commit whose tree the receipt proves."""
    flaky: tuple[str, ...] = ()
    """Names of tests that failed on its tree and then passed; the command for unnamed ones."""
    note: str = ""


class LandingIntended(QueueRecord, tag="landing"):
    """What has landed is about to move, if it is still at `from_commit`."""

    target: str
    from_commit: str
    to_commit: str
    receipt: Receipt
    """The proof of the tree of `to_commit`."""
    landings: tuple[Landing, ...]
    """Oldest first; none when only commits of the person's are brought in."""


class LandingDone(QueueRecord, tag="landed"):
    """It moved; only this record makes an entry merged."""

    entry_id: int
    target: str
    to_commit: str
    """The entry's own."""


class LandingAbandoned(QueueRecord, tag="abandoned"):
    """It had moved elsewhere; nothing landed."""

    target: str
    to_commit: str
    reason: str


class FlakeSeen(QueueRecord, tag="flaky"):
    """A check failed on a tree and then passed on it, or on one that holds it."""

    tree: str
    command: str
    log: str
    tests: tuple[str, ...]
    """Names of the tests that failed, as far as the output tells."""


class PublishIntended(QueueRecord, tag="publishing"):
    """The target branch is about to follow, files of its checkout included."""

    target: str
    from_commit: str
    to_commit: str


class PublishEnded(QueueRecord, tag="published"):
    """The target branch followed, or could not."""

    target: str
    to_commit: str
    held: str = ""
    """Why it could not; empty when it did."""


class TargetAdopted(QueueRecord, tag="adopted"):
    """Commits that somebody else put on the target branch count as landed."""

    target: str
    from_commit: str
    """Empty at the very start."""
    to_commit: str


class AlarmRaised(QueueRecord, tag="alarm"):
    """What has landed does not pass the repository's check by itself; no entry is to blame."""

    target: str
    commit: str
    """What had landed."""
    why: str
    is_silent: bool = False
    """True when the check told nothing; then it is tried again from time to time."""


class AlarmEnded(QueueRecord, tag="alarm_over"):
    """It passes again, without anything having landed."""

    target: str


class ReviewAsked(QueueRecord, tag="review_asked"):
    """Work waits for a review before it may be queued."""

    submission: Submission
    of: Review
    """Who has to make it."""


class ReviewGiven(QueueRecord, tag="review_given"):
    """A commit was approved, or sent back."""

    task: int
    commit: str
    accepts: bool
    words: str = ""
    by: str


AnyQueueRecord = (
    EntrySubmitted
    | CheckBegun
    | EntryReturned
    | EntrySettled
    | LandingIntended
    | LandingDone
    | LandingAbandoned
    | FlakeSeen
    | PublishIntended
    | PublishEnded
    | TargetAdopted
    | AlarmRaised
    | AlarmEnded
    | ReviewAsked
    | ReviewGiven
)
