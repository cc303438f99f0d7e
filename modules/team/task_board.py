"""The task board on disk: any number of processes may read, post and claim."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from modules.records.board_records import (
    AnyBoardRecord,
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
from modules.records.errors import CrewyardError
from modules.records.merges import Receipt
from modules.records.tasks import Claim, Task, TaskDraft
from modules.store.journal import Journal
from modules.store.paths import Paths
from modules.team import board_next, board_rules, board_waits
from modules.team.board_rules import Board


class BoardRefusal(CrewyardError):
    """The board's rules do not allow a change; the message says why."""


class TaskBoard:
    """The board of one repository as this process sees it.

    `on_change` is called after each look at the board with every task that stands elsewhere since
    the last, changed by whatever process, and with those that became or are no longer blocked. What
    the first look finds is no change. `clock` returns the aware UTC time.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        clock: Callable[[], datetime],
        on_change: Callable[[Task], None] = lambda task: None,
    ) -> None:
        self._clock = clock
        self._on_change = on_change
        self._board = Board()
        self._is_loaded = False
        self._changed: dict[int, None] = {}
        """Ids of the tasks to tell of, in the order they changed."""
        self._blocked: dict[int, str] = {}
        """What was blocked at the last look."""
        self._journal: Journal[AnyBoardRecord] = Journal(
            paths.board, AnyBoardRecord, apply=self._apply
        )

    @property
    def skipped_lines(self) -> int:
        """Lines of the journal that could not be read."""
        return self._journal.skipped_lines

    def refresh(self) -> None:
        """Takes in what other processes wrote."""
        self._load()
        try:
            self._journal.catch_up()
        finally:
            self._tell_changes()

    def tasks(self) -> list[Task]:
        """Returns every task as a person sees it, by id."""
        self.refresh()
        board = self._board
        return [board_next.shown(board, board.tasks[task_id]) for task_id in sorted(board.tasks)]

    def explained(self, *, there: Collection[str]) -> list[Task]:
        """Returns every task with what it waits for, by id; `there` are the workers' names."""
        self.refresh()
        board = self._board
        tasks = [board.tasks[task_id] for task_id in sorted(board.tasks)]
        return board_next.explained(board, tasks, there=there, now=self._clock())

    def stuck(self, *, there: Collection[str]) -> dict[int, str]:
        """Returns why tasks don't get on that nobody else tells of, by id."""
        self.refresh()
        return board_next.stuck(self._board, there=there, now=self._clock())

    def found_blocked(self) -> dict[int, str]:
        """Returns why tasks can't begin, by id: of all that are blocked by the same the first."""
        self.refresh()
        return board_next.found_blocked(self._board)

    def next_impatience(self) -> datetime | None:
        """Returns when the next task will have waited too long; None when none will."""
        self.refresh()
        return board_next.next_impatience(self._board, self._clock())

    def assignees(self) -> set[str]:
        """Returns the workers that waiting tasks are for alone."""
        self.refresh()
        return board_next.assignees(self._board)

    def task(self, task_id: int) -> Task:
        """Returns one task; raises BoardRefusal when there is none of that id."""
        self.refresh()
        return board_next.shown(self._board, self._known(task_id))

    def add(self, draft: TaskDraft, *, by: str) -> Task:
        """Posts a task and returns it; raises BoardRefusal when its draft can't stand."""
        added: list[int] = []

        def decide() -> list[AnyBoardRecord]:
            added.append(self._board.next_id)
            return [TaskAdded(at=self._clock(), by=by, task=added[0], draft=draft)]

        self._append(decide)
        return self._board.tasks[added[0]]

    def add_all(
        self, drafts: Sequence[TaskDraft], *, by: str, after: Sequence[Sequence[int]] = ()
    ) -> list[Task]:
        """Posts all tasks or none and returns them.

        `after[n]` are places in `drafts` that the nth task waits for, beside its draft's own ids.
        """
        added: list[int] = []

        def decide() -> list[AnyBoardRecord]:
            first, now = self._board.next_id, self._clock()
            added.extend(range(first, first + len(drafts)))
            posted = [
                TaskAdded(at=now, by=by, task=task_id, draft=draft)
                for task_id, draft in zip(added, drafts, strict=True)
            ]
            # What waits for tasks of the same batch is said once all of them are there.
            joined = [
                TaskEdited(
                    at=now,
                    by=by,
                    task=task_id,
                    draft=replace(draft, after=(*draft.after, *(first + n for n in places))),
                )
                for task_id, draft, places in zip(added, drafts, after, strict=False)
                if places
            ]
            return [*posted, *joined]

        self._append(decide)
        return [self._board.tasks[task_id] for task_id in added]

    def edit(self, task_id: int, change: Callable[[TaskDraft], TaskDraft], *, by: str) -> Task:
        """Describes a task anew and returns it; raises BoardRefusal when it can't be."""

        def decide() -> list[AnyBoardRecord]:
            draft = change(self._known(task_id).draft)
            return [TaskEdited(at=self._clock(), by=by, task=task_id, draft=draft)]

        self._append(decide)
        return self._board.tasks[task_id]

    def replace(self, task_id: int, draft: TaskDraft, *, by: str) -> Task:
        """Posts a task in place of another, which is cancelled; what waited for it waits for the
        new one.
        """
        added: list[int] = []

        def decide() -> list[AnyBoardRecord]:
            self._known(task_id)
            new_id, now = self._board.next_id, self._clock()
            added.append(new_id)
            moved = [
                TaskEdited(
                    at=now,
                    by=by,
                    task=other.task_id,
                    draft=replace(
                        other.draft,
                        after=tuple(new_id if n == task_id else n for n in other.draft.after),
                    ),
                )
                for other in self._board.tasks.values()
                if task_id in other.draft.after and other.status not in board_rules.FINAL
            ]
            records: list[AnyBoardRecord] = [
                TaskAdded(at=now, by=by, task=new_id, draft=draft),
                *moved,
            ]
            if self._board.tasks[task_id].status not in board_rules.FINAL:
                reason = f"replaced by task {new_id}"
                records.append(TaskCancelled(at=now, by=by, task=task_id, reason=reason))
            return records

        self._append(decide)
        return self._board.tasks[added[0]]

    def claim(self, *, worker: str, role: str, lease: timedelta) -> Task | None:
        """Begins an attempt of the task `worker` should take next; None when there is none."""
        taken: list[int] = []

        def decide() -> list[AnyBoardRecord]:
            now = self._clock()
            task = board_next.next_task(self._board, worker=worker, role=role, now=now)
            if task is None:
                return []
            taken.append(task.task_id)
            claim = board_rules.new_claim(task, worker)
            return [TaskClaimed(at=now, by=worker, claim=claim, lease_until=now + lease)]

        self._append(decide)
        return self._board.tasks[taken[0]] if taken else None

    def bind_lane(self, claim: Claim, *, lane: str, branch: str, base: str) -> None:
        """Notes where the attempt is worked on."""
        self._write(
            lambda at: LaneBound(
                at=at, by=claim.worker, claim=claim, lane=lane, branch=branch, base=base
            )
        )

    def renew(self, claim: Claim, lease: timedelta) -> None:
        """Extends the claim's lease; not synced, since losing a renewal loses nothing."""
        self._append(
            lambda: [
                LeaseRenewed(
                    at=self._clock(),
                    by=claim.worker,
                    claim=claim,
                    lease_until=self._clock() + lease,
                )
            ],
            sync=False,
        )

    def submit(self, claim: Claim, *, entry: int) -> None:
        """Notes that the attempt's work is in the merge queue."""
        self._write(lambda at: TaskSubmitted(at=at, by=claim.worker, claim=claim, entry=entry))

    def rework(self, claim: Claim, *, reason: str) -> None:
        """Gives work back to its holder."""
        self._write(lambda at: TaskReworked(at=at, by="queue", claim=claim, reason=reason))

    def release(
        self, claim: Claim, *, reason: str, is_failure: bool, by: str, pause: bool = True
    ) -> Task:
        """Ends the attempt without a landing and returns the task as it stands then.

        A failure makes the task rest before its next attempt unless `pause` is False.
        """

        def record(at: datetime) -> AnyBoardRecord:
            rest = board_waits.pause_before_retry(self._known(claim.task).failures + 1)
            return TaskReleased(
                at=at,
                by=by,
                claim=claim,
                reason=reason,
                is_failure=is_failure,
                not_before=at + rest if is_failure and pause else None,
            )

        self._write(record)
        return self._board.tasks[claim.task]

    def complete_landed(self, task_id: int, *, receipt: Receipt, landed_as: str) -> None:
        """Completes a task whose work has landed; does nothing when that is noted already."""

        def decide() -> list[AnyBoardRecord]:
            if self._known(task_id).landed_as == landed_as:
                return []
            return [
                TaskCompleted(
                    at=self._clock(),
                    by="queue",
                    task=task_id,
                    receipt=receipt,
                    landed_as=landed_as,
                )
            ]

        self._append(decide)

    def complete_unchanged(self, claim: Claim, *, reason: str) -> None:
        """Completes a task that needed no change, for the stated reason."""
        self._write(
            lambda at: TaskCompleted(at=at, by=claim.worker, task=claim.task, reason=reason),
            held=claim,
        )

    def fail(self, task_id: int, *, reason: str, by: str, held: Claim | None = None) -> None:
        """Gives a task up; only while `held` is the task's current claim, where that is given."""
        self._write(lambda at: TaskFailed(at=at, by=by, task=task_id, reason=reason), held=held)

    def park(
        self,
        task_id: int,
        *,
        reason: str,
        by: str,
        until: datetime | None = None,
        held: Claim | None = None,
    ) -> None:
        """Lets a task wait for a time, or for a person when `until` is None.

        Only while `held` is the task's current claim, where that is given.
        """
        self._write(
            lambda at: TaskParked(at=at, by=by, task=task_id, reason=reason, until=until),
            held=held,
        )

    def cancel(self, task_id: int, *, reason: str, by: str) -> None:
        """Takes a task off."""
        self._write(lambda at: TaskCancelled(at=at, by=by, task=task_id, reason=reason))

    def retry(self, task_id: int, *, by: str, reason: str = "") -> None:
        """Puts a failed, cancelled or parked task back."""
        self._write(lambda at: TaskRetried(at=at, by=by, task=task_id, reason=reason))

    def is_current(self, claim: Claim) -> bool:
        """Returns whether `claim` is still the one its task is worked on under."""
        self.refresh()
        task = self._board.tasks.get(claim.task)
        return task is not None and not board_rules.stale_reason(task, claim)

    def has_work_for(self, worker: str, role: str) -> bool:
        """Returns whether a worker could claim a task now."""
        self.refresh()
        task = board_next.next_task(self._board, worker=worker, role=role, now=self._clock())
        return task is not None

    def next_start(self, after: datetime | None = None) -> datetime | None:
        """Returns the earliest time at which a resting task may be claimed, None when none rests.

        Times up to `after`, which is now where it is not given, don't count.
        """
        self.refresh()
        return board_next.next_start(self._board, after or self._clock())

    def _known(self, task_id: int) -> Task:
        if task_id not in self._board.tasks:
            raise BoardRefusal(f"There is no task {task_id}.")
        return self._board.tasks[task_id]

    def _write(
        self, make: Callable[[datetime], AnyBoardRecord], *, held: Claim | None = None
    ) -> None:
        def decide() -> list[AnyBoardRecord]:
            if held is not None:
                _refuse(board_rules.stale_reason(self._known(held.task), held))
            return [make(self._clock())]

        self._append(decide)

    def _append(self, decide: Callable[[], list[AnyBoardRecord]], *, sync: bool = True) -> None:
        def decide_by_the_rules() -> list[AnyBoardRecord]:
            records = decide()
            trial = self._board if len(records) == 1 else self._board.copy()
            for record in records:
                _refuse(board_rules.refusal(trial, record))
                if trial is not self._board:
                    board_rules.apply(trial, record)
            return records

        self._load()
        try:
            self._journal.append(decide_by_the_rules, sync=sync)
        finally:
            self._tell_changes()

    def _apply(self, record: AnyBoardRecord) -> None:
        board_rules.apply(self._board, record)
        if not isinstance(record, LeaseRenewed):
            self._changed[board_rules.task_of(record)] = None

    def _load(self) -> None:
        if not self._is_loaded:
            self._journal.catch_up()
            self._is_loaded = True
            self._changed.clear()
            self._blocked = self._board.blocked

    def _tell_changes(self) -> None:
        if self._board.blocked is not self._blocked:
            before, self._blocked = self._blocked, self._board.blocked
            self._changed.update(dict.fromkeys(sorted(before.keys() ^ self._blocked.keys())))
        changed, self._changed = self._changed, {}
        for task_id in changed:
            task = self._board.tasks.get(task_id)
            if task is not None:
                self._on_change(board_next.shown(self._board, task))


def _refuse(reason: str) -> None:
    """Raises BoardRefusal when there is a reason."""
    if reason:
        raise BoardRefusal(reason)


def task_json(task: Task) -> dict[str, object]:
    """Returns a task as `task list --json` shows it."""
    return {
        "id": task.task_id,
        "subject": task.draft.subject,
        "description": task.draft.description,
        "status": str(task.status),
        "role": task.draft.role,
        "priority": task.draft.priority,
        "after": list(task.draft.after),
        "check": task.draft.check,
        "writes": list(task.draft.writes),
        "attempt": task.attempt,
        "worker": task.worker,
        "lane": task.lane,
        "branch": task.branch,
        "base": task.base,
        "reason": task.reason,
        "verified": task.verified,
        "landed_as": task.landed_as,
        "receipt": None if task.receipt is None else msgspec.to_builtins(task.receipt),
        "added_at": task.added_at.isoformat(),
        "changed_at": task.changed_at.isoformat(),
    }
