"""Which tasks wait for too long, and what comes of that; pure.

1. A task waits since the last of these: it was posted, edited or put back; the last task it waits
   for was completed; its rest was over.
2. One that has waited longer than PATIENCE keeps the files it says it touches: no task that would
   touch them begins before it, but one that has waited longer still. A task for one worker alone
   keeps none, for that worker may be long in coming.
3. A task is overtaken when it has waited longer than PATIENCE and one that was posted later was
   begun since.
4. A task is stranded when the one worker that may take it is not there, or when a task it waits
   for, directly or not, is. Workers of the crew's own are always as good as there.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from modules.records.tasks import Task, TaskStatus
from modules.team.addresses import is_crew_name
from modules.team.board_waits import own_reason
from modules.team.globs import ANYTHING, overlap

PATIENCE = timedelta(minutes=30)
Keeper = tuple[datetime, int]
"""A task that keeps its files: since when it waits, and its id."""


def waiting_since(task: Task, tasks: Mapping[int, Task]) -> datetime:
    """Returns since when a task that may begin by itself waits."""
    times = [task.changed_at]
    if task.not_before is not None:
        times.append(task.not_before)
    times += [tasks[other].changed_at for other in task.draft.after if other in tasks]
    return max(times)


def find_keepers(
    tasks: Mapping[int, Task], *, writers: Iterable[int], now: datetime
) -> list[Keeper]:
    """Returns the tasks that keep their files, the one that has waited for longest first.

    `writers` are the waiting tasks that say which files they touch.
    """
    # Most have not stood as they are for long enough, which is the cheapest to see.
    patient = (task_id for task_id in writers if now - tasks[task_id].changed_at > PATIENCE)
    waits = ((waiting_since(tasks[task_id], tasks), task_id) for task_id in patient)
    return sorted(
        (since, task_id)
        for since, task_id in waits
        if now - since > PATIENCE and _may_keep(tasks[task_id], tasks, now)
    )


def keeper_of(task: Task, tasks: Mapping[int, Task], *, keepers: Sequence[Keeper]) -> int | None:
    """Returns the task that has kept files `task` would touch for longest; None where none does."""
    own = (waiting_since(task, tasks), task.task_id)
    older = takewhile(lambda keeper: keeper < own, keepers)
    return next((task_id for _, task_id in older if _would_touch(task, tasks[task_id])), None)


def kept_reason(keeper: int) -> str:
    """Returns why a task waits that touches the files of `keeper`, in words."""
    return f"Task {keeper} has waited longer for files it would touch."


def overtaker(task: Task, tasks: Mapping[int, Task], under_way: Iterable[int]) -> int | None:
    """Returns a task that was posted after `task` and begun while that one waited."""
    since = waiting_since(task, tasks)
    for task_id in under_way:
        claimed_at = tasks[task_id].claimed_at
        if task_id > task.task_id and claimed_at is not None and claimed_at > since:
            return task_id
    return None


def find_stranded(tasks: Mapping[int, Task], *, there: Collection[str]) -> dict[int, str]:
    """Returns why each stranded task is stranded, by id; `there` are the workers' names."""
    stranded = {
        task_id: (task_id, task.draft.assignee)
        for task_id, task in tasks.items()
        if _may_come(task) and _is_nobodys(task.draft.assignee, there)
    }
    spreading = list(stranded)
    dependents = _dependents(tasks) if stranded else {}
    while spreading:
        cause = spreading.pop()
        new = [other for other in dependents.get(cause, ()) if other not in stranded]
        stranded.update(dict.fromkeys(new, stranded[cause]))
        spreading.extend(new)
    return {task_id: _stranded_words(task_id, *cause) for task_id, cause in stranded.items()}


def _stranded_words(task_id: int, cause: int, who: str) -> str:
    if task_id == cause:
        return f"It waits for the worker {who}, who is not there. Spawn {who}, or cancel the task."
    return f"It waits for task {cause}, which waits for the worker {who}, who is not there."


def _may_keep(task: Task, tasks: Mapping[int, Task], now: datetime) -> bool:
    return not task.draft.assignee and not own_reason(task, tasks, now)


def _would_touch(task: Task, other: Task) -> bool:
    return ANYTHING in other.draft.writes or overlap(task.draft.writes, other.draft.writes)


def _may_come(task: Task) -> bool:
    return task.status in (TaskStatus.PENDING, TaskStatus.PARKED)


def _is_nobodys(assignee: str, there: Collection[str]) -> bool:
    return bool(assignee) and assignee not in there and not is_crew_name(assignee)


def _dependents(tasks: Mapping[int, Task]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for task_id, task in tasks.items():
        if _may_come(task):
            for other in task.draft.after:
                found.setdefault(other, []).append(task_id)
    return found
