"""Lanes: worktrees with a branch of their own, made, listed and closed.

1. A lane lies in our own folder and gets a branch `wt/<lane>`; neither is ever one that was there
   before. A free name is taken instead, and the lane says which.
2. Registration is done under the lanes' lock, filling outside of it; a failed try leaves nothing.
3. Closing keeps by default: a lane that is dirty, unmerged, detached, unreadable or in use stays,
   and the reason is told. Asked to salvage, it keeps the work in a ref first.
4. A refusal of git's is a reason to keep, never to delete by other means.
5. Locks that a killed git left in a lane go once nobody works in it, for they would never go; so
   does what a worker planted in the place of git's own files.
6. A branch goes only by compare-and-swap, and only when its tip has landed or was salvaged.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from modules.git.lane_names import ATTEMPT, CHECK_TREE, as_name, candidates
from modules.git.lane_objects import drop, take_in_all
from modules.git.lane_state import Lane, LaneState, inspect_lane
from modules.git.merging import merge_trees
from modules.git.occupants import occupants
from modules.git.planted import remove_planted
from modules.git.refs import (
    LANDED,
    LANES,
    RefMoved,
    changed_paths,
    create_refs,
    delete_ref,
    is_ancestor,
    read_commit,
    read_ref,
    read_refs,
)
from modules.git.repository import Repository, exclude_own_folders
from modules.git.run_git import GitFault
from modules.git.salvage import keep, pour, salvaged_head, save_tree
from modules.git.spare_trees import SpareTree, discard, give_to_lane
from modules.git.worktrees import (
    admin_folder,
    forget,
    git_in,
    list_worktrees,
    register,
    registering,
)
from modules.records.errors import PersonFault
from modules.store.removal import remove_tree

_BRANCH_FOLDERS = ("wt", "wt-lanes")
"""The second is for repositories that have a branch called like the first."""
_HEADS = "refs/heads/"


class CloseAction(StrEnum):
    """What is asked for when a lane is closed."""

    KEEP = "keep"
    REMOVE = "remove"
    """Remove it if nothing would be lost."""
    SALVAGE = "salvage"
    """Keep the work in a ref, then remove it."""


@dataclass(frozen=True, slots=True)
class Closed:
    """What became of a lane."""

    kept: bool
    reason: str = ""
    """Why it was kept; or why its branch was, when only the worktree went."""
    salvage_ref: str = ""

    @property
    def text(self) -> str:
        """The same in a sentence."""
        what = "The worktree was kept" if self.kept else "The worktree was removed"
        saved = f" Its work is in {self.salvage_ref}." if self.salvage_ref else ""
        return f"{what}: {self.reason}.{saved}" if self.reason else f"{what}.{saved}"


def make_lane(
    repository: Repository,
    *,
    name: str,
    base: str,
    start: str = "",
    spare: SpareTree | None = None,
) -> Lane:
    """Makes a lane at the commit `base`; its name is `name` or the next free one like it.

    `start` is a commit on top of `base`, with work that the lane shall have from the beginning.
    `spare` is a checkout to take for its tree; it is used up.
    """
    try:
        return _make_lane(repository, name, base, start, spare)
    finally:
        if spare is not None:
            discard(spare)


def _make_lane(
    repository: Repository, name: str, base: str, start: str, spare: SpareTree | None
) -> Lane:
    git = repository.git
    commit = read_commit(git, base)
    if not commit:
        raise PersonFault(f"There is no commit {base!r}.", hint="Name one that `git log` shows.")
    start = start or commit
    exclude_own_folders(repository)
    with registering(repository):
        lane = _free(repository, as_name(name), commit)
        _make_refs(repository, lane, start)
        try:
            register(_logging(repository, "true"), lane.path, branch=lane.branch)
        except BaseException:
            _forget_refs(repository, lane, start)
            raise
    try:
        _fill(repository, lane, start, spare)
    except BaseException:
        _unmake(repository, lane, start)
        raise
    return lane


def _fill(repository: Repository, lane: Lane, start: str, spare: SpareTree | None) -> None:
    if spare is not None:
        # One that is not fit leaves the lane to be filled like any other.
        with contextlib.suppress(GitFault, OSError):
            give_to_lane(repository, spare, lane.path, start)
            return
    git_in(repository, lane.path).run("reset", "--hard", "--quiet", timeout_seconds=600)


def restore_lane(repository: Repository, *, ref: str, name: str) -> Lane:
    """Makes a lane that holds a salvage as uncommitted changes."""
    lane = make_lane(repository, name=name, base=salvaged_head(repository, ref))
    pour(git_in(repository, lane.path), repository, ref)
    return lane


def list_lanes(repository: Repository) -> list[Lane]:
    """Returns all lanes; the queue's own worktrees and the person's aren't lanes."""
    bases = read_refs(repository.git, LANES)
    return [
        Lane(
            name=tree.path.name,
            path=tree.path,
            branch=_branch_of(repository, tree.path.name, tree.branch),
            base=bases.get(LANES + tree.path.name, ""),
        )
        for tree in list_worktrees(repository)
        if tree.path.parent == repository.paths.lanes and not CHECK_TREE.fullmatch(tree.path.name)
    ]


