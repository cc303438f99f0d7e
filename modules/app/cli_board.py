"""Commands for the task board; they work beside a running lead, under the same lock."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer
from msgspec.structs import replace as evolve
from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines, tell_error
from modules.app.crew_file import crew_at_work
from modules.app.opening import Opened, open_repository_at, settings_for
from modules.app.why import causes_of, words_of
from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.tasks import Task, TaskDraft
from modules.store.locks import read_lead_pid
from modules.team.board_rules import UNDER_WAY
from modules.team.role_rules import undescribed_role
from modules.team.task_board import BoardRefusal, TaskBoard, task_json
from tools.board import task_line

TaskId = Annotated[int, typer.Argument(help="Id of the task.", metavar="ID")]
Description = Annotated[
    str | None, typer.Option(help="What is wanted, and how one can tell that it is done.")
]
Role = Annotated[str | None, typer.Option(help="Role a worker must have.")]
After = Annotated[
    list[int] | None, typer.Option(help="Task that must be completed first; repeatable.")
]
Priority = Annotated[int | None, typer.Option(min=0, max=4, help="0 is the most urgent.")]
TaskCheck = Annotated[str | None, typer.Option("--check", help="Command that must pass for it.")]
Writes = Annotated[list[str] | None, typer.Option(help="Glob of files it will touch; repeatable.")]
TaskModel = Annotated[
    str | None, typer.Option("--model", help="Model for it.", metavar="PROVIDER:MODEL")
]
Attempts = Annotated[int | None, typer.Option(min=1, help="Attempts before it is given up.")]
ResultT = TypeVar("ResultT")
PERSON = "person"
NOBODY_AT_IT = "Nobody is at it: the lead that ran it has ended. The next run takes it up."

tasks = Typer(help="Post tasks on the board and look at them.", no_args_is_help=True)


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(tasks, name="task")
    app.command("why")(why)


def why(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Tells who decided what about a task, when, and on what grounds."""
    opened = open_repository_at(folder_of(repo))
    _allowed(lambda: _board_of(opened).task(task_id))
    tasks_now = {task.task_id: task for task in _explained(opened)}
    causes = causes_of(opened.paths, tasks_now, task_id)
    if as_json:
        print_json([msgspec.to_builtins(cause) for cause in causes])
        return
    for cause in causes:
        whose = f"task {cause.task} · " if cause.task != task_id else ""
        print_lines([f"{cause.at:%H:%M:%S} {whose}{cause.by} · {words_of(cause)}"])
    print_lines([f"now      {task_line(tasks_now[task_id])}"])


