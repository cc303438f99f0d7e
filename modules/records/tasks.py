"""Tasks on the board and the claims on them."""

from datetime import datetime
from enum import StrEnum

from modules.records.merges import Receipt
from modules.records.record import Record


class TaskStatus(StrEnum):
    """Where a task stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    IN_REVIEW = "in_review"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    PARKED = "parked"
    CANCELLED = "cancelled"


class Claim(Record):
    """The right to work on one attempt of one task; every write of its holder carries it."""

    task: int
    attempt: int
    """Counts from 1."""
    generation: int
    """Grows with every claim of the task, so an old holder is told from the new one."""
    worker: str


class TaskDraft(Record):
    """What a person or the lead asks for."""

    subject: str
    description: str = ""
    role: str = ""
    """Role a worker must have; empty: any worker may take it."""
    after: tuple[int, ...] = ()
    """Tasks that must be completed first."""
    priority: int = 2
    """0 is the most urgent, 4 the least."""
    check: str = ""
    """A command that must pass on the landed tree, beside the repository's own check."""
    writes: tuple[str, ...] = ()
    """Globs of the files the task will touch; empty: no claim on files."""
    model: str = ""
    """Model SPEC for this task; empty: the crew's."""
    attempts_allowed: int = 3
    plan: bool = False
    """True where the worker hands in a plan and only reads until it is accepted."""
    assignee: str = ""
    """Name of the one worker that may take it; empty: any."""


class Task(Record):
    """A task as the board shows it."""

    task_id: int
    draft: TaskDraft
    status: TaskStatus = TaskStatus.PENDING
    attempt: int = 0
    """The last attempt begun; 0 before the first."""
    generation: int = 0
    failures: int = 0
    """Attempts that ended without handing work in."""
    worker: str = ""
    lane: str = ""
    branch: str = ""
    base: str = ""
    """Commit the lane was made from."""
    claimed_at: datetime | None = None
    """When the last attempt began."""
    lease_until: datetime | None = None
    not_before: datetime | None = None
    """Earliest time of the next claim (back-off, parking)."""
    added_at: datetime
    changed_at: datetime
    added_by: str
    reason: str = ""
    """Why the task stands where it stands, where that needs a word; at work: why the last attempt
    ended."""
    verified: bool = False
    """True when a receipt proves the landing."""
    receipt: Receipt | None = None
    landed_as: str = ""
