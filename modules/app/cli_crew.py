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
from modules.app.crew import lane_text
from modules.app.opening import Opened, open_repository_at
from modules.app.report import usage_json
from modules.app.run import crew_file
from modules.git.lane_state import inspect_lane
from modules.git.lanes import list_lanes
from modules.records.crew import WorkerView
from modules.records.errors import PersonFault
from modules.records.messages import Usage
from modules.store.locks import read_lead_pid
from modules.team.queue_view import read_entries
from modules.team.task_board import TaskBoard
from tools.team import worker_line

worktrees = Typer(help="Look at the crew's worktrees.", no_args_is_help=True)


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.command("demo")(demo)
    app.command("work")(work)
    app.command("team")(team)
    app.add_typer(worktrees, name="worktree")


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
    lines += [worker_line(worker) for worker in _workers(opened)]
    lines.append("board: " + _counts(shown["board"]))
    lines.append("queue: " + _counts(shown["queue"]))
    print_lines(lines)


@worktrees.command("list")
def list_worktrees(repo: Repo = HERE, as_json: Json = False) -> None:
    """Lists the crew's worktrees."""
    opened = open_repository_at(folder_of(repo))
    lanes = list_lanes(opened.repository)
    if as_json:
        print_json(
            [
                {
                    "name": lane.name,
                    "path": str(lane.path),
                    "branch": lane.branch,
                    "base": lane.base,
                }
                for lane in lanes
            ]
        )
    else:
        lines = [f"{lane.name} · {lane.branch} · from {lane.base[:12]}" for lane in lanes]
        print_lines(lines or ["There is no worktree."])


@worktrees.command("info")
def worktree_info(
    name: Annotated[str, typer.Argument(help="A worktree's name.")],
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Tells what is in one worktree."""
    opened = open_repository_at(folder_of(repo))
    lane = next((lane for lane in list_lanes(opened.repository) if lane.name == name), None)
    if lane is None:
        raise PersonFault(
            f"There is no worktree {name!r}.", hint="`crewyard worktree list` names them."
        )
    state = inspect_lane(opened.repository, lane)
    if as_json:
        print_json(
            {
                "name": lane.name,
                "path": str(lane.path),
                "branch": lane.branch,
                "base": lane.base,
                "head": state.head,
                "dirty": list(state.dirty),
                "files": list(state.files),
                "ahead": state.ahead,
                "problem": state.unreadable or state.unfinished,
            }
        )
    else:
        print_lines([lane_text(lane, state)])


def team_json(opened: Opened) -> dict[str, object]:
    """Returns what `team --json` prints."""
    view = crew_file(opened.paths.crew)
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
                "doing": worker.doing,
            }
            for worker in _workers(opened)
        ],
        "board": _count(
            str(task.status) for task in TaskBoard(opened.paths, clock=opened.clock).tasks()
        ),
        "queue": _count(str(entry.status) for entry in read_entries(opened.paths)),
        "spend": usage_json(usage, cost),
    }


def _workers(opened: Opened) -> tuple[WorkerView, ...]:
    view = crew_file(opened.paths.crew)
    if view is None or read_lead_pid(opened.paths.lead_lock) is None:
        return ()
    return view.workers


def _count(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _counts(value: object) -> str:
    if not isinstance(value, dict):
        return "nothing"
    return ", ".join(f"{count} {name}" for name, count in value.items()) or "nothing"