@tasks.command("add")
def add(
    subject: Annotated[str | None, typer.Argument(help="What is to be done, on one line.")] = None,
    description: Description = None,
    role: Role = None,
    after: After = None,
    priority: Priority = None,
    check: TaskCheck = None,
    writes: Writes = None,
    model: TaskModel = None,
    attempts: Attempts = None,
    file: Annotated[
        Path | None,
        typer.Option(help="YAML list of tasks, all of them or none.", metavar="FILE"),
    ] = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Posts a task, or all tasks of a file."""
    opened = open_repository_at(folder_of(repo))
    board = _board_of(opened)
    if file is not None:
        _tell_roles(opened, _add_file(board, file, as_json=as_json))
        return
    if subject is None:
        raise PersonFault("No task is given.", hint="Give a SUBJECT or --file FILE.")
    given = _given(subject, description, role, after, priority, check, writes, model, attempts)
    task = _allowed(lambda: board.add(TaskDraft(**given), by=PERSON))
    _print_task(board, task.task_id, as_json=as_json)
    _tell_roles(opened, [task.draft.role])


@tasks.command("edit")
def edit(
    task_id: TaskId,
    subject: Annotated[str | None, typer.Option(help="What is to be done.")] = None,
    description: Description = None,
    role: Role = None,
    after: After = None,
    priority: Priority = None,
    check: TaskCheck = None,
    writes: Writes = None,
    model: TaskModel = None,
    attempts: Attempts = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Describes a task anew that nobody is at; what is not given stays."""
    opened = open_repository_at(folder_of(repo))
    board = _board_of(opened)
    given = _given(subject, description, role, after, priority, check, writes, model, attempts)
    _allowed(lambda: board.edit(task_id, lambda draft: evolve(draft, **given), by=PERSON))
    _print_task(board, task_id, as_json=as_json)
    _tell_roles(opened, [role or ""])


@tasks.command("replace")
def replace(
    task_id: TaskId,
    subject: Annotated[str, typer.Argument(help="What is to be done instead.")],
    description: Description = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Posts a task in place of another; what waited for that one waits for the new one."""
    board = _board(repo)
    old = _allowed(lambda: board.task(task_id)).draft
    draft = evolve(old, subject=subject, description=description or "")
    new = _allowed(lambda: board.replace(task_id, draft, by=PERSON))
    _print_task(board, new.task_id, as_json=as_json)


@tasks.command("list")
def list_tasks(repo: Repo = HERE, as_json: Json = False) -> None:
    """Lists all tasks."""
    opened = open_repository_at(folder_of(repo))
    found = _explained(opened)
    if as_json:
        print_json([task_json(task) for task in found])
    else:
        print_lines([task_line(task) for task in found] or ["The board is empty."])


@tasks.command("show")
def show(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Shows one task whole."""
    opened = open_repository_at(folder_of(repo))
    _allowed(lambda: _board_of(opened).task(task_id))
    task = next(task for task in _explained(opened) if task.task_id == task_id)
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
    _allowed(lambda: board.retry(task_id, by=PERSON))
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
    _allowed(lambda: board.cancel(task_id, reason=reason, by=PERSON))
    _print_task(board, task_id, as_json=as_json)


def _given(
    subject: str | None,
    description: str | None,
    role: str | None,
    after: list[int] | None,
    priority: int | None,
    check: str | None,
    writes: list[str] | None,
    model: str | None,
    attempts: int | None,
) -> dict[str, Any]:
    """Returns the fields of a draft that were given."""
    fields = {
        "subject": subject,
        "description": description,
        "role": role,
        "after": None if after is None else tuple(after),
        "priority": priority,
        "check": check,
        "writes": None if writes is None else tuple(writes),
        "model": model,
        "attempts_allowed": attempts,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _tell_roles(opened: Opened, roles: Iterable[str]) -> None:
    """Tells of roles that no settings describe, on stderr; what was posted stays posted."""
    given = sorted({role for role in roles if role})
    if not given:
        return
    try:
        described = settings_for(opened, {})[0].roles
    except PersonFault as error:
        tell_error(f"The task is on the board. Its role was not looked up: {error.line}")
        return
    for words in filter(None, (undescribed_role(role, described) for role in given)):
        tell_error(words)


def _add_file(board: TaskBoard, file: Path, *, as_json: bool) -> list[str]:
    """Posts the tasks of a file and returns their roles."""
    from modules.app.task_file import read_tasks

    drafts, after = read_tasks(file)
    added = _allowed(lambda: board.add_all(drafts, by=PERSON, after=after))
    if as_json:
        print_json([task_json(task) for task in added])
    else:
        print_lines(task_line(task) for task in added)
    return [task.draft.role for task in added]


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


def _explained(opened: Opened) -> list[Task]:
    """Returns all tasks, with what each waits for; those that a dead lead left say so."""
    tasks = _board_of(opened).explained(there=[view.name for view in crew_at_work(opened.paths)])
    if read_lead_pid(opened.paths.lead_lock) is not None:
        return tasks
    return [
        evolve(task, reason=NOBODY_AT_IT) if task.status in UNDER_WAY else task for task in tasks
    ]


def _allowed(change: Callable[[], ResultT]) -> ResultT:
    """Returns what `change` returns; the board's refusal becomes the person's error."""
    try:
        return change()
    except BoardRefusal as error:
        raise PersonFault(
            str(error), hint="`crewyard task list` shows the board.", exit_code=Exit.USAGE
        ) from error
