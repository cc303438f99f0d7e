"""What a run came to: its exit code and its report, for people and for programs; pure."""

from collections.abc import Iterable

from modules.records.exits import Exit
from modules.records.messages import Usage
from modules.records.record import Record
from modules.records.tasks import Task, TaskStatus
from modules.team.task_board import task_json

_LEFT_OVER = {
    TaskStatus.FAILED,
    TaskStatus.BLOCKED,
    TaskStatus.PARKED,
    TaskStatus.PENDING,
    TaskStatus.IN_PROGRESS,
    TaskStatus.IN_REVIEW,
}


class RunReport(Record):
    """What came of a run."""

    result: str
    """The lead's last words, or one line about the drained board."""
    tasks: tuple[Task, ...]
    """The tasks this run was about."""
    landed: tuple[str, ...]
    """Commits landed in this run, oldest first."""
    worker_tasks: dict[str, list[int]]
    """The tasks each worker was at."""
    usage: Usage
    cost_usd: float | None
    seconds: float
    exit_code: Exit
    error: str = ""
    """What ended it before its end; empty where nothing did."""


def failed_report(error: str, exit_code: Exit) -> RunReport:
    """Returns the report of a run that something kept from beginning."""
    return RunReport(
        result=error,
        tasks=(),
        landed=(),
        worker_tasks={},
        usage=Usage(),
        cost_usd=None,
        seconds=0.0,
        exit_code=exit_code,
        error=error,
    )


def exit_code_of(tasks: Iterable[Task]) -> Exit:
    """Returns the exit code of a run that ended by itself."""
    return Exit.UNFINISHED if any(task.status in _LEFT_OVER for task in tasks) else Exit.DONE


def summary_line(tasks: Iterable[Task]) -> str:
    """Returns how many tasks stand where, on one line."""
    counts: dict[str, int] = {}
    for task in tasks:
        counts[str(task.status)] = counts.get(str(task.status), 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "no tasks"


def report_json(report: RunReport) -> dict[str, object]:
    """Returns the report as `--json` prints it."""
    error = {"error": report.error} if report.error else {}
    return {
        "result": report.result,
        "tasks": [task_json(task) for task in report.tasks],
        "landed": list(report.landed),
        "workers": [
            {"name": name, "tasks": tasks} for name, tasks in sorted(report.worker_tasks.items())
        ],
        "usage": usage_json(report.usage, report.cost_usd),
        "seconds": round(report.seconds, 3),
        "exit_code": int(report.exit_code),
        **error,
    }


def usage_json(usage: Usage, cost_usd: float | None) -> dict[str, object]:
    """Returns tokens and money as `--json` prints them; `cost_usd` is null for unknown prices."""
    return {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "cached": usage.cached_tokens,
        "cost_usd": cost_usd,
        "is_estimate": usage.is_estimate,
    }
