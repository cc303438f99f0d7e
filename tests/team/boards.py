"""A board in memory for tests of its rules, and short ways to write on it."""

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from modules.records.board_records import (
    AnyBoardRecord,
    LeaseRenewed,
    TaskAdded,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskEdited,
    TaskFailed,
    TaskParked,
    TaskReleased,
    TaskRetried,
    TaskReworked,
    TaskSubmitted,
)
from modules.records.merges import CheckOutcome, Receipt
from modules.records.tasks import Claim, Task, TaskDraft, TaskStatus
from modules.team.board_next import next_task, shown
from modules.team.board_rules import (
    Board,
    apply,
    current_claim,
    new_claim,
    refusal,
)
from tests.fakes.clock import START, FakeClock

LEASE = timedelta(seconds=120)
RECEIPT = Receipt(
    tree="t1", command="make", outcome=CheckOutcome.PASSED, exit_code=0, seconds=1.5, log="l"
)


class Refused(Exception):
    """The rules said no."""


class RuledBoard:
    """A board that takes a record when the rules allow it, as the one on disk does."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.board = Board()
        self.records: list[AnyBoardRecord] = []

    def write(self, record: AnyBoardRecord) -> None:
        """Takes a record; raises Refused when the rules don't allow it."""
        reason = refusal(self.board, record)
        if reason:
            raise Refused(reason)
        apply(self.board, record)
        self.records.append(record)

    def write_unchecked(self, record: AnyBoardRecord) -> None:
        """Takes a record somebody wrote into the file past the rules."""
        apply(self.board, record)

    def add(self, subject: str = "do it", *, task_id: int = 0, **draft: Any) -> int:
        """Posts a task and returns its id."""
        task = task_id or self.board.next_id
        self.write(
            TaskAdded(at=self.now, by="p", task=task, draft=TaskDraft(subject=subject, **draft))
        )
        return task

    def edit(self, task_id: int, **change: Any) -> None:
        draft = replace(self.task(task_id).draft, **change)
        self.write(TaskEdited(at=self.now, by="p", task=task_id, draft=draft))

    def take(self, worker: str = "w1", role: str = "") -> Claim | None:
        """Claims what the worker should take next."""
        task = next_task(self.board, worker=worker, role=role, now=self.now)
        return None if task is None else self.claim(task.task_id, worker)

    def claim(self, task_id: int, worker: str = "w1") -> Claim:
        """Claims a task by its id."""
        claim = new_claim(self.task(task_id), worker)
        self.write(TaskClaimed(at=self.now, by=worker, claim=claim, lease_until=self.now + LEASE))
        return claim

    def submit(self, claim: Claim) -> None:
        self.write(TaskSubmitted(at=self.now, by=claim.worker, claim=claim, entry=1))

    def rework(self, claim: Claim) -> None:
        self.write(TaskReworked(at=self.now, by="queue", claim=claim, reason="red"))

    def renew(self, claim: Claim) -> None:
        self.write(
            LeaseRenewed(at=self.now, by=claim.worker, claim=claim, lease_until=self.now + LEASE)
        )

    def release(
        self, claim: Claim, *, is_failure: bool = False, not_before: datetime | None = None
    ) -> None:
        self.write(
            TaskReleased(
                at=self.now,
                by="lead",
                claim=claim,
                reason="over",
                is_failure=is_failure,
                not_before=not_before,
            )
        )

    def land(self, task_id: int) -> None:
        self.write(
            TaskCompleted(
                at=self.now, by="queue", task=task_id, receipt=RECEIPT, landed_as=f"c{task_id}"
            )
        )

    def complete(self, task_id: int, *, reason: str = "nothing to do") -> None:
        self.write(TaskCompleted(at=self.now, by="w", task=task_id, reason=reason))

    def fail(self, task_id: int) -> None:
        self.write(TaskFailed(at=self.now, by="lead", task=task_id, reason="too hard"))

    def park(self, task_id: int, *, until: datetime | None = None) -> None:
        self.write(TaskParked(at=self.now, by="lead", task=task_id, reason="quota", until=until))

    def cancel(self, task_id: int) -> None:
        self.write(TaskCancelled(at=self.now, by="p", task=task_id, reason="not wanted"))

    def retry(self, task_id: int) -> None:
        self.write(TaskRetried(at=self.now, by="p", task=task_id, reason=""))

    @property
    def now(self) -> datetime:
        return self.clock()

    def task(self, task_id: int) -> Task:
        """Returns a task as it is kept."""
        return self.board.tasks[task_id]

    def seen(self, task_id: int) -> tuple[TaskStatus, str]:
        """Returns what a person sees of a task: status and reason."""
        task = shown(self.board, self.task(task_id))
        return task.status, task.reason

    def current(self, task_id: int) -> Claim:
        return current_claim(self.task(task_id))


def folded(records: list[AnyBoardRecord]) -> Board:
    """Returns the board that replaying records gives."""
    board = Board()
    for record in records:
        apply(board, record)
    return board


def state(board: Board) -> tuple[object, ...]:
    """Returns everything a board knows."""
    return board.tasks, board.waiting, board.under_way, board.next_id, board.blocked


def hand_written(after: dict[int, tuple[int, ...]]) -> list[AnyBoardRecord]:
    """Returns a journal somebody edited: tasks with the ids they wait for."""
    return [
        TaskAdded(at=START, by="p", task=task, draft=TaskDraft(subject="s", after=others))
        for task, others in after.items()
    ]
