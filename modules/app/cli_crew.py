"""Commands that look at the crew, the merge queue and the lanes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from typer import Typer

from modules.app.cli_options import (
    HERE,
    BudgetTokens,
    BudgetUsd,
    Check,
    Json,
    Mode,
    Model,
    Repo,
    RunOptions,
    Target,
    WorkerModel,
    Workers,
    folder_of,
)
from modules.app.cli_output import print_json, print_lines
from modules.app.crew_file import crew_at_work, read_crew
from modules.app.opening import Opened, open_repository_at
from modules.app.report import usage_json
from modules.records.messages import Usage
from modules.store.locks import read_lead_pid
from modules.team.queue_view import alarm_lines, read_entries, read_queue
from modules.team.task_board import TaskBoard
from tools.team import worker_line


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.command("demo")(demo)
    app.command("work")(work)
    app.command("team")(team)


def demo(
    folder: Annotated[
        Path | None,
        typer.Option("--dir", help="A new folder to keep the sample in.", metavar="DIR"),
    ] = None,
    as_json: Json = False,
) -> int:
    """Shows the whole job on a sample repository with scripted models: no key, no network."""
    from modules.app.demo import run_demo

    return run_demo(None if folder is None else folder_of(folder), as_json=as_json)


def work(
    repo: Repo = HERE,
    worker_model: WorkerModel = None,
    model: Model = None,
    workers: Workers = None,
    mode: Mode = None,
    check: Check = None,
    target: Target = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    as_json: Json = False,
) -> int:
    """Starts workers for the tasks on the board, lands their work, and ends."""
    from modules.app.cli_run import run_board_command

    options = RunOptions(
        model=model,
        worker_model=worker_model,
        workers=workers,
        mode=mode,
        check=check,
        target=target,
        budget_usd=budget_usd,
        budget_tokens=budget_tokens,
    )
    return run_board_command(folder_of(repo), options, as_json=as_json)


def team(repo: Repo = HERE, as_json: Json = False) -> None:
    """Shows the lead, the workers, and what is on the board and in the queue."""
    opened = open_repository_at(folder_of(repo))
    shown = team_json(opened)
    if as_json:
        print_json(shown)
        return
    lead = shown["lead"]
    lines = [f"lead: pid {lead['pid']}" if isinstance(lead, dict) else "lead: none runs here"]
    lines += [worker_line(worker) for worker in crew_at_work(opened.paths)]
    lines.append("board: " + _counts(shown["board"]))
    lines.append("queue: " + _counts(shown["queue"]))
    lines += alarm_lines(read_queue(opened.paths))
    print_lines(lines)


def team_json(opened: Opened) -> dict[str, object]:
    """Returns what `team --json` prints."""
    view = read_crew(opened.paths.crew)
    pid = read_lead_pid(opened.paths.lead_lock)
    usage, cost = Usage(), None
    if view is not None:
        usage = Usage(input_tokens=view.input_tokens, output_tokens=view.output_tokens)
        cost = view.cost_usd
    return {
        "lead": None if pid is None else {"pid": pid},
        "workers": [
            {
                "name": worker.name,
                "role": worker.role,
                "state": str(worker.state),
                "task": worker.task,
                "pid": worker.pid,
                "since": worker.since.isoformat(),
                "until": None if worker.until is None else worker.until.isoformat(),
                "doing": worker.doing,
                "tools": None if worker.tools is None else list(worker.tools),
                "mode": worker.mode,
            }
            for worker in crew_at_work(opened.paths)
        ],
        "board": _count(
            str(task.status) for task in TaskBoard(opened.paths, clock=opened.clock).tasks()
        ),
        "queue": _count(str(entry.status) for entry in read_entries(opened.paths)),
        "spend": usage_json(usage, cost),
    }


def _count(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _counts(value: object) -> str:
    if not isinstance(value, dict):
        return "nothing"
    return ", ".join(f"{count} {name}" for name, count in value.items()) or "nothing"
