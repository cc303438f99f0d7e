"""The events that tell of the board and of the crew."""

from modules.records.events import TaskChanged, WorkerChanged
from modules.records.tasks import Task
from modules.team.supervisor import Member


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


def worker_event(member: Member, why: str) -> WorkerChanged:
    """Returns the event of a worker whose state is another one."""
    return WorkerChanged(
        at=member.since,
        worker=member.name,
        role=member.role,
        state=str(member.state),
        task=member.task,
        pid=member.pid,
        why=why,
    )
