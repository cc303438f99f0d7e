"""Examines a submission before it is queued: is it what it says, and may it land at all?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from modules.git.changes import FileChange, blob_text, file_changes, paths_in
from modules.git.lane_objects import take_in_all
from modules.git.merging import merge_trees
from modules.git.refs import LANDED, is_ancestor, merge_base, read_commit, read_ref, tree_of
from modules.git.repository import Repository
from modules.git.run_git import Git
from modules.git.soundness import fault_in
from modules.records.errors import ModelFault
from modules.records.merges import Submission
from modules.team.submission_rules import (
    ABSENT,
    LINK,
    case_clashes,
    paths_for_a_person,
    put_back,
    refused_paths,
)

_LANE_BRANCHES = ("refs/heads/wt/", "refs/heads/wt-lanes/")
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Examined:
    """What a submission would change."""

    fork: str = ""
    """The newest commit it has in common with what has landed."""
    nothing_new: str = ""
    """Why it would change nothing; empty when it would."""


def examine(
    repository: Repository, submission: Submission, *, landed: str, merged: Iterable[str]
) -> Examined:
    """Returns what a submission that may be queued would change.

    `merged` are commits that landed in another shape. Raises ModelFault, which says what to do, for
    a submission that may not be queued.
    """
    git = repository.git
    commit, base = submission.commit, submission.base
    for what, name in (("commit", commit), ("base", base)):
        if not name or read_commit(git, name) != name:
            raise ModelFault(f"There is no {what} {name!r}. Commit your work and submit again.")
    if not is_ancestor(git, base, commit):
        raise ModelFault(
            f"The branch no longer contains the commit it was made from, {base[:12]}. "
            "Rebase your work onto it and submit again."
        )
    if not is_ancestor(git, base, landed):
        raise ModelFault(
            f"The branch was made from {base[:12]}, which has not landed on {repository.target!r}. "
            f"Rebase your work onto {landed[:12]} and submit again."
        )
    if nothing_new := _nothing_new(git, submission, landed):
        return Examined(nothing_new=nothing_new)
    _refuse_unsound(repository, commit, landed)
    fork = merge_base(git, landed, commit)
    nothing_new = _examine_changes(repository, submission, landed, tuple(merged), fork)
    return Examined(fork, nothing_new)


def protected_paths(repository: Repository, submission: Submission) -> tuple[str, ...]:
    """Returns the changed paths that only a person may let in."""
    git = repository.git
    landed = read_ref(git, LANDED + repository.target) or read_ref(git, repository.target_ref)
    commit = read_commit(git, submission.commit)
    if not (landed and commit):
        return ()
    # What the branch took in from others was decided on when that landed.
    changes = file_changes(git, merge_base(git, landed, commit) or submission.base, commit)
    links = {c.path: blob_text(git, c.new_id) for c in changes if c.new_mode == LINK}
    return tuple(paths_for_a_person(changes, links=links))


def _nothing_new(git: Git, submission: Submission, landed: str) -> str:
    if submission.commit == submission.base:
        return "There is no commit on top of the one the branch was made from."
    if is_ancestor(git, submission.commit, landed):
        return "Its commits have landed already."
    return ""


def _refuse_unsound(repository: Repository, commit: str, landed: str) -> None:
    if fault := fault_in(repository, commit, landed=landed):
        raise ModelFault(
            f"git refuses objects of your commits as missing or damaged ({fault}). Make the "
            "commits anew from your files and submit again."
        )


def _examine_changes(
    repository: Repository, submission: Submission, landed: str, merged: Sequence[str], fork: str
) -> str:
    git, commit = repository.git, submission.commit
    changes = file_changes(git, fork, commit)
    if not changes:
        return "Its commits cancel each other out: no file differs."
    _refuse_paths(git, changes, landed)
    _refuse_stale_tree(git, submission, changes, fork)
    _refuse_foreign_work(repository, submission, landed, merged)
    joined = merge_trees(repository, landed, commit)
    if not joined.clashes and joined.tree == tree_of(git, landed):
        return "All that it changes has landed already."
    return ""


def _refuse_paths(git: Git, changes: Sequence[FileChange], landed: str) -> None:
    if refused := refused_paths(changes):
        raise ModelFault(
            f"These paths belong to git or to the crew and can't be submitted: {_some(refused)}. "
            "Take them out of your commits (git rm --cached) and submit again."
        )
    added = [c.path for c in changes if c.old_mode == ABSENT]
    clashes = case_clashes(added, paths_in(git, landed)) if added else []
    if clashes:
        pairs = _some([f"{new} / {old}" for new, old in clashes])
        raise ModelFault(
            f"On a file system that ignores case these are one path: {pairs}. Rename yours."
        )


def _refuse_stale_tree(
    git: Git, submission: Submission, changes: Sequence[FileChange], fork: str
) -> None:
    if submission.base == fork:
        return
    paths = put_back(changes, landed_since=file_changes(git, submission.base, fork))
    if paths:
        raise ModelFault(
            "Your commit sets files back to how they were before others' work landed: "
            f"{_some(paths)}. Take what has landed for them (git checkout {fork[:12]} -- PATH), "
            "commit and submit again."
        )


def _refuse_foreign_work(
    repository: Repository, submission: Submission, landed: str, merged: Sequence[str]
) -> None:
    git = repository.git
    others = _other_lanes(git, submission, landed)
    take_in_all(repository.common_dir)  # theirs, which may be made at this moment
    known = [f"^{commit}" for commit in (landed, *merged)]
    mine = _commits(git, [submission.commit, *known])
    if len(_commits(git, [submission.commit, *known, *(f"^{o}" for o in others)])) == len(mine):
        return
    for tip, branch in others.items():
        built_on_it = is_ancestor(git, submission.commit, tip)
        if not built_on_it and mine & _commits(git, [tip, *known], "--first-parent"):
            raise ModelFault(
                f"Your branch contains work of {branch!r} that has not landed. Wait until it has, "
                f"or rebase your own commits onto {landed[:12]}, and submit again."
            )


def _other_lanes(git: Git, submission: Submission, landed: str) -> dict[str, str]:
    """Returns the unlanded tips of other tasks' lanes, commit to branch."""
    listed = git.text(
        "for-each-ref",
        f"--no-merged={landed}",
        "--format=%(objectname) %(refname:lstrip=2)",
        *_LANE_BRANCHES,
    )
    tips = dict(line.split(" ", 1) for line in listed.splitlines())
    own = f"t{submission.task}-"
    return {
        tip: branch
        for tip, branch in tips.items()
        if branch != submission.branch and not branch.partition("/")[2].startswith(own)
    }


def _commits(git: Git, names: Sequence[str], *options: str) -> set[str]:
    given = "".join(f"{name}\n" for name in names).encode()
    return set(git.run("rev-list", *options, "--stdin", input=given).text.split())


def _some(items: Sequence[str]) -> str:
    shown = ", ".join(repr(item) for item in items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN} more"
