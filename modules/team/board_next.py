"""Which task a worker takes next, and why each of the others is not taken; pure.

1. The most urgent task that fits the worker and waits for nothing is next, then the one with the
   lower id. Where it would touch files that another keeps (board_patience), that one is next in
   its place, as soon as it can be.
2. A task without a role goes to any worker; a worker without a role takes any task. A task with an
   assignee goes to that worker alone.
3. Of a task that nobody takes, people see what it waits for: first what somebody must mend, then
   the time, the task or the files. Blocked is told from merely waiting.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from modules.records.tasks import Task, TaskStatus
from modules.team.board_patience import (
    PATIENCE,
    Keeper,
    find_keepers,
    find_stranded,
    keeper_of,
    kept_reason,
    overtaker,
    waiting_since,
)
from modules.team.board_rules import Board, reason_to_wait
from modules.team.board_waits import own_reason


def next_task(board: Board, *, worker: str, role: str, now: datetime) -> Task | None:
    """Returns the task a worker should take now, None when there is none for it."""
    keepers = _keepers(board, now)
    for _, task_id in board.waiting:
        task = board.tasks[task_id]
        if not _fits(task, worker, role) or reason_to_wait(board, task, now):
            continue
        keeper = _keeper(board, task, keepers)
        if keeper is None:
            return task
        if _fits(keeper, worker, role) and not _reason(board, keeper, keepers, now):
            return keeper
    return None


def next_start(board: Board, after: datetime) -> datetime | None:
    """Returns the earliest time later than `after` at which a waiting task may be claimed."""
    times = (board.tasks[task_id].not_before for _, task_id in board.waiting)
    return min((time for time in times if time is not None and time > after), default=None)


def assignees(board: Board) -> set[str]:
    """Returns the workers that waiting tasks are for alone."""
    tasks = (board.tasks[task_id] for _, task_id in board.waiting)
    return {task.draft.assignee for task in tasks if task.draft.assignee}


def shown(board: Board, task: Task) -> Task:
    """Returns the task as a person sees it: blocked is told from merely waiting."""
    reason = board.blocked.get(task.task_id)
    if task.status is not TaskStatus.PENDING or reason is None:
        return task
    return replace(task, status=TaskStatus.BLOCKED, reason=reason)


def explained(
    board: Board, tasks: Iterable[Task], *, there: Collection[str], now: datetime
) -> list[Task]:
    """Returns tasks as people see them, the pending ones with what each waits for.

    `there` are the workers' names.
    """
    stranded, keepers = _stranded(board, there), _keepers(board, now)
    return [_explained(board, shown(board, task), stranded, keepers, now) for task in tasks]


def stuck(board: Board, *, there: Collection[str], now: datetime) -> dict[int, str]:
    """Returns why tasks don't get on that nobody else tells of, by id.

    Those are the tasks of workers who are not there, and the overtaken ones.
    """
    waiting = [board.tasks[task_id] for _, task_id in board.waiting]
    stranded = _stranded(board, there)
    found = {
        task.task_id: stranded[task.task_id]
        for task in waiting
        if task.task_id in stranded and not own_reason(task, board.tasks, now)
    }
    keepers = _keepers(board, now)
    for task in waiting:
        if task.task_id not in stranded and (why := _overtaken(board, task, keepers, now)):
            found[task.task_id] = why
    return found


def found_blocked(board: Board) -> dict[int, str]:
    """Returns why tasks can't begin, by id: of all that are blocked by the same the first."""
    first: dict[str, int] = {}
    for task_id, why in sorted(board.blocked.items()):
        if board.tasks[task_id].status is TaskStatus.PENDING:
            first.setdefault(why, task_id)
    return {task_id: why for why, task_id in first.items()}


def next_impatience(board: Board, now: datetime) -> datetime | None:
    """Returns when the next task will have waited too long; None when none is on its way there."""
    times = (
        waiting_since(task, board.tasks) + PATIENCE
        for task in (board.tasks[task_id] for _, task_id in board.waiting)
        if not own_reason(task, board.tasks, now)
    )
    return min((time for time in times if time > now), default=None)


def _explained(
    board: Board,
    task: Task,
    stranded: dict[int, str],
    keepers: Sequence[Keeper],
    now: datetime,
) -> Task:
    if task.status is not TaskStatus.PENDING:
        return task
    why = (
        stranded.get(task.task_id)
        or _overtaken(board, task, keepers, now)
        or _reason(board, task, keepers, now)
    )
    return replace(task, reason=f"{why} {task.reason}".strip()) if why else task


def _stranded(board: Board, there: Collection[str]) -> dict[int, str]:
    return find_stranded({id_: board.tasks[id_] for _, id_ in board.waiting}, there=there)


def _overtaken(board: Board, task: Task, keepers: Sequence[Keeper], now: datetime) -> str:
    since = waiting_since(task, board.tasks)
    if now - since <= PATIENCE or own_reason(task, board.tasks, now):
        return ""
    other = overtaker(task, board.tasks, board.under_way)
    if other is None:
        return ""
    why = _reason(board, task, keepers, now) or f"Its priority is {task.draft.priority}."
    return f"It has waited since {since:%H:%M:%S} while task {other}, posted later, began. {why}"


def _reason(board: Board, task: Task, keepers: Sequence[Keeper], now: datetime) -> str:
    """Returns why nobody may take a task now."""
    reason = reason_to_wait(board, task, now)
    keeper = None if reason else _keeper(board, task, keepers)
    return reason if keeper is None else kept_reason(keeper.task_id)


def _keepers(board: Board, now: datetime) -> list[Keeper]:
    return find_keepers(board.tasks, writers=board.waiting_writers, now=now)


def _keeper(board: Board, task: Task, keepers: Sequence[Keeper]) -> Task | None:
    """Returns the task that keeps files this one would touch."""
    keeper = keeper_of(task, board.tasks, keepers=keepers)
    return None if keeper is None else board.tasks[keeper]


def _fits(task: Task, worker: str, role: str) -> bool:
    if task.draft.assignee:
        return task.draft.assignee == worker
    return not role or not task.draft.role or task.draft.role == role
