"""Commands for the crew's worktrees (lanes), and for work that was kept when one was removed."""

from datetime import timedelta
from typing import Annotated

import typer
from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.lane_text import lane_text
from modules.app.opening import Opened, open_repository_at
from modules.git.lane_state import Lane, inspect_lane
from modules.git.lanes import (
    CloseAction,
    close_lane,
    list_lanes,
    make_lane,
    restore_lane,
)
from modules.git.refs import LANDED, read_ref
from modules.git.salvage import Salvage, expire_salvages, list_salvages, show_salvage
from modules.records.errors import PersonFault
from modules.team.board_rules import UNDER_WAY
from modules.team.queue_view import read_entries
from modules.team.task_board import TaskBoard

Name = Annotated[str, typer.Argument(help="A worktree's name.")]
Ref = Annotated[str, typer.Argument(help="A salvage's ref from `worktree salvage list`.")]

worktrees = Typer(help="Look at the crew's worktrees, make and remove them.", no_args_is_help=True)
salvage = Typer(help="Work that was kept when a worktree was removed.", no_args_is_help=True)


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    worktrees.add_typer(salvage, name="salvage")
    app.add_typer(worktrees, name="worktree")


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
    lane = _lane(opened, name)
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


@worktrees.command("create")
def create_worktree(
    name: Name,
    base: Annotated[str, typer.Option(help="Commit to make it from; empty: what landed.")] = "",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Makes a worktree with a branch of its own, for work by hand."""
    opened = open_repository_at(folder_of(repo))
    repository = opened.repository
    landed = read_ref(repository.git, LANDED + repository.target)
    lane = make_lane(repository, name=name, base=base or landed or repository.target_ref)
    _print_lane(lane, as_json=as_json)


@worktrees.command("remove")
def remove_worktree(name: Name, repo: Repo = HERE, as_json: Json = False) -> None:
    """Removes a worktree; what has not landed is kept under a salvage ref first."""
    opened = open_repository_at(folder_of(repo))
    closed = close_lane(
        opened.repository,
        _lane(opened, name),
        action=CloseAction.SALVAGE,
        is_landed=_landed_commits(opened).__contains__,
        now=opened.clock(),
        in_use=_user_of(opened, name),
    )
    if as_json:
        print_json(
            {"removed": not closed.kept, "reason": closed.reason, "salvage": closed.salvage_ref}
        )
    elif not closed.kept:
        print_lines([closed.text])
    if closed.kept:
        raise PersonFault(
            f"The worktree {name!r} is kept: {closed.reason}.", hint="End that first."
        )


@salvage.command("list")
def list_kept(repo: Repo = HERE, as_json: Json = False) -> None:
    """Lists what was kept."""
    found = list_salvages(open_repository_at(folder_of(repo)).repository)
    if as_json:
        print_json([_salvage_json(kept) for kept in found])
    else:
        print_lines([f"{kept.ref} · {kept.subject}" for kept in found] or ["Nothing was kept."])


@salvage.command("show")
def show_kept(ref: Ref, repo: Repo = HERE) -> None:
    """Shows what a salvage holds that has not landed."""
    print_lines([show_salvage(open_repository_at(folder_of(repo)).repository, ref)])


@salvage.command("restore")
def restore_kept(
    ref: Ref,
    name: Annotated[str, typer.Option(help="Name of the new worktree.")] = "restored",
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Makes a worktree that holds a salvage as uncommitted changes."""
    opened = open_repository_at(folder_of(repo))
    _print_lane(restore_lane(opened.repository, ref=ref, name=name), as_json=as_json)


@salvage.command("expire")
def expire_kept(
    days: Annotated[int, typer.Option(min=0, help="Keep what is younger.")] = 30,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Deletes what was kept longer ago; it can't be undone."""
    opened = open_repository_at(folder_of(repo))
    before = opened.clock() - timedelta(days=days)
    gone = expire_salvages(opened.repository, before=before)
    if as_json:
        print_json([_salvage_json(kept) for kept in gone])
    else:
        print_lines([f"{kept.ref} is gone" for kept in gone] or ["Nothing is that old."])


def _lane(opened: Opened, name: str) -> Lane:
    found = next((lane for lane in list_lanes(opened.repository) if lane.name == name), None)
    if found is None:
        raise PersonFault(
            f"There is no worktree {name!r}.", hint="`crewyard worktree list` names them."
        )
    return found


def _landed_commits(opened: Opened) -> set[str]:
    return {entry.submission.commit for entry in read_entries(opened.paths) if entry.landed_as}


def _user_of(opened: Opened, name: str) -> str:
    """Returns who works in a lane, from the board; empty when nobody does."""
    tasks = TaskBoard(opened.paths, clock=opened.clock).tasks()
    at_work = [task for task in tasks if task.lane == name and task.status in UNDER_WAY]
    return f"{at_work[0].worker} works on task {at_work[0].task_id} in it" if at_work else ""


def _print_lane(lane: Lane, *, as_json: bool) -> None:
    if as_json:
        print_json(_lane_json(lane))
    else:
        print_lines([f"{lane.name}: {lane.path} on {lane.branch}, from {lane.base[:12]}"])


def _lane_json(lane: Lane) -> dict[str, str]:
    return {
        "name": lane.name,
        "path": str(lane.path),
        "branch": lane.branch,
        "base": lane.base,
    }


def _salvage_json(kept: Salvage) -> dict[str, str]:
    return {"ref": kept.ref, "lane": kept.lane, "commit": kept.commit, "reason": kept.subject}
