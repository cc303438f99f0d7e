"""Commands for the task board; they work beside a running lead, under the same lock."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer
from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.opening import Opened, open_repository_at
from modules.app.why import causes_of
from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.tasks import TaskDraft
from modules.team.task_board import BoardRefusal, TaskBoard, task_json
from tools.board import task_line

TaskId = Annotated[int, typer.Argument(help="Id of the task.", metavar="ID")]
ResultT = TypeVar("ResultT")

tasks = Typer(help="Post tasks on the board and look at them.", no_args_is_help=True)


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(tasks, name="task")
    app.command("why")(why)


def why(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Tells who decided what about a task, when, and on what grounds."""
    opened = open_repository_at(folder_of(repo))
    _allowed(lambda: _board_of(opened).task(task_id))
    causes = causes_of(opened.paths, task_id)
    if as_json:
        print_json([msgspec.to_builtins(cause) for cause in causes])
        return
    for cause in causes:
        reason = f": {cause.why}" if cause.why else ""
        print_lines([f"{cause.at:%H:%M:%S} {cause.by} · {cause.what}{reason}"])


@tasks.command("add")
def add(
    subject: Annotated[str, typer.Argument(help="What is to be done, on one line.")],
    description: Annotated[str, typer.Option(help="What is wanted, and how one can tell.")] = "",
    role: Annotated[str, typer.Option(help="Role a worker must have.")] = "",
    after: Annotated[
        list[int] | None, typer.Option(help="Task that must be completed first; repeatable.")
    ] = None,
    priority: Annotated[int, typer.Option(min=0, max=4, help="0 is the most urgent.")] = 2,
    check: Annotated[str, typer.Option(help="Command that must pass for this task.")] = "",
    writes: Annotated[
        list[str] | None, typer.Option(help="Glob of files it will touch; repeatable.")
    ] = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Posts a task."""
    board = _board(repo)
    draft = TaskDraft(
        subject=subject,
        description=description,
        role=role,
        after=tuple(after or ()),
        priority=priority,
        check=check,
        writes=tuple(writes or ()),
    )
    task = _allowed(lambda: board.add(draft, by="person"))
    if as_json:
        print_json(task_json(task))
    else:
        print_lines([task_line(task)])


@tasks.command("list")
def list_tasks(repo: Repo = HERE, as_json: Json = False) -> None:
    """Lists all tasks."""
    found = _board(repo).tasks()
    if as_json:
        print_json([task_json(task) for task in found])
    else:
        print_lines([task_line(task) for task in found] or ["The board is empty."])


@tasks.command("show")
def show(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Shows one task whole."""
    opened = open_repository_at(folder_of(repo))
    task = _allowed(lambda: _board_of(opened).task(task_id))
    if as_json:
        print_json(task_json(task))
        return
    lines = [task_line(task)]
    if task.draft.description:
        lines += ["", task.draft.description]
    if task.receipt is not None:
        receipt = task.receipt
        lines += [
            "",
            f"check: {receipt.command} · {receipt.outcome} · {receipt.seconds:.1f} s",
            f"tree: {receipt.tree}",
        ]
    result = opened.paths.result(task.task_id, task.attempt)
    if result.is_file():
        lines += ["", f"result: {result.relative_to(opened.paths.root)}"]
    print_lines(lines)


@tasks.command("retry")
def retry(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Puts a failed, cancelled or parked task back."""
    board = _board(repo)
    _allowed(lambda: board.retry(task_id, by="person"))
    _print_task(board, task_id, as_json=as_json)


@tasks.command("cancel")
def cancel(
    task_id: TaskId,
    reason: Annotated[str, typer.Option(help="Why.")] = "cancelled by the person",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Takes a task off the board."""
    board = _board(repo)
    _allowed(lambda: board.cancel(task_id, reason=reason, by="person"))
    _print_task(board, task_id, as_json=as_json)


def _print_task(board: TaskBoard, task_id: int, *, as_json: bool) -> None:
    task = board.task(task_id)
    if as_json:
        print_json(task_json(task))
    else:
        print_lines([task_line(task)])


def _board(repo: Path) -> TaskBoard:
    return _board_of(open_repository_at(folder_of(repo)))


def _board_of(opened: Opened) -> TaskBoard:
    return TaskBoard(opened.paths, clock=opened.clock)


def _allowed(change: Callable[[], ResultT]) -> ResultT:
    """Returns what `change` returns; the board's refusal becomes the person's error."""
    try:
        return change()
    except BoardRefusal as error:
        raise PersonFault(
            str(error), hint="`crewyard task list` shows the board.", exit_code=Exit.USAGE
        ) from error
