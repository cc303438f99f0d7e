"""Makes the commit that would land, in memory, and says why none can be made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from modules.git.changes import renames
from modules.git.merging import Clash, Merged, conflict_hunk, join, merge_trees, squash
from modules.git.refs import (
    CONFLICTS,
    ENTRIES,
    changed_paths,
    merge_base,
    read_commit,
    set_ref,
    tree_of,
)
from modules.git.repository import Repository
from modules.git.run_git import Git
from modules.records.errors import CrewyardError
from modules.records.merges import Conflict, Entry, EntryStatus
from modules.team.merge_rules import Side, strays

_MOST_CONFLICTS = 50
_MOST_LANDINGS = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """A commit that may land on `landed` once its check has passed."""

    landed: str
    commit: str
    tree: str


@dataclass(frozen=True, slots=True)
class NoPlan:
    """The end of an entry that can't land."""

    status: EntryStatus
    reason: str
    conflicts: tuple[Conflict, ...] = ()


class GuardTripped(CrewyardError):
    """A merge would change paths the submission did not; nothing may land of it."""


def make_plan(repository: Repository, entry: Entry, *, landed: str) -> Plan | NoPlan:
    """Merges the entry's pinned commit into what has landed."""
    git, head = repository.git, entry.submission.commit
    pin = ENTRIES + str(entry.entry_id)
    if read_commit(git, pin) != head:
        return NoPlan(EntryStatus.FAILED, f"The submitted commit {head[:12]} is gone ({pin}).")
    fork = merge_base(git, landed, head)
    if not fork:
        return NoPlan(EntryStatus.FAILED, "The commit shares no history with what has landed.")
    merged = merge_trees(repository, landed, head)
    if merged.clashes:
        return _conflicted(repository, entry, merged, fork=fork, landed=landed)
    if merged.tree == tree_of(git, landed):
        return NoPlan(EntryStatus.NO_CHANGES, "All that it changes has landed already.")
    guard(git, fork=fork, landed=landed, head=head, tree=merged.tree)
    commit = squash(
        git,
        tree=merged.tree,
        onto=landed,
        head=head,
        message=landing_message(entry),
        when=entry.submitted_at,
    )
    return Plan(landed=landed, commit=commit, tree=merged.tree)


def make_joining_plan(
    repository: Repository, *, landed: str, target: str, when: datetime
) -> Plan | NoPlan:
    """Merges commits somebody made on the target branch into what has landed."""
    merged = merge_trees(repository, landed, target)
    if merged.clashes:
        paths = ", ".join(repr(clash.path) for clash in merged.clashes[:_MOST_CONFLICTS])
        return NoPlan(EntryStatus.CONFLICTED, f"they conflict in {paths}")
    message = f"Merge commits made on {repository.target}\n"
    parents = (landed, target)
    commit = join(repository.git, tree=merged.tree, parents=parents, message=message, when=when)
    return Plan(landed=landed, commit=commit, tree=merged.tree)


def landing_message(entry: Entry) -> str:
    """Returns the message of the commit an entry lands as."""
    work = entry.submission
    subject = " ".join(work.subject.split()) or f"Task {work.task}"
    body = f"{work.summary.strip()}\n\n" if work.summary.strip() else ""
    return f"{subject}\n\n{body}Task: {work.task}\nEntry: {entry.entry_id}\n"


def guard(git: Git, *, fork: str, landed: str, head: str, tree: str) -> None:
    """Raises GuardTripped when `tree` on top of `landed` holds more than what `head` changed.

    `fork` is where `head` and `landed` part.
    """
    if fork == landed and tree == tree_of(git, head):
        return
    stray = strays(
        landing=changed_paths(git, landed, tree),
        submitted=Side(changed_paths(git, fork, head), renames(git, fork, head)),
        landed=Side(changed_paths(git, fork, landed), renames(git, fork, landed)),
    )
    if stray:
        raise GuardTripped(
            f"Merging {head} into {landed} would change {stray[:10]}, which {head} does not change."
        )


def _conflicted(
    repository: Repository, entry: Entry, merged: Merged, *, fork: str, landed: str
) -> NoPlan:
    git, head = repository.git, entry.submission.commit
    message = f"Conflict of entry {entry.entry_id} with what has landed\n"
    marked = join(
        git, tree=merged.tree, parents=(landed, head), message=message, when=entry.submitted_at
    )
    set_ref(git, CONFLICTS + str(entry.entry_id), marked)
    conflicts = tuple(
        _conflict(git, clash, merged.tree, fork, landed)
        for clash in merged.clashes[:_MOST_CONFLICTS]
    )
    paths = ", ".join(repr(clash.path) for clash in merged.clashes[:_MOST_CONFLICTS])
    return NoPlan(
        EntryStatus.CONFLICTED,
        f"It conflicts with what has landed in {paths}. Run `git merge {landed[:12]}` in the "
        "lane, resolve, commit, and submit again.",
        conflicts,
    )


def _conflict(git: Git, clash: Clash, tree: str, fork: str, landed: str) -> Conflict:
    return Conflict(
        path=clash.path,
        kind=clash.kind,
        hunk=conflict_hunk(git, tree, clash.path),
        landed_by=tuple(_subjects(git, fork, landed, clash.path)),
    )


def _subjects(git: Git, fork: str, landed: str, path: str) -> Sequence[str]:
    limit = f"--max-count={_MOST_LANDINGS}"
    return git.fields("log", "-z", limit, "--format=%s", f"{fork}..{landed}", "--", path)
