"""What a task on the board waits for; pure.

1. A task may be claimed when its time has come, every task it waits for is completed, and no task
   under way writes what it would write. `**` is worked on alone.
2. A task is blocked when it can't begin until somebody acts: a task it waits for, directly or not,
   is failed, cancelled, not on the board, or waits for it in turn. It comes back by itself once
   that one is put right.
3. A task without a landing rests before it is tried again; each failure doubles the rest. A rest
   that would last longer than any is over: the clock was set back.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from modules.records.tasks import Task, TaskStatus
from modules.team.globs import ANYTHING, overlap

GIVEN_UP = frozenset({TaskStatus.FAILED, TaskStatus.CANCELLED})
_FIRST_REST = timedelta(seconds=1)
_LONGEST_REST = timedelta(minutes=5)


def wait_reason(
    task: Task,
    tasks: Mapping[int, Task],
    *,
    under_way: Collection[int],
    writers: Iterable[int],
    now: datetime,
) -> str:
    """Returns why `task` may not be claimed now; empty when it may.

    `writers` are those of the tasks under way that say which files they touch.
    """
    return own_reason(task, tasks, now) or files_reason(
        task, tasks, under_way=under_way, writers=writers
    )


def own_reason(task: Task, tasks: Mapping[int, Task], now: datetime) -> str:
    """Returns why `task` may not be claimed now whatever others are at; empty when it may."""
    if task.status is TaskStatus.PARKED and task.not_before is None:
        return "It is parked until somebody retries it."
    until = task.not_before
    if until is not None and until > now and not _is_clock_back(task, until - now):
        return f"It rests until {until:%H:%M:%S}."
    for other in task.draft.after:
        dependency = tasks.get(other)
        if dependency is None or dependency.status is not TaskStatus.COMPLETED:
            return f"It waits for task {other}."
    return ""


def files_reason(
    task: Task,
    tasks: Mapping[int, Task],
    *,
    under_way: Collection[int],
    writers: Iterable[int],
) -> str:
    """Returns which task under way writes what `task` would write; empty when none does."""
    if ANYTHING in task.draft.writes:
        return _touched_by(min(under_way)) if under_way else ""
    for other in writers:
        claimed = tasks[other].draft.writes
        if ANYTHING in claimed or overlap(task.draft.writes, claimed):
            return _touched_by(other)
    return ""


def _is_clock_back(task: Task, rest: timedelta) -> bool:
    return task.status is TaskStatus.PENDING and rest > _LONGEST_REST


def pause_before_retry(failures: int) -> timedelta:
    """Returns how long a task rests after its nth failure."""
    doublings = min(max(0, failures - 1), 20)
    return min(_FIRST_REST * (1 << doublings), _LONGEST_REST)


def find_cycle(tasks: Mapping[int, Task], task_id: int, after: Iterable[int]) -> list[int]:
    """Returns the path from `task_id` back to itself through dependencies; empty when none."""
    came_from = dict.fromkeys(after, task_id)
    stack = list(came_from)
    while stack:
        current = stack.pop()
        if current == task_id:
            return _path_to(task_id, came_from)
        if current in tasks:
            new = [other for other in tasks[current].draft.after if other not in came_from]
            came_from.update(dict.fromkeys(new, current))
            stack.extend(new)
    return []


def find_blocked(tasks: Mapping[int, Task]) -> dict[int, str]:
    """Returns why each blocked task is blocked, by id; each task is looked at once."""
    dependents: dict[int, list[int]] = {}
    blocked: dict[int, str] = {}
    for task_id, task in tasks.items():
        if task.status is TaskStatus.COMPLETED:
            continue
        for other in task.draft.after:
            dependents.setdefault(other, []).append(task_id)
            reason = _blocking_reason(tasks, task_id, other)
            if reason:
                blocked.setdefault(task_id, reason)
    spreading = list(blocked)
    while spreading:
        cause = spreading.pop()
        new = [other for other in dependents.get(cause, ()) if other not in blocked]
        blocked.update(dict.fromkeys(new, blocked[cause]))
        spreading.extend(new)
    return blocked


def _blocking_reason(tasks: Mapping[int, Task], task_id: int, other: int) -> str:
    dependency = tasks.get(other)
    if dependency is None:
        return f"It waits for task {other}, which is not on the board."
    if dependency.status in GIVEN_UP:
        return f"It waits for task {other}, which is {dependency.status}."
    # The board refuses cycles; a file edited by hand may hold one, closed by a task of a later id.
    if other >= task_id and (cycle := find_cycle(tasks, task_id, tasks[task_id].draft.after)):
        return cycle_reason(cycle)
    return ""


def cycle_reason(cycle: Iterable[int]) -> str:
    """Returns a cycle of dependencies in words."""
    return "It would wait for itself: " + " → ".join(map(str, cycle)) + "."


def _path_to(task_id: int, came_from: Mapping[int, int]) -> list[int]:
    path = [task_id, came_from[task_id]]
    while path[-1] != task_id:
        path.append(came_from[path[-1]])
    return path[::-1]


def _touched_by(other: int) -> str:
    return f"Task {other} is at work on files it would touch."