def close_lane(
    repository: Repository,
    lane: Lane,
    *,
    action: CloseAction,
    is_landed: Callable[[str], bool],
    now: datetime,
    in_use: str = "",
) -> Closed:
    """Keeps or removes a lane; see the rules above.

    `is_landed` knows commits that landed in another shape; `in_use` says who works in the lane.
    """
    match action:
        case CloseAction.KEEP:
            return Closed(kept=True, reason="asked to keep it")
        case CloseAction.REMOVE | CloseAction.SALVAGE:
            pass
        case _:
            assert_never(action)
    folder = admin_folder(repository, lane.path)
    if folder is not None and not occupants(lane.path):
        remove_planted(folder)
    state = inspect_lane(repository, lane)
    hindrance = _hindrance(repository, lane, state, in_use)
    if hindrance:
        return Closed(kept=True, reason=hindrance)
    free_locks(repository, lane)
    losses = _losses(repository, lane, state, is_landed)
    if losses and action is CloseAction.REMOVE:
        return Closed(kept=True, reason="; ".join(losses))
    return _remove(repository, lane, losses=losses, now=now)


def free_locks(repository: Repository, lane: Lane) -> None:
    """Removes locks that a killed git left of a lane's index and branch; nobody may be in it."""
    folder = admin_folder(repository, lane.path)
    held = [folder / name for name in ("index", "HEAD")] if folder is not None else []
    for path in (*held, repository.common_dir / _HEADS / lane.branch):
        remove_tree(path.with_name(path.name + ".lock"))


def finish_closing(
    repository: Repository, *, is_landed: Callable[[str], bool], now: datetime
) -> None:
    """Deletes the branches of attempts' lanes that were removed when their closing was cut off.

    What has not landed is kept in a ref first.
    """
    git = repository.git
    take_in_all(repository.common_dir)
    present = {lane.name for lane in list_lanes(repository)}
    for ref, base in read_refs(git, LANES).items():
        name = ref.removeprefix(LANES)
        if name in present or not ATTEMPT.match(name):
            continue
        lane = Lane(name, repository.paths.lanes / name, _branch_of(repository, name, ""), base)
        free_locks(repository, lane)
        tip = read_ref(git, _HEADS + lane.branch)
        is_safe = not tip or has_landed(repository, tip, base=base, is_landed=is_landed)
        salvage_ref = "" if is_safe else keep(git, tip, name=name, when=now)
        _drop_branch(repository, lane, salvage_ref, is_all_landed=is_safe)


def has_landed(
    repository: Repository, commit: str, *, base: str, is_landed: Callable[[str], bool]
) -> bool:
    """True when the target has `commit`, as it is or with all that it changes since `base`."""
    git = repository.git
    landed = read_ref(git, LANDED + repository.target) or read_ref(git, repository.target_ref)
    if not landed:
        return False
    if is_landed(commit) or is_ancestor(git, commit, landed):
        return True
    if not base or not changed_paths(git, base, commit):
        return False
    merged = merge_trees(repository, landed, commit)
    return not merged.clashes and not changed_paths(git, landed, merged.tree)


def _hindrance(repository: Repository, lane: Lane, state: LaneState, in_use: str) -> str:
    """Returns why nobody may remove the lane, not even after a salvage."""
    folder = repository.paths.lanes / lane.name
    if lane.path != folder or folder.resolve() != folder or CHECK_TREE.fullmatch(lane.name):
        return f"{str(lane.path)!r} is not one of our lanes"
    if state.unreadable:
        return f"unreadable: {state.unreadable}"
    if in_use:
        return f"in use: {in_use}"
    inside = occupants(lane.path)
    return f"in use: {', '.join(inside)}" if inside else ""


def _losses(
    repository: Repository, lane: Lane, state: LaneState, is_landed: Callable[[str], bool]
) -> list[str]:
    """Returns what would be lost with the lane, one reason each."""
    losses = []
    if state.dirty:
        losses.append(f"uncommitted changes in {_some(state.dirty)}")
    if state.unfinished:
        losses.append(f"a {state.unfinished} is unfinished")
    if state.branch != lane.branch:
        losses.append(
            f"the branch {state.branch!r} is checked out" if state.branch else "HEAD is detached"
        )
    tip = read_ref(repository.git, _HEADS + lane.branch)
    for commit in dict.fromkeys(c for c in (state.head, tip, state.own_head) if c):
        if not has_landed(repository, commit, base=lane.base, is_landed=is_landed):
            losses.append(f"the commit {commit[:12]} has not landed")
    return losses


