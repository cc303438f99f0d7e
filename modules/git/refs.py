"""Refs and commits: read, compared, and moved only from the value they were read at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from modules.git.run_git import Git, GitFault, Identity

LANDED = "refs/crewyard/landed/"
"""What has landed on a target branch; only the merge queue writes it."""
PUBLISHED = "refs/crewyard/published/"
"""What the target branch was last moved to by us."""
ENTRIES = "refs/crewyard/entries/"
"""Pinned commits of queue entries."""
CONFLICTS = "refs/crewyard/conflicts/"
"""Commits that hold a failed merge, markers included."""
RESCUE = "refs/crewyard/rescue/"
"""The person's uncommitted edits as they were before their checkout last followed."""
LANES = "refs/crewyard/lanes/"
"""The commit each lane was made from."""
SALVAGE = "refs/crewyard/salvage/"
"""Work kept before something was deleted."""
_DURABLE = ("core.fsync", "committed,loose-object,reference")


_HEAD_FORMAT = "--format=%H%x00%T%x00%an%x00%ae%x00%ad%x00%ct"
_TIP_FORMAT = (
    "--format=%(refname)%00%(objectname)%00%(tree)%00%(authorname)%00%(authoremail:trim)%00"
    "%(authordate:raw)%00%(committerdate:unix)"
)


class RefMoved(GitFault):
    """A ref is not where it was read: somebody else moved it."""


@dataclass(frozen=True, slots=True)
class Head:
    """A commit, with what of it goes into the commit it lands as."""

    commit: str
    tree: str
    author: Identity
    authored: str
    """When, as git writes it: seconds and zone."""
    committed_at: datetime


def durable(git: Git) -> Git:
    """Returns the same git, syncing what it writes to disk."""
    return git.configured(_DURABLE)


def read_ref(git: Git, ref: str) -> str:
    """Returns the commit that `ref`, a full name, points to; empty when there is no such ref."""
    return read_refs(git, ref).get(ref, "")


def read_refs(git: Git, *prefixes: str) -> dict[str, str]:
    """Returns the refs that are or lie below one of `prefixes`, full name to object id."""
    found = git.run("for-each-ref", "--format=%(refname) %(objectname)", *prefixes).text
    return dict(line.split(" ", 1) for line in found.splitlines())


def move_ref(git: Git, ref: str, *, new: str, old: str) -> None:
    """Moves `ref` from `old` to `new`; an empty `old` means it must not exist yet.

    Raises RefMoved when it points elsewhere.
    """
    _update(git, ("update-ref", "--no-deref", ref, new, old), ref, old)


def move_refs(
    git: Git, moves: Sequence[tuple[str, str, str]], *, still: Sequence[tuple[str, str]] = ()
) -> None:
    """Moves refs, given as (ref, new, old), all of them or none.

    Raises RefMoved when one is not at its `old`, or one of `still`, given as (ref, commit), is not
    where it was.
    """
    lines = [f"option no-deref\nupdate {ref} {new} {old}\n" for ref, new, old in moves]
    lines += [f"option no-deref\nverify {ref} {commit}\n" for ref, commit in still]
    expected = {**{ref: old for ref, _, old in moves}, **dict(still)}
    try:
        git.run("update-ref", "--stdin", input=f"start\n{''.join(lines)}commit\n".encode())
    except GitFault as error:
        if error.code is not None and read_refs(git, *expected) != expected:
            raise RefMoved(error.argv, code=error.code, stderr=error.stderr) from error
        raise


def create_refs(git: Git, refs: Mapping[str, str]) -> None:
    """Makes refs, given with their commits, all of them or none when one of them exists."""
    lines = "".join(f"option no-deref\ncreate {ref} {commit}\n" for ref, commit in refs.items())
    git.run("update-ref", "--stdin", input=f"start\n{lines}commit\n".encode())


def set_ref(git: Git, ref: str, new: str) -> None:
    """Points `ref`, one that no decision rests on, at `new`, wherever it was."""
    git.run("update-ref", "--no-deref", ref, new)


def delete_ref(git: Git, ref: str, *, old: str) -> None:
    """Deletes `ref` if it still points to `old`; raises RefMoved when it does not."""
    _update(git, ("update-ref", "--no-deref", "-d", ref, old), ref, old)


def delete_refs(git: Git, refs: Mapping[str, str]) -> None:
    """Deletes refs, given with where they point to, all of them or none when one is elsewhere."""
    lines = "".join(f"option no-deref\ndelete {ref} {old}\n" for ref, old in refs.items())
    git.run("update-ref", "--stdin", input=f"start\n{lines}commit\n".encode())


def _update(git: Git, argv: Sequence[str], ref: str, old: str) -> None:
    try:
        git.run(*argv)
    except GitFault as error:
        if error.code is not None and read_ref(git, ref) != old:
            raise RefMoved(error.argv, code=error.code, stderr=error.stderr) from error
        raise


def read_commit(git: Git, name: str) -> str:
    """Returns the full id of the commit `name`; empty when there is no such commit."""
    command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return git.run(*command, accept=(0, 1, 128)).text


def read_tips(git: Git, *refs: str) -> dict[str, Head]:
    """Returns the commits that refs, given by full names, point to; those that exist."""
    try:
        found = git.run("for-each-ref", _TIP_FORMAT, *refs).text
    except GitFault:
        # A commit that is missing or broken must not hide the others.
        heads = {ref: read_head(git, commit) for ref, commit in read_refs(git, *refs).items()}
        return {ref: head for ref, head in heads.items() if head is not None}
    lines = (line.split("\0") for line in found.split("\n") if line)
    return {ref: _head(*facts) for ref, *facts in lines}


def read_head(git: Git, commit: str) -> Head | None:
    """Returns a commit, given by its full id; None when there is none."""
    if read_commit(git, commit) != commit:
        return None
    argv = ("log", "--no-walk", "-z", "--date=raw", _HEAD_FORMAT, commit)
    return _head(*git.fields(*argv))


def _head(commit: str, tree: str, name: str, email: str, date: str, seconds: str) -> Head:
    at = datetime.fromtimestamp(int(seconds), UTC)
    return Head(commit, tree, Identity(name, email), date, at)


def tree_of(git: Git, commit: str) -> str:
    """Returns the tree of a commit."""
    return git.text("rev-parse", "--verify", f"{commit}^{{tree}}")


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """True when `newer` contains `older`; both are full ids of commits that exist."""
    return git.succeeds("merge-base", "--is-ancestor", older, newer)


def merge_base(git: Git, one: str, other: str) -> str:
    """Returns the best common ancestor; empty for unrelated histories."""
    return git.run("merge-base", one, other, accept=(0, 1)).text


def changed_paths(git: Git, old: str, new: str) -> tuple[str, ...]:
    """Returns the paths that differ between two commits or trees, a rename as both its names."""
    return tuple(git.fields("diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new))


def count_commits(git: Git, *, since: str, until: str) -> int:
    """Returns how many commits `until` has that `since` has not."""
    return int(git.text("rev-list", "--count", f"{since}..{until}"))
