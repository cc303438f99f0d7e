"""How the board and the crew stand, for a lead whose conversation was compacted; pure.

1. Every task that is not over is told. Of those that are, the newest are told and the rest counted.
2. What it says was true at that time; the tools tell how it is now.
"""

from collections.abc import Sequence

from modules.app.visible_text import visible_line
from modules.records.crew import WorkerView
from modules.records.tasks import Task, TaskStatus
from modules.team.mailbox import without_our_tags

TOLD_OVER = 20
"""Tasks that are over and are told one by one."""
_OVER = (TaskStatus.COMPLETED, TaskStatus.CANCELLED)


def crew_digest(tasks: Sequence[Task], workers: Sequence[WorkerView]) -> str:
    """Returns the board and the crew in words; empty when there is neither."""
    if not tasks and not workers:
        return ""
    over = [task.task_id for task in tasks if task.status in _OVER]
    untold = set(over[:-TOLD_OVER])
    lines = ["The board at that time (board_list tells how it is now):"]
    if untold:
        lines.append(f"- {len(untold)} older tasks are over")
    lines += [_task_line(task) for task in tasks if task.task_id not in untold]
    if workers:
        lines.append("The crew at that time (list_teammates tells how it is now):")
        lines += [_worker_line(worker) for worker in workers]
    return "\n".join(lines)


def _task_line(task: Task) -> str:
    subject = without_our_tags(visible_line(task.draft.subject))
    parts = [f"- task {task.task_id} ({subject}): {task.status}"]
    if task.worker and task.status not in _OVER:
        parts.append(f"by {task.worker}")
    if task.landed_as:
        parts.append(f"landed as {task.landed_as[:12]}")
    return ", ".join(parts)


def _worker_line(worker: WorkerView) -> str:
    role = f" ({worker.role})" if worker.role else ""
    at = "" if worker.task is None else f", task {worker.task}"
    return f"- {worker.name}{role}: {worker.state}{at}"
