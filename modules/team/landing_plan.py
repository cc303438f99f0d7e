"""Makes the commit an entry would land as, in memory, and says why none can be made.

1. An entry is merged onto a commit: what has landed, or an entry that would land before it.
2. The commit an entry becomes follows from the entry and from what it is merged onto alone, so
   the same request gives the same commit again.
3. Only what has landed can be in conflict with an entry. Before such a conflict is handed back
   the entry's commits are replayed one by one: some of them may have landed in another shape.
4. It becomes one commit, a merge, or its own commits anew, as the strategy says. Commits that can't
   be placed one by one so that the same tree comes out become one.
5. No landing may change paths its entry did not (guard).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from modules.git.changes import Side, compare
from modules.git.merging import (
    ATTRIBUTES,
    Attributes,
    Clash,
    Merged,
    attributes_of,
    conflict_hunk,
    join,
    merge_trees,
    squash,
)
from modules.git.picking import rebase, replay
from modules.git.refs import CONFLICTS, Head, set_ref, tree_of
from modules.git.repository import Repository
from modules.git.run_git import Git
from modules.records.errors import CrewyardError
from modules.records.merges import Conflict, Entry, Strategy
from modules.team.merge_rules import strays

_MOST_CONFLICTS = 50
_MOST_LANDINGS = 3
_AS_ONE = "Its commits could not be placed one by one, so it landed as one."
_REPLAYED = "It conflicted as a whole, so its commits were replayed one by one."


@dataclass(frozen=True, slots=True)
class Step:
    """A commit that something is, or would be, landed on."""

    commit: str
    tree: str
    attributes: Attributes | None = None
    """None when nobody had to know them yet."""
    note: str = ""
    """What a person should know of how it came about."""


class GuardTripped(CrewyardError):
    """A merge would change paths the submission did not; nothing may land of it."""


@dataclass(frozen=True, slots=True)
class Fork:
    """Where an entry's commit and what has landed part."""

    commit: str
    tree: str


def plan_entry(
    repository: Repository,
    entry: Entry,
    *,
    head: Head,
    fork: Fork,
    onto: Step,
    strategy: Strategy,
) -> Step | Merged | None:
    """Merges the entry's commit onto `onto`.

    Returns what clashes instead, or None when nothing is left to change. Raises GuardTripped.
    """
    if fork.commit == onto.commit:
        merged = Merged(head.tree)
    else:
        onto = knowing_attributes(repository.git, onto)
        merged = merge_trees(repository, onto.commit, head.commit, attributes=onto.attributes)
    if merged.clashes:
        return merged
    return _guarded(repository, entry, head, fork, onto, merged.tree, strategy)


def plan_replay(
    repository: Repository,
    entry: Entry,
    *,
    head: Head,
    fork: Fork,
    landed: Step,
    strategy: Strategy,
) -> Step | None:
    """Replays the entry's commits onto what has landed; None when that is no help either."""
    landed = knowing_attributes(repository.git, landed)
    tree = replay(
        repository,
        onto=landed.commit,
        head=head.commit,
        when=entry.submitted_at,
        attributes=landed.attributes or (),
    )
    if not tree:
        return None
    try:
        return _guarded(repository, entry, head, fork, landed, tree, strategy, note=_REPLAYED)
    except GuardTripped:
        return None


def plan_joining(repository: Repository, *, head: Head, onto: Step) -> Step | Merged:
    """Merges commits somebody made on the target branch onto `onto`."""
    git = repository.git
    onto = knowing_attributes(git, onto)
    merged = merge_trees(repository, onto.commit, head.commit, attributes=onto.attributes)
    if merged.clashes:
        return merged
    commit = join(
        git,
        tree=merged.tree,
        parents=(onto.commit, head.commit),
        message=f"Merge commits made on {repository.target}\n",
        when=head.committed_at,
        signing=repository.signing,
    )
    (changed,) = compare(git, (onto.tree, merged.tree))
    return Step(commit, merged.tree, _attributes(git, onto, commit, changed))


def knowing_attributes(git: Git, step: Step) -> Step:
    """Returns the same with its attributes, read when nobody had to know them before."""
    if step.attributes is not None:
        return step
    return replace(step, attributes=attributes_of(git, step.commit))


def landing_message(entry: Entry) -> str:
    """Returns the message of the commit an entry lands as."""
    work = entry.submission
    subject = " ".join(work.subject.split()) or f"Task {work.task}"
    body = f"{work.summary.strip()}\n\n" if work.summary.strip() else ""
    return f"{subject}\n\n{body}{_trailers(entry)}"


def _trailers(entry: Entry) -> str:
    return f"Task: {entry.submission.task}\nEntry: {entry.entry_id}\n"


