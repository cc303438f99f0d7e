"""The rules of the task board; pure. What a task waits for is told in board_waits, and which one is
taken next in board_next.

1. The state is the fold of the journal; `apply` is the fold, `refusal` says whether a record may
   be appended.
2. Moves: pending → in_progress (claim) → in_review (submit) → completed (landing);
   in_review → in_progress (rework); in_progress or in_review → completed with a reason (nothing to
   land) or pending (release); anything not final → failed, parked, cancelled; failed, cancelled or
   parked → pending (retry). A landing completes a task wherever it stands: what has landed has
   landed.
3. A claim needs: the task pending, or parked until a time that has come; nothing it waits for.
4. Urgency grows with age and falls a little with each failure.
5. A claim is (task, attempt, generation, worker). A record that carries another than the current
   one is refused.
6. Dependencies name tasks that exist; a cycle is refused with its path. An id is never used twice.
7. An attempt that ends as a failure counts; at the allowed number the task is failed.
8. A task is edited only while nobody is at it and it is not final; the edit must stand like a new
   one.
"""

from bisect import bisect_left, insort
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from modules.records.board_records import (
    AnyBoardRecord,
    ClaimRecord,
    LaneBound,
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
from modules.records.tasks import Claim, Task, TaskDraft, TaskStatus
from modules.team.board_waits import GIVEN_UP, cycle_reason, find_blocked, find_cycle, wait_reason

UNDER_WAY = frozenset({TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW})
FINAL = GIVEN_UP | {TaskStatus.COMPLETED}
RETRIABLE = GIVEN_UP | {TaskStatus.PARKED}
CLAIMABLE = frozenset({TaskStatus.PENDING, TaskStatus.PARKED})
LOWEST_PRIORITY = 4
_POINTS_PER_PRIORITY = 100.0
_POINTS_PER_HOUR = 1.0
_POINTS_PER_FAILURE = 20.0


class Board:
    """The fold of the journal, with indexes so that a claim looks at open tasks only."""

    def __init__(self) -> None:
        self.tasks: dict[int, Task] = {}
        self.waiting: list[tuple[float, int]] = []
        """Pending and parked tasks, the most urgent first: (-urgency, id)."""
        self.under_way: set[int] = set()
        self.writers: set[int] = set()
        """Those of the tasks under way that say which files they touch."""
        self.waiting_writers: set[int] = set()
        """Those of the waiting tasks that do."""
        self.next_id = 1
        self._blocked: dict[int, str] | None = {}

    def copy(self) -> "Board":
        """Returns a board on which something can be tried; tasks themselves never change."""
        twin = Board()
        twin.tasks, twin.next_id, twin._blocked = dict(self.tasks), self.next_id, None
        twin.waiting, twin.under_way = list(self.waiting), set(self.under_way)
        twin.writers, twin.waiting_writers = set(self.writers), set(self.waiting_writers)
        return twin

    @property
    def blocked(self) -> dict[int, str]:
        """Why each blocked task is blocked, by id; another object once something changed."""
        if self._blocked is None:
            self._blocked = find_blocked(self.tasks)
        return self._blocked

    def put(self, task: Task) -> None:
        """Stores `task` and keeps the indexes true."""
        old = self.tasks.get(task.task_id)
        if self._may_change_blocked(old, task):
            self._blocked = None
        self.tasks[task.task_id] = task
        self.take_id(task.task_id)
        if old is not None and old.status in CLAIMABLE:
            del self.waiting[bisect_left(self.waiting, _place(old))]
        for ids in (self.under_way, self.writers, self.waiting_writers):
            ids.discard(task.task_id)
        if task.status in CLAIMABLE:
            insort(self.waiting, _place(task))
            if task.draft.writes:
                self.waiting_writers.add(task.task_id)
        if task.status in UNDER_WAY:
            self.under_way.add(task.task_id)
            if task.draft.writes:
                self.writers.add(task.task_id)

    def take_id(self, task_id: int) -> None:
        """Notes that an id is in use."""
        self.next_id = max(self.next_id, task_id + 1)

    def _may_change_blocked(self, old: Task | None, new: Task) -> bool:
        if old is None:
            # One edited in by hand may be what others wait for, or wait for what is not there.
            return bool(self._blocked) or any(not self._can_come(id_) for id_ in new.draft.after)
        if old.draft.after != new.draft.after:
            return True
        moved = {old.status, new.status} if old.status is not new.status else set()
        return not moved.isdisjoint(FINAL if self._blocked else GIVEN_UP)

    def _can_come(self, task_id: int) -> bool:
        return task_id in self.tasks and self.tasks[task_id].status not in GIVEN_UP


def apply(board: Board, record: AnyBoardRecord) -> None:  # noqa: C901 (one arm a record)
    """Folds one record into the board.

    A record of an unknown task and a second task of a known id change nothing.
    """
    if isinstance(record, TaskAdded):
        _add(board, record)
        return
    task = board.tasks.get(task_of(record))
    if task is None:
        board.take_id(task_of(record))
        return
    task = replace(task, changed_at=record.at)
    match record:
        case TaskEdited(draft=draft):
            task = replace(task, draft=draft)
        case TaskClaimed(claim=claim, lease_until=lease_until):
            task = _claimed(task, claim, lease_until, at=record.at)
        case LaneBound(lane=lane, branch=branch, base=base):
            task = replace(task, lane=lane, branch=branch, base=base)
        case LeaseRenewed(lease_until=lease_until):
            task = replace(task, lease_until=lease_until)
        case TaskSubmitted():
            task = replace(task, status=TaskStatus.IN_REVIEW, reason="")
        case TaskReworked(reason=reason):
            task = replace(task, status=TaskStatus.IN_PROGRESS, reason=reason)
        case TaskReleased():
            task = _released(task, record)
        case TaskCompleted(reason=reason, receipt=receipt, landed_as=landed_as):
            task = replace(
                _freed(task, TaskStatus.COMPLETED, reason),
                receipt=receipt,
                landed_as=landed_as,
                verified=receipt is not None,
            )
        case TaskFailed(reason=reason):
            task = _freed(task, TaskStatus.FAILED, reason)
        case TaskParked(reason=reason, until=until):
            task = replace(_freed(task, TaskStatus.PARKED, reason), not_before=until)
        case TaskCancelled(reason=reason):
            task = _freed(task, TaskStatus.CANCELLED, reason)
        case TaskRetried():
            task = replace(_freed(task, TaskStatus.PENDING, ""), failures=0, not_before=None)
        case _:
            assert_never(record)
    board.put(task)


def task_of(record: AnyBoardRecord) -> int:
    """Returns the id of the task a record is about."""
    return record.claim.task if isinstance(record, ClaimRecord) else record.task


def refusal(board: Board, record: AnyBoardRecord) -> str:
    """Returns why `record` may not be appended; empty when it may."""
    if isinstance(record, TaskAdded):
        if record.task in board.tasks:
            return f"There is a task {record.task} already."
        return draft_refusal(board, record.task, record.draft)
    task = board.tasks.get(task_of(record))
    if task is None:
        return f"There is no task {task_of(record)}."
    if isinstance(record, TaskEdited):
        return _edit_refusal(board, task, record.draft)
    if isinstance(record, TaskClaimed):
        return _claim_refusal(board, task, record.claim, record.at)
    if isinstance(record, ClaimRecord):
        return stale_reason(task, record.claim) or _holder_refusal(task, record)
    return _move_refusal(task, record)


def draft_refusal(board: Board, task_id: int, draft: TaskDraft) -> str:
    """Returns why a draft can't stand on the board as `task_id`; empty when it can."""
    if not draft.subject.strip():
        return "A task needs a subject."
    if not 0 <= draft.priority <= LOWEST_PRIORITY:
        return f"The priority is {draft.priority}; it goes from 0 (urgent) to {LOWEST_PRIORITY}."
    unknown = [other for other in draft.after if other not in board.tasks and other != task_id]
    if unknown:
        return f"It waits for task {unknown[0]}, which is not on the board."
    cycle = find_cycle(board.tasks, task_id, draft.after)
    return cycle_reason(cycle) if cycle else ""


def stale_reason(task: Task, claim: Claim) -> str:
    """Returns why `claim` is not the task's current one; empty when it is."""
    if task.status not in UNDER_WAY:
        return f"Task {task.task_id} is {task.status}; the claim on it has ended."
    if (task.attempt, task.generation, task.worker) != (
        claim.attempt,
        claim.generation,
        claim.worker,
    ):
        return (
            f"Task {task.task_id} is worked on by {task.worker} (attempt {task.attempt}); "
            f"the claim of {claim.worker} (attempt {claim.attempt}) has ended."
        )
    return ""


def new_claim(task: Task, worker: str) -> Claim:
    """Returns the claim that begins the next attempt of `task`."""
    return Claim(
        task=task.task_id,
        attempt=task.attempt + 1,
        generation=task.generation + 1,
        worker=worker,
    )


def current_claim(task: Task) -> Claim:
    """Returns the claim under which `task` is worked on."""
    return Claim(
        task=task.task_id, attempt=task.attempt, generation=task.generation, worker=task.worker
    )


def urgency(task: Task) -> float:
    """Returns how early a task should be taken; more is earlier.

    Every waiting task grows older at the same rate, so the order never changes by itself, and a
    task is put in its place once: a hundred hours of age weigh as much as one priority.
    """
    hours_at_birth = task.added_at.timestamp() / 3600
    return (
        _POINTS_PER_PRIORITY * (LOWEST_PRIORITY - task.draft.priority)
        - _POINTS_PER_HOUR * hours_at_birth
        - _POINTS_PER_FAILURE * task.failures
    )


def reason_to_wait(board: Board, task: Task, now: datetime) -> str:
    """Returns why `task` may not be claimed now; empty when it may."""
    return wait_reason(task, board.tasks, under_way=board.under_way, writers=board.writers, now=now)


def _holder_refusal(task: Task, record: ClaimRecord) -> str:
    """Returns why the holder of `task` may not move it so."""
    if isinstance(record, TaskSubmitted) and task.status is not TaskStatus.IN_PROGRESS:
        return f"Task {task.task_id} is handed in already."
    if isinstance(record, TaskReworked) and task.status is not TaskStatus.IN_REVIEW:
        return f"Task {task.task_id} is not handed in; there is nothing to give back."
    return ""


def _place(task: Task) -> tuple[float, int]:
    return -urgency(task), task.task_id


def _edit_refusal(board: Board, task: Task, draft: TaskDraft) -> str:
    if task.status in UNDER_WAY:
        return f"Task {task.task_id} is {task.status}; {task.worker} is at it. Cancel it first."
    if task.status in FINAL:
        return f"Task {task.task_id} is {task.status}; retry it first, or post another."
    return draft_refusal(board, task.task_id, draft)


def _move_refusal(
    task: Task,
    record: TaskCompleted | TaskFailed | TaskParked | TaskCancelled | TaskRetried,
) -> str:
    if isinstance(record, TaskRetried):
        if task.status in RETRIABLE:
            return ""
        return (
            f"Task {task.task_id} is {task.status}; only a failed, cancelled or parked task can "
            "be retried."
        )
    if isinstance(record, TaskCompleted) and record.receipt is not None:
        # What has landed has landed, whatever was decided about the task meanwhile.
        return "" if task.status is not TaskStatus.COMPLETED else _final_reason(task)
    if task.status in FINAL:
        return _final_reason(task)
    if isinstance(record, TaskCompleted) and not (record.reason and task.status in UNDER_WAY):
        return "A task without a landing completes only when it is at work, and with a reason."
    return ""


def _final_reason(task: Task) -> str:
    return f"Task {task.task_id} is {task.status} already."


def _add(board: Board, record: TaskAdded) -> None:
    if record.task in board.tasks:
        return
    for other in record.draft.after:
        board.take_id(other)
    board.put(
        Task(
            task_id=record.task,
            draft=record.draft,
            added_at=record.at,
            changed_at=record.at,
            added_by=record.by,
        )
    )


def _claimed(task: Task, claim: Claim, lease_until: datetime, *, at: datetime) -> Task:
    # The reason stays: the new attempt is told why the last one ended.
    return replace(
        task,
        status=TaskStatus.IN_PROGRESS,
        attempt=claim.attempt,
        generation=claim.generation,
        worker=claim.worker,
        claimed_at=at,
        lease_until=lease_until,
        not_before=None,
        lane="",
        branch="",
        base="",
    )


def _released(task: Task, record: TaskReleased) -> Task:
    failures = task.failures + (1 if record.is_failure else 0)
    if record.is_failure and failures >= task.draft.attempts_allowed:
        reason = f"{failures} attempts failed; the last: {record.reason}"
        return replace(_freed(task, TaskStatus.FAILED, reason), failures=failures)
    return replace(
        _freed(task, TaskStatus.PENDING, record.reason),
        failures=failures,
        not_before=record.not_before,
    )


def _freed(task: Task, status: TaskStatus, reason: str) -> Task:
    return replace(task, status=status, reason=reason, lease_until=None, not_before=None)


def _claim_refusal(board: Board, task: Task, claim: Claim, now: datetime) -> str:
    if task.status not in CLAIMABLE:
        return f"Task {task.task_id} is {task.status}."
    if claim != new_claim(task, claim.worker):
        return f"The claim on task {task.task_id} was made on an older state of it."
    return reason_to_wait(board, task, now)
