"""The board's journal: one record a change."""

from datetime import datetime

from modules.records.merges import Receipt
from modules.records.record import Record
from modules.records.tasks import Claim, TaskDraft


class BoardRecord(Record, tag_field="kind"):
    """A change of one task: when, and by whom."""

    at: datetime
    by: str


class ClaimRecord(BoardRecord):
    """A write of the task's holder; it counts only while the claim is the current one."""

    claim: Claim


class TaskAdded(BoardRecord, tag="added"):
    """A task was posted."""

    task: int
    draft: TaskDraft


class TaskEdited(BoardRecord, tag="edited"):
    """A task that nobody is at was described anew."""

    task: int
    draft: TaskDraft


class TaskClaimed(ClaimRecord, tag="claimed"):
    """A worker took a task; a new attempt begins."""

    lease_until: datetime


class LaneBound(ClaimRecord, tag="lane"):
    """The attempt has its lane."""

    lane: str
    branch: str
    base: str


class LeaseRenewed(ClaimRecord, tag="renewed"):
    """The holder showed that it lives."""

    lease_until: datetime


class TaskSubmitted(ClaimRecord, tag="submitted"):
    """The holder handed its work to the merge queue."""

    entry: int


class TaskReworked(ClaimRecord, tag="rework"):
    """The queue gave the work back to its holder."""

    reason: str


class TaskReleased(ClaimRecord, tag="released"):
    """An attempt ended without a landing; the task is free again."""

    reason: str
    is_failure: bool
    """False where the attempt is not held against the task (shutdown, quota)."""
    not_before: datetime | None = None


class TaskCompleted(BoardRecord, tag="completed"):
    """The task is done: landed, or without changes for the stated reason."""

    task: int
    reason: str = ""
    receipt: Receipt | None = None
    landed_as: str = ""


class TaskFailed(BoardRecord, tag="failed"):
    """The task is given up."""

    task: int
    reason: str


class TaskParked(BoardRecord, tag="parked"):
    """The task waits for a time or a person; no attempt is used up."""

    task: int
    reason: str
    until: datetime | None = None


class TaskCancelled(BoardRecord, tag="cancelled"):
    """Somebody took the task off."""

    task: int
    reason: str


class TaskRetried(BoardRecord, tag="retried"):
    """Somebody put a failed, cancelled or parked task back."""

    task: int
    reason: str


AnyBoardRecord = (
    TaskAdded
    | TaskEdited
    | TaskClaimed
    | LaneBound
    | LeaseRenewed
    | TaskSubmitted
    | TaskReworked
    | TaskReleased
    | TaskCompleted
    | TaskFailed
    | TaskParked
    | TaskCancelled
    | TaskRetried
)