def guard(git: Git, *, fork: str, onto: str, head: str, tree: str) -> Side:
    """Returns what `tree` changes on `onto`; all four are trees.

    `fork` is where `head` and `onto` part. Raises GuardTripped when it is more than `head` changed.
    """
    submitted, landing = compare(git, (fork, head), (onto, tree))
    if set(landing.paths) <= set(submitted.paths):
        return landing
    (landed,) = compare(git, (fork, onto))
    stray = strays(landing=landing.paths, submitted=submitted, landed=landed)
    if stray:
        raise GuardTripped(
            f"Merging the tree {head} would change {stray[:10]}, which it does not change itself."
        )
    return landing


def hand_back(
    repository: Repository, entry: Entry, merged: Merged, *, fork: Fork, landed: Step
) -> tuple[str, tuple[Conflict, ...]]:
    """Keeps a conflict with its markers in a ref; returns what to do and what it is about."""
    git, head = repository.git, entry.submission.commit
    marked = join(
        git,
        tree=merged.tree,
        parents=(landed.commit, head),
        message=f"Conflict of entry {entry.entry_id} with what has landed\n",
        when=entry.submitted_at,
    )
    set_ref(git, CONFLICTS + str(entry.entry_id), marked)
    conflicts = tuple(
        _conflict(git, clash, merged.tree, fork.commit, landed.commit)
        for clash in merged.clashes[:_MOST_CONFLICTS]
    )
    return (
        f"It conflicts with what has landed in {clashing_paths(merged)}. Run "
        f"`git merge {landed.commit[:12]}` in the lane, resolve, commit, and submit again.",
        conflicts,
    )


def landed_meanwhile(repository: Repository, *, fork: Fork, landed: Step) -> str:
    """Returns what an entry was checked together with, and how to have it; empty for nothing."""
    if fork.commit == landed.commit:
        return ""
    subjects = _subjects(repository.git, fork.commit, landed.commit)
    return (
        f" It ran on top of what landed meanwhile ({', '.join(map(repr, subjects))}); to have that "
        f"in the lane: `git merge {landed.commit[:12]}`."
    )


def clashing_paths(merged: Merged) -> str:
    """Returns the paths of a failed merge for a message."""
    return ", ".join(repr(clash.path) for clash in merged.clashes[:_MOST_CONFLICTS])


def _guarded(
    repository: Repository,
    entry: Entry,
    head: Head,
    fork: Fork,
    onto: Step,
    tree: str,
    strategy: Strategy,
    *,
    note: str = "",
) -> Step | None:
    if tree == onto.tree:
        return None
    git = repository.git
    with ThreadPoolExecutor(1) as pool:
        # At the same time: of a commit that the guard refuses nothing is made.
        committing = pool.submit(_landing_commit, repository, entry, head, onto, tree, strategy)
        changed = guard(git, fork=fork.tree, onto=onto.tree, head=head.tree, tree=tree)
        commit, told = committing.result()
    note = " ".join(filter(None, (note, told)))
    return Step(commit, tree, _attributes(git, onto, commit, changed), note)


def _landing_commit(
    repository: Repository, entry: Entry, head: Head, onto: Step, tree: str, strategy: Strategy
) -> tuple[str, str]:
    """Returns the commit an entry becomes, and what a person should know of it."""
    git, message, when = repository.git, landing_message(entry), entry.submitted_at
    told = ""
    if strategy is Strategy.MERGE:
        parents = (onto.commit, head.commit)
        signing = repository.signing
        merge = join(git, tree=tree, parents=parents, message=message, when=when, signing=signing)
        return merge, told
    if strategy is Strategy.REBASE:
        tip = rebase(
            repository,
            onto=onto.commit,
            head=head.commit,
            when=when,
            trailers=_trailers(entry),
            attributes=knowing_attributes(git, onto).attributes or (),
        )
        if tip and tree_of(git, tip) == tree:
            return tip, told
        told = _AS_ONE
    return (
        squash(repository, tree=tree, onto=onto.commit, head=head, message=message, when=when),
        told,
    )


def _attributes(git: Git, onto: Step, commit: str, changed: Side) -> Attributes | None:
    if any(path.rpartition("/")[2] == ATTRIBUTES for path in changed.paths):
        return attributes_of(git, commit)
    return onto.attributes


def _conflict(git: Git, clash: Clash, tree: str, fork: str, landed: str) -> Conflict:
    return Conflict(
        path=clash.path,
        kind=clash.kind,
        hunk=conflict_hunk(git, tree, clash.path),
        landed_by=tuple(_subjects(git, fork, landed, clash.path)),
    )


def _subjects(git: Git, fork: str, landed: str, *paths: str) -> Sequence[str]:
    limit = f"--max-count={_MOST_LANDINGS}"
    return git.fields("log", "-z", limit, "--format=%s", f"{fork}..{landed}", "--", *paths)
