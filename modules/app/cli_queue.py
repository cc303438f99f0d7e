"""Commands for the merge queue; they work beside a running lead, under the same lock."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.opening import Opened, open_repository_at
from modules.git.refs import read_ref
from modules.records.errors import ModelFault, PersonFault
from modules.records.merges import Entry, Submission
from modules.records.queue_records import ReviewAsked
from modules.records.tasks import TaskStatus
from modules.team.queue_view import (
    alarm_lines,
    flake_line,
    queue_json,
    read_queue,
    review_line,
    unproven,
)
from modules.team.review_ledger import is_open, open_reviews
from modules.team.task_board import TaskBoard
from tools.merge import entry_line

if TYPE_CHECKING:
    from modules.team.merge_queue import MergeQueue

SENT_BACK = "The person sends it back: {} Change that, commit, and call submit_work again."
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
    opened = open_repository_at(folder_of(repo))
    state = read_queue(opened.paths)
    entries = [state.entries[key] for key in sorted(state.entries)]
    if as_json:
        print_json([queue_json(entry, state.flakes) for entry in entries])
        return
    lines = [entry_line(entry) for entry in entries] or ["The merge queue is empty."]
    asked = open_reviews(state.reviews.values(), _board(opened).tasks())
    waiting = [review_line(one) for one in asked]
    print_lines([*lines, *waiting, *filter(None, [*alarm_lines(state), flake_line(state)])])


@queue.command("approve")
def approve(
    task_id: TaskId,
    commit: Annotated[
        str, typer.Option(help="The commit you looked at; another one is not approved.")
    ] = "",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Approves work that waits for a review: this one commit, which then is queued."""
    opened, found = _queue(repo)
    asked = _asked(opened, found, task_id)
    if asked is None:
        raise PersonFault(
            f"No work of task {task_id} waits for a review.",
            hint="`crewyard queue` shows what does.",
        )
    work = asked.submission
    _refuse_moved(opened, work, commit)
    is_parked = _board(opened).task(task_id).status is TaskStatus.PARKED
    if is_parked:
        # Nobody waits beside it to hand it in.
        _allowed(lambda: found.approve(work, by="person"))
    else:
        _settle(found, work, accepts=True, words="")
    _print_review(work, accepts=True, is_parked=is_parked, as_json=as_json)


@queue.command("unproven")
def list_unproven(repo: Repo = HERE, as_json: Json = False) -> None:
    """Lists landed commits whose own tree was not checked, for `git bisect skip`."""
    state = read_queue(open_repository_at(folder_of(repo)).paths)
    found = unproven(state.entries[key] for key in sorted(state.entries))
    if as_json:
        print_json(found)
    else:
        print_lines(found)


@queue.command("retry")
def retry(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Puts a task's work that could not land back in the queue."""
    _, found = _queue(repo)
    entry = _allowed(lambda: found.retry(found.entry_of_task(task_id).entry_id))
    _print(entry, as_json=as_json)


@queue.command("reject")
def reject(
    task_id: TaskId,
    reason: Annotated[str, typer.Option(help="Why.")] = "rejected by the person",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Takes a task's work out of the queue, or sends it back that waits for a review."""
    opened, found = _queue(repo)
    if (asked := _asked(opened, found, task_id)) is not None:
        work = asked.submission
        _settle(found, work, accepts=False, words=SENT_BACK.format(f"{reason}."))
        is_parked = _board(opened).task(task_id).status is TaskStatus.PARKED
        _print_review(work, accepts=False, is_parked=is_parked, as_json=as_json)
        return
    entry = _allowed(lambda: found.reject(found.entry_of_task(task_id).entry_id, reason))
    _print(entry, as_json=as_json)


@queue.command("revert")
def revert(task_id: TaskId, repo: Repo = HERE, as_json: Json = False) -> None:
    """Queues the undoing of what a task landed; it must pass the check like any work."""
    _, found = _queue(repo)
    entry = _allowed(lambda: found.revert(found.entry_of_task(task_id).entry_id))
    _print(entry, as_json=as_json)


def _queue(repo: Path) -> tuple[Opened, "MergeQueue"]:
    # Looking at the entries need not load what lands them.
    from modules.team.merge_queue import MergeQueue

    opened = open_repository_at(folder_of(repo))
    found = MergeQueue(
        opened.repository,
        check="",
        check_timeout_seconds=0.0,
        clock=opened.clock,
        environment={},
    )
    found.refresh()
    return opened, found


def _board(opened: Opened) -> TaskBoard:
    return TaskBoard(opened.paths, clock=opened.clock)


def _asked(opened: Opened, found: "MergeQueue", task_id: int) -> ReviewAsked | None:
    """Returns the work of a task that waits for a review, if its attempt isn't over."""
    asked = found.reviews.waiting(task_id)
    return asked if asked and is_open(asked, _board(opened).task(task_id)) else None


def _refuse_moved(opened: Opened, work: Submission, looked_at: str) -> None:
    """Raises PersonFault when what waits is not what was looked at, or its branch went on."""
    look = f"Look at it first: git diff {work.base[:12]} {work.commit[:12]}"
    if not work.commit.startswith(looked_at):
        raise PersonFault(
            f"Task {work.task} waits with {work.commit[:12]}, not with {looked_at}.", hint=look
        )
    tip = read_ref(opened.repository.git, f"refs/heads/{work.branch}")
    if tip and tip != work.commit:
        raise PersonFault(
            f"{work.branch} moved to {tip[:12]} since {work.commit[:12]} was handed in.",
            hint="Wait until its worker hands in again.",
        )


def _settle(found: "MergeQueue", work: Submission, *, accepts: bool, words: str) -> None:
    given = found.reviews.settle(work, accepts=accepts, words=words, by="person")
    if given is None or given.accepts is not accepts:
        raise PersonFault(
            f"Task {work.task} was answered by {given.by if given else 'other work'} meanwhile.",
            hint="`crewyard queue` shows what waits.",
        )


def _print_review(work: Submission, *, accepts: bool, is_parked: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "task": work.task,
                "branch": work.branch,
                "commit": work.commit,
                "approved": accepts,
                "queued": accepts and is_parked,
            }
        )
        return
    line = f"task {work.task} {work.commit[:12]} is {'approved' if accepts else 'sent back'}"
    then = "it goes on" if not is_parked else "it is in the queue, for the next run or this one"
    if is_parked and not accepts:
        then = f"it stays parked; `crewyard task retry {work.task}` gives it to a worker again"
    print_lines([f"{line}; {then}."])


def _allowed(change: Callable[[], Entry]) -> Entry:
    """Returns what `change` returns; the queue's refusal becomes the person's error."""
    from modules.team.intake import QueueRefusal

    try:
        return change()
    except (QueueRefusal, ModelFault) as error:
        raise PersonFault(str(error), hint="`crewyard queue` shows the entries.") from error


def _print(entry: Entry, *, as_json: bool) -> None:
    if as_json:
        # What is decided on is not landed, or undone: no flaky test is told with it.
        print_json(queue_json(entry, {}))
    else:
        print_lines([entry_line(entry), "It is taken up by the running lead, or by the next run."])
