"""Commands for the merge queue; they work beside a running lead, under the same lock."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.opening import Opened, open_repository_at
from modules.records.errors import ModelFault, PersonFault
from modules.records.merges import Entry
from modules.team.queue_view import alarm_lines, flake_line, queue_json, read_queue
from tools.merge import entry_line

if TYPE_CHECKING:
    from modules.team.merge_queue import MergeQueue

TaskId = Annotated[int, typer.Argument(help="Id of the task.", metavar="ID")]

queue = Typer(help="Look at the merge queue and decide on its entries.")


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(queue, name="queue")


@queue.callback(invoke_without_command=True)
def list_entries(context: typer.Context, repo: Repo = HERE, as_json: Json = False) -> None:
    """Lists the merge queue's entries; with a command, decides on one."""
    if context.invoked_subcommand is not None:
        return
    state = read_queue(open_repository_at(folder_of(repo)).paths)
    entries = [state.entries[key] for key in sorted(state.entries)]
    if as_json:
        print_json([queue_json(entry) for entry in entries])
        return
    lines = [entry_line(entry) for entry in entries] or ["The merge queue is empty."]
    print_lines([*lines, *filter(None, [*alarm_lines(state), flake_line(state)])])


@queue.command("retry")
def retry(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Puts a task's work that could not land back in the queue."""
    found = _queue(repo)
    entry = _allowed(lambda: found.retry(found.entry_of_task(task_id).entry_id))
    _print(entry, as_json=as_json)


@queue.command("reject")
def reject(
    task_id: TaskId,
    reason: Annotated[str, typer.Option(help="Why.")] = "rejected by the person",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Takes a task's work out of the queue; its branch stays."""
    found = _queue(repo)
    entry = _allowed(lambda: found.reject(found.entry_of_task(task_id).entry_id, reason))
    _print(entry, as_json=as_json)


@queue.command("revert")
def revert(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Queues the undoing of what a task landed; it must pass the check like any work."""
    found = _queue(repo)
    entry = _allowed(lambda: found.revert(found.entry_of_task(task_id).entry_id))
    _print(entry, as_json=as_json)


def _queue(repo: Path) -> "MergeQueue":
    # Looking at the entries need not load what lands them.
    from modules.team.merge_queue import MergeQueue

    opened: Opened = open_repository_at(folder_of(repo))
    found = MergeQueue(
        opened.repository,
        check="",
        check_timeout_seconds=0.0,
        clock=opened.clock,
        environment={},
    )
    found.refresh()
    return found


def _allowed(change: Callable[[], Entry]) -> Entry:
    """Returns what `change` returns; the queue's refusal becomes the person's error."""
    from modules.team.intake import QueueRefusal

    try:
        return change()
    except (QueueRefusal, ModelFault) as error:
        raise PersonFault(str(error), hint="`crewyard queue` shows the entries.") from error


def _print(entry: Entry, *, as_json: bool) -> None:
    if as_json:
        print_json(queue_json(entry))
    else:
        print_lines([entry_line(entry), "It is taken up by the running lead, or by the next run."])
