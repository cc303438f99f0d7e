"""What a lane holds, as far as git can tell.

1. Work is measured against the commit the lane was made from, not by a clean `git status`.
2. What makes a lane other than expected (another branch, a detached HEAD, an unfinished rebase, a
   rewritten base) is told, never mended.
3. A branch that others moved is told by the lane's own log; what was made here is not forgotten.
4. A lane git can't read is `unreadable`, which is not the same as clean.
"""

from dataclasses import dataclass
from pathlib import Path

from modules.git.head_log import last_own_head
from modules.git.refs import changed_paths, count_commits, is_ancestor
from modules.git.repository import Repository
from modules.git.run_git import Git, GitFault
from modules.git.worktrees import git_in
from modules.records.errors import PersonFault

_UNBORN = "(initial)"
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


@dataclass(frozen=True, slots=True)
class Lane:
    """A worktree with its branch, made for one attempt."""

    name: str
    path: Path
    branch: str
    """Short name of the branch made for it."""
    base: str
    """The commit it was made from; empty for a lane nobody recorded that of."""


@dataclass(frozen=True, slots=True)
class LaneState:
    """What a lane holds."""

    head: str = ""
    branch: str = ""
    """Short name of the branch checked out; empty when HEAD is detached."""
    dirty: tuple[str, ...] = ()
    """Files with uncommitted changes, untracked ones included and ignored ones not."""
    unfinished: str = ""
    """An operation in its middle: `merge`, `rebase`, `cherry-pick`, `revert`, `bisect`."""
    ahead: int = 0
    """Commits on top of the base."""
    is_base_rewritten: bool = False
    """True when HEAD no longer contains the base."""
    files: tuple[str, ...] = ()
    """Paths that differ from the base in what is committed."""
    own_head: str = ""
    """The last commit made in the lane, where its branch is elsewhere: others moved it."""
    unreadable: str = ""
    """Why git can't tell; all else is empty then."""

    @property
    def problem(self) -> str:
        """What is other than it should be in a lane that is worked in; empty when nothing is."""
        problems = [f"git can't read it: {self.unreadable}"] if self.unreadable else []
        if self.unfinished:
            problems.append(f"a {self.unfinished} is unfinished")
        if self.own_head:
            problems.append(f"its branch was moved from outside, away from {self.own_head[:12]}")
        if self.is_base_rewritten:
            problems.append("its base was rewritten")
        return "; ".join(problems)


def inspect_lane(repository: Repository, lane: Lane) -> LaneState:
    """Returns what `lane` holds; never raises for what is wrong in it."""
    try:
        return _read(git_in(repository, lane.path), lane)
    except (GitFault, PersonFault) as error:
        return LaneState(unreadable=str(error))


def unfinished_operation(git_dir: Path) -> str:
    """Returns the operation that a worktree is in the middle of; empty when in none."""
    return next((word for name, word in _UNFINISHED.items() if (git_dir / name).exists()), "")


def _read(git: Git, lane: Lane) -> LaneState:
    head, branch, dirty = _status(git)
    own_head = last_own_head(git)
    if head == _UNBORN:
        how = f"; `git reset --soft {own_head}` in it brings it back" if own_head else ""
        return LaneState(unreadable=f"its branch is gone{how}")
    is_rewritten = bool(lane.base) and not is_ancestor(git, lane.base, head)
    return LaneState(
        head=head,
        branch=branch,
        dirty=dirty,
        unfinished=unfinished_operation(git.place.git_dir) if git.place else "",
        ahead=count_commits(git, since=lane.base, until=head) if lane.base else 0,
        is_base_rewritten=is_rewritten,
        files=changed_paths(git, lane.base, head) if lane.base else (),
        own_head=own_head if own_head != head else "",
    )


def _status(git: Git) -> tuple[str, str, tuple[str, ...]]:
    """Returns HEAD's commit, the branch checked out, and the dirty paths."""
    head = branch = ""
    dirty = []
    fields = iter(git.fields("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"))
    for field in fields:
        kind, _, rest = field.partition(" ")
        match kind:
            case "#":
                key, _, value = rest.partition(" ")
                head = value if key == "branch.oid" else head
                branch = value if key == "branch.head" else branch
            case "1":
                dirty.append(rest.split(" ", 7)[7])
            case "2":
                dirty += [rest.split(" ", 8)[8], next(fields)]
            case "u":
                dirty.append(rest.split(" ", 9)[9])
            case _:
                dirty.append(rest)
    return head, "" if branch == "(detached)" else branch, tuple(dirty)
