"""Merges without a checkout: trees are joined in memory and commits made of them.

1. Only full ids are merged: for a name it doesn't know `merge-tree` exits like for a conflict.
2. `.gitattributes` count as they are in the commit that is merged into, never as they lie in
   somebody's checkout: git runs in an empty folder that holds those files alone.
3. A file added in a folder that the other side renamed moves along.
4. The same request gives the same commit id: author and dates come from the request.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath

from modules.git.changes import read_blobs
from modules.git.refs import Head, durable, tree_of
from modules.git.repository import Repository
from modules.git.run_git import Git, GitFault, Identity, Place, decoded
from modules.git.signing import SIGNING_SCRATCH, Signing
from modules.store.scratch import scratch_folder, sweep_scratch

_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_KIND = re.compile(r"CONFLICT \((.*)\)")
_HUNK_LINES = 40
_LONGEST_FILE_BYTES = 1_000_000
_CELL = "merge-"
ATTRIBUTES = ".gitattributes"

Attributes = tuple[tuple[str, str], ...]
"""The `.gitattributes` files of a commit: path and blob."""


@dataclass(frozen=True, slots=True)
class Clash:
    """One path two sides could not be joined in."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What joining two commits gave; with clashes the tree holds conflict markers."""

    tree: str
    clashes: tuple[Clash, ...] = ()


def merge_trees(
    repository: Repository, ours: str, theirs: str, *, attributes: Attributes | None = None
) -> Merged:
    """Joins two commits, given by their full ids; raises GitFault for unrelated histories.

    `attributes` are those of `ours`, read when they aren't given.
    """
    if not (_OBJECT_ID.fullmatch(ours) and _OBJECT_ID.fullmatch(theirs)):
        raise ValueError(f"{ours!r} and {theirs!r} must be full object ids")
    if attributes is None:
        attributes = attributes_of(repository.git, ours)
    with merge_cell(repository, attributes) as git:
        result = durable(git).run("merge-tree", "--write-tree", "-z", ours, theirs, accept=(0, 1))
    fields = result.fields
    if not fields or not _OBJECT_ID.fullmatch(fields[0]):
        raise GitFault(("merge-tree", ours, theirs), code=result.code, stderr=result.stderr)
    return Merged(fields[0], _clashes(fields) if result.code else ())


def conflict_hunk(git: Git, tree: str, path: str) -> str:
    """Returns the first lines between the markers of a conflicted file, bounded."""
    listed = git.fields("ls-tree", "-z", "-l", tree, "--", path)
    if not listed or listed[0].split()[1] != "blob":
        return ""
    _, _, blob, size = listed[0].partition("\t")[0].split()
    if int(size) > _LONGEST_FILE_BYTES:
        return ""
    lines = decoded(git.run("cat-file", "blob", blob).stdout).splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith("<<<<<<<")), None)
    if start is None:
        return ""
    end = next((n for n, line in enumerate(lines) if line.startswith(">>>>>>>")), len(lines))
    return "\n".join(lines[start : min(end + 1, start + _HUNK_LINES)])


def squash(
    repository: Repository, *, tree: str, onto: str, head: Head, message: str, when: datetime
) -> str:
    """Returns a commit on `onto` that holds `tree`, by the author of `head`."""
    git, signing = repository.git, repository.signing
    author = head.author if head.author.name and head.author.email else git.identity
    authored = f"@{head.authored}"
    return commit_tree(
        git, tree, (onto,), message, when, author=author, authored=authored, signing=signing
    )


def join(
    git: Git,
    *,
    tree: str,
    parents: Sequence[str],
    message: str,
    when: datetime,
    signing: Signing | None = None,
) -> str:
    """Returns a commit with the given parents, by our own identity."""
    return commit_tree(
        git,
        tree,
        parents,
        message,
        when,
        author=git.identity,
        authored=_raw(when),
        signing=signing,
    )


def revert(
    repository: Repository, landed: str, commit: str, *, onto: str, when: datetime
) -> Merged:
    """Joins into `landed` the opposite of what came with `commit` on top of `onto`."""
    git = repository.git
    parent_tree = tree_of(git, onto)
    # Its parent is the commit itself, so that is what the merge takes for the base.
    opposite = join(git, tree=parent_tree, parents=(commit,), message="opposite", when=when)
    return merge_trees(repository, landed, opposite)


def commit_tree(
    git: Git,
    tree: str,
    parents: Sequence[str],
    message: str,
    when: datetime,
    *,
    author: Identity,
    authored: str,
    signing: Signing | None,
) -> str:
    """Returns a commit of `tree`, signed if commits are."""
    env = {
        **(signing.variables if signing else {}),
        "GIT_AUTHOR_NAME": author.name,
        "GIT_AUTHOR_EMAIL": author.email,
        "GIT_AUTHOR_DATE": authored,
        "GIT_COMMITTER_DATE": _raw(when),
    }
    if signing is not None:
        git = git.configured(*signing.overrides)
    argv = ["commit-tree", tree, "-F", "-", *(["-S"] if signing else [])]
    for parent in parents:
        argv += ["-p", parent]
    return durable(git).run(*argv, input=message.encode("utf-8", "replace"), env=env).text


def _raw(when: datetime) -> str:
    return f"@{int(when.timestamp())} +0000"


def _clashes(fields: Sequence[str]) -> tuple[Clash, ...]:
    """Reads the messages of `merge-tree -z`: count of paths, the paths, kind, text."""
    found: dict[Clash, None] = {}
    rest = list(fields[fields.index("", 1) + 1 :])
    while rest:
        count = int(rest[0])
        paths, kind = rest[1 : count + 1], _KIND.fullmatch(rest[count + 1])
        if kind is not None and paths:
            # git files both additions of one path under `contents`; only its text tells them.
            is_addition = rest[count + 2].startswith("CONFLICT (add/add)")
            found[Clash(paths[0], "add/add" if is_addition else kind[1])] = None
        rest = rest[count + 3 :]
    return tuple(found)


@contextlib.contextmanager
def merge_cell(repository: Repository, attributes: Attributes) -> Iterator[Git]:
    """Gives git in an empty folder that holds these `.gitattributes` files and nothing else."""
    git = repository.git
    blobs = read_blobs(git, (blob for _, blob in attributes)) if attributes else {}
    with scratch_folder(repository.paths.temporary, _CELL) as folder:
        for path, blob in attributes:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(blobs[blob])
        place = Place(
            git_dir=repository.common_dir, common_dir=repository.common_dir, work_tree=folder
        )
        cell = replace(git, folder=folder, place=place)
        yield cell.configured(("merge.directoryRenames", "true"))


def sweep_cells(repository: Repository) -> None:
    """Removes what killed processes left of the folders that merges are made in."""
    for prefix in (_CELL, SIGNING_SCRATCH):
        sweep_scratch(repository.paths.temporary, prefix)


def attributes_of(git: Git, commit: str) -> Attributes:
    """Returns the `.gitattributes` files of a commit."""
    return tuple(_attribute_files(git.fields("ls-tree", "-r", "-z", commit)))


def _attribute_files(listed: Sequence[str]) -> Iterator[tuple[str, str]]:
    for entry in listed:
        if not entry.endswith(ATTRIBUTES):
            continue
        facts, _, name = entry.partition("\t")
        mode, _, blob = facts.split()
        path = PurePosixPath(name)
        # A crafted tree may name a path outside of itself; a link is no attributes file to git.
        is_inside = not path.is_absolute() and ".." not in path.parts
        if path.name == ATTRIBUTES and mode.startswith("100") and is_inside:
            yield name, blob