def _remove(repository: Repository, lane: Lane, *, losses: list[str], now: datetime) -> Closed:
    salvage_ref = ""
    force: tuple[str, ...] = ()
    try:
        if losses:
            git = git_in(repository, lane.path)
            salvage_ref = save_tree(git, name=lane.name, reason="; ".join(losses), when=now)
            force = ("--force",)
        with registering(repository):
            folder = admin_folder(repository, lane.path)
            repository.git.run("worktree", "remove", *force, str(lane.path), timeout_seconds=600)
            if folder is not None:
                drop(repository.common_dir, folder.name)
    except GitFault as error:
        return Closed(kept=True, reason=f"git refused: {error}", salvage_ref=salvage_ref)
    except OSError as error:
        return Closed(kept=True, reason=f"it can't be removed: {error}", salvage_ref=salvage_ref)
    return Closed(
        kept=False,
        reason=_drop_branch(repository, lane, salvage_ref, is_all_landed=not losses),
        salvage_ref=salvage_ref,
    )


def _drop_branch(
    repository: Repository, lane: Lane, salvage_ref: str, *, is_all_landed: bool
) -> str:
    """Deletes the lane's branch when its work is safe; returns why it was kept otherwise.

    The note that it was a lane goes last, so that a closing cut off in between can be finished.
    """
    reason = _delete_branch(repository, lane, salvage_ref, is_all_landed=is_all_landed)
    if base := read_ref(repository.git, LANES + lane.name):
        delete_ref(repository.git, LANES + lane.name, old=base)
    return reason


def _delete_branch(
    repository: Repository, lane: Lane, salvage_ref: str, *, is_all_landed: bool
) -> str:
    git = repository.git
    tip = read_ref(git, _HEADS + lane.branch)
    if not tip:
        return ""
    holder = next((t for t in list_worktrees(repository) if t.branch == _HEADS + lane.branch), None)
    if holder is not None:
        return f"the branch {lane.branch!r} stays: it is checked out in {str(holder.path)!r}"
    if not is_all_landed and not (salvage_ref and is_ancestor(git, tip, salvage_ref)):
        return f"the branch {lane.branch!r} stays: {tip[:12]} has not landed"
    try:
        delete_ref(git, _HEADS + lane.branch, old=tip)
    except RefMoved:
        return f"the branch {lane.branch!r} stays: it moved meanwhile"
    return ""


def _free(repository: Repository, name: str, commit: str) -> Lane:
    """Returns the lane to make: no folder, registration, ref or branch of that name exists."""
    existing = repository.git.text(
        "for-each-ref", "--format=%(refname)", *(_HEADS + f for f in _BRANCH_FOLDERS), LANES
    ).split()
    # A branch called like the folder itself leaves no room for branches in it.
    folder = next((f for f in _BRANCH_FOLDERS if _HEADS + f not in existing), "")
    taken = {_lane_of(ref) for ref in existing}
    for candidate in candidates(name):
        path = repository.paths.lanes / candidate
        admin = repository.common_dir / "worktrees" / candidate
        is_free = candidate not in taken and not path.exists() and not admin.exists()
        if folder and is_free:
            return Lane(candidate, path, f"{folder}/{candidate}", commit)
    raise PersonFault(
        f"No lane can be named like {name!r}: all such names, or the branches "
        f"{_BRANCH_FOLDERS}, are taken.",
        hint="Remove lanes or rename branches you don't need.",
    )


def _lane_of(ref: str) -> str:
    for prefix in (LANES, *(f"{_HEADS}{folder}/" for folder in _BRANCH_FOLDERS)):
        if ref.startswith(prefix):
            return ref.removeprefix(prefix).partition("/")[0]
    return ""


def _branch_of(repository: Repository, name: str, checked_out: str) -> str:
    for folder in _BRANCH_FOLDERS:
        if read_ref(repository.git, f"{_HEADS}{folder}/{name}"):
            return f"{folder}/{name}"
    return checked_out.removeprefix(_HEADS)


def _make_refs(repository: Repository, lane: Lane, start: str) -> None:
    """Makes a lane's branch and the note of its base, without a log: workers share that folder."""
    log = repository.common_dir / "logs" / _HEADS / lane.branch
    if log.is_symlink():
        log.unlink()
    refs = {LANES + lane.name: lane.base, _HEADS + lane.branch: start}
    create_refs(_logging(repository, "false").git, refs)


def _logging(repository: Repository, value: str) -> Repository:
    return replace(repository, git=repository.git.configured(("core.logAllRefUpdates", value)))


def _unmake(repository: Repository, lane: Lane, start: str) -> None:
    """Takes back a lane that could not be filled: nobody has worked in it."""
    with registering(repository):
        if admin_folder(repository, lane.path) is not None:
            repository.git.run("worktree", "remove", "--force", str(lane.path))
        forget(repository, lane.path)
    _forget_refs(repository, lane, start)


def _forget_refs(repository: Repository, lane: Lane, start: str) -> None:
    for ref, old in ((_HEADS + lane.branch, start), (LANES + lane.name, lane.base)):
        if read_ref(repository.git, ref):
            delete_ref(repository.git, ref, old=old)


def _some(paths: tuple[str, ...]) -> str:
    shown = ", ".join(repr(path) for path in paths[:5])
    return shown if len(paths) <= 5 else f"{shown} and {len(paths) - 5} more"
