"""The events that tell of the board and of the crew."""

from datetime import datetime

from modules.records.crew import WorkerState
from modules.records.events import TaskChanged, WorkerChanged
from modules.records.tasks import Task
from modules.team.member import Member


def task_event(task: Task) -> TaskChanged:
    """Returns the event of a task that stands elsewhere."""
    return TaskChanged(
        at=task.changed_at,
        task=task.task_id,
        subject=task.draft.subject,
        status=str(task.status),
        worker=task.worker,
        attempt=task.attempt,
        reason=task.reason,
        landed_as=task.landed_as,
    )


def worker_event(member: Member, *, at: datetime) -> WorkerChanged:
    """Returns the event of a worker whose state, or what it waits for, is another one."""
    view = member.view()
    return WorkerChanged(
        at=at,
        worker=view.name,
        role=view.role,
        state=str(view.state),
        task=view.task,
        pid=view.pid,
        why=view.doing if view.state is WorkerState.WAITING else "",
        until=view.until,
    )
