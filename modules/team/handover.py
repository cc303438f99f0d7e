"""Finds the work of earlier attempts at a task, and puts it on top of what has landed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from modules.git.merging import attributes_of, merge_trees, squash
from modules.git.picking import rebase
from modules.git.refs import SALVAGE, is_ancestor, read_commit, read_head, read_refs, tree_of
from modules.git.repository import Repository
from modules.git.run_git import Git
from modules.records.merges import Entry, Submission
from modules.team.handover_rules import came_back, kept_of, unreviewed


@dataclass(frozen=True, slots=True)
class Handover:
    """Work that an attempt goes on with."""

    work: Submission
    """What was handed in of it."""
    entry: Entry | None
    """How it came back; None where its review was never given."""
    commit: str
    """The work as it was left."""
    start: str
    """The same on top of what has landed; empty where it conflicts with that."""
    kept_in: str
    """The ref that keeps all the last lane left; empty where none does."""
    has_uncommitted: bool
    """True when `kept_in` holds more than `commit`."""


def find_handover(
    repository: Repository,
    entries: Sequence[Entry],
    *,
    asked: Submission | None,
    task: int,
    attempt: int,
    landed: str,
    now: datetime,
) -> Handover | None:
    """Returns what `attempt` goes on with, None when that is nothing; blocks.

    `asked` is the work of the task that waits for a review.
    """
    git = repository.git
    work, entry = unreviewed(asked, entries, task=task, attempt=attempt), None
    if work is None:
        entry = came_back(entries, task=task, attempt=attempt)
        work = entry.submission if entry is not None else None
    if work is None or not read_commit(git, work.commit):
        return None
    salvages = read_refs(git, SALVAGE)
    refs = kept_of(salvages, task=task, attempt=attempt)
    commit, kept_in = _left(git, {ref: salvages[ref] for ref in refs}, work.commit)
    start = _on_top(repository, commit, landed=landed, now=now)
    if start == landed:
        return None
    has_more = bool(kept_in) and tree_of(git, commit) != tree_of(git, salvages[kept_in])
    return Handover(work, entry, commit, start, kept_in, has_more)


def _left(git: Git, salvages: Mapping[str, str], handed_in: str) -> tuple[str, str]:
    """Returns the newest commit that holds what was handed in, and the ref that keeps it."""
    for ref, salvage in salvages.items():
        # Its first parent is what the lane had committed; a lane that was gone left its tip alone.
        for commit in (read_commit(git, f"{salvage}^1"), salvage):
            if commit and is_ancestor(git, handed_in, commit):
                return commit, ref
    return handed_in, ""


def _on_top(repository: Repository, commit: str, *, landed: str, now: datetime) -> str:
    """Returns `commit` on top of what has landed, its commits as they are where that goes."""
    git = repository.git
    if is_ancestor(git, landed, commit):
        return commit
    # Nobody signs what a worker goes on with.
    unsigned = replace(repository, signing=None)
    attributes = attributes_of(git, landed)
    merged = merge_trees(repository, landed, commit, attributes=attributes)
    tip = rebase(unsigned, onto=landed, head=commit, when=now, trailers="", attributes=attributes)
    if merged.clashes or (tip and tree_of(git, tip) == merged.tree):
        return tip
    head = read_head(git, commit)
    if head is None or merged.tree == tree_of(git, landed):
        return landed
    message = "Work of an earlier attempt\n"
    return squash(unsigned, tree=merged.tree, onto=landed, head=head, message=message, when=now)
