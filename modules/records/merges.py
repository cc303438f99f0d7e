"""The merge queue's values."""

from datetime import datetime
from enum import StrEnum

from modules.records.record import Record


class CheckOutcome(StrEnum):
    """How a check ended; only `PASSED` lets anything land."""

    PASSED = "passed"
    FAILED = "failed"
    NO_TESTS = "no_tests"
    TIMED_OUT = "timed_out"
    COULD_NOT_RUN = "could_not_run"


class Receipt(Record):
    """The proof kept with a landing: what was run on which tree, and how it ended."""

    tree: str
    """Object id of the tree the check ran on."""
    command: str
    outcome: CheckOutcome
    exit_code: int | None
    """None when the command did not end by itself."""
    seconds: float
    log: str = ""
    """Path of the log, relative to the repository's root."""


class Strategy(StrEnum):
    """What an entry becomes in the target's history."""

    SQUASH = "squash"
    """One commit, by the author of its last."""
    MERGE = "merge"
    """A merge of its own commits."""
    REBASE = "rebase"
    """Its own commits, each on top of the one before."""


class EntryStatus(StrEnum):
    """Where a merge queue entry stands."""

    QUEUED = "queued"
    CHECKING = "checking"
    MERGED = "merged"
    CONFLICTED = "conflicted"
    FAILED = "failed"
    REJECTED = "rejected"
    NO_CHANGES = "no_changes"


FINAL_STATUSES = frozenset(
    {
        EntryStatus.MERGED,
        EntryStatus.CONFLICTED,
        EntryStatus.FAILED,
        EntryStatus.REJECTED,
        EntryStatus.NO_CHANGES,
    }
)


class Conflict(Record):
    """One path that could not be merged."""

    path: str
    kind: str
    """git's own word: `contents`, `modify/delete`, `rename/delete`, `add/add` …"""
    hunk: str = ""
    """The first lines between the markers, bounded."""
    landed_by: tuple[str, ...] = ()
    """Subjects of the landings that touched the path since the merge base."""


class Submission(Record):
    """What a worker hands to the queue."""

    task: int
    subject: str
    attempt: int
    generation: int
    worker: str
    branch: str
    commit: str
    base: str
    summary: str
    files: tuple[str, ...]
    check: str = ""
    """The task's own acceptance command."""
    priority: int = 2
    """The task's; 0 is the most urgent."""
    reverts: int | None = None
    """Id of the entry it takes back."""

    @property
    def files_counted(self) -> str:
        """How many files it changes, in words."""
        return "1 file" if len(self.files) == 1 else f"{len(self.files)} files"


class Entry(Record):
    """One pinned commit in the queue."""

    entry_id: int
    submission: Submission
    fork: str = ""
    """The newest commit it had in common with what had landed when it was submitted."""
    status: EntryStatus = EntryStatus.QUEUED
    submitted_at: datetime
    changed_at: datetime
    reason: str = ""
    conflicts: tuple[Conflict, ...] = ()
    receipt: Receipt | None = None
    landed_as: str = ""
    proven_as: str = ""
    """The commit whose tree the receipt proves: its own, or a later one it landed together with."""
    flaky: tuple[str, ...] = ()
    """Names of tests that failed on its tree and then passed; the command for unnamed ones."""
    landed_onto: str = ""
    """The commit it landed on top of."""
