"""Keeps work before something is deleted, and gives it back.

1. A salvage is a commit under `refs/crewyard/salvage/<lane>/<stamp>`: its tree is the working tree
   (untracked files included, ignored ones not), its first parent is HEAD.
2. What the working tree doesn't show is kept as further parents: a differing index, the commits of
   an unfinished merge, rebase or cherry-pick, and the last one made here where others moved HEAD.
3. Neither the lane's files nor its index are touched: all is done in a copy of the index.
4. A repository inside the lane can't be kept this way; there salvage refuses, so nothing goes.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from modules.git.head_log import last_own_head
from modules.git.merging import join
from modules.git.refs import (
    SALVAGE,
    RefMoved,
    delete_ref,
    durable,
    move_ref,
    read_commit,
    read_refs,
    tree_of,
)
from modules.git.repository import Repository
from modules.git.run_git import Git, GitFault
from modules.records.errors import PersonFault
from modules.store.scratch import scratch_folder, sweep_scratch
from modules.store.small_files import read_small

_UNFINISHED = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge/orig-head",
    "rebase-merge/stopped-sha",
    "rebase-apply/orig-head",
)
_UNTRACKED = ("ls-files", "-z", "--others", "--exclude-standard")
_ID = re.compile(rb"\b(?:[0-9a-f]{40}|[0-9a-f]{64})\b")
_TRIES = 100
_STAMP = "%Y%m%dT%H%M%SZ"
_INDEX_COPY = "crewyard-index-"


@dataclass(frozen=True, slots=True)
class Salvage:
    """One salvage, as a list shows it."""

    ref: str
    lane: str
    commit: str
    subject: str


def save_tree(git: Git, *, name: str, reason: str, when: datetime) -> str:
    """Keeps the working tree `git` is bound to; returns the new ref.

    Raises GitFault when something in it could not be kept.
    """
    nested = [e for e in git.fields(*_UNTRACKED) if e.endswith("/")]
    if nested:
        raise GitFault(("add", *nested), code=None, stderr=f"{nested[0]!r} is its own repository.")
    if git.place is not None and (git.place.git_dir / "modules").is_dir():
        raise GitFault(("add",), code=None, stderr="Its submodules are repositories of their own.")
    return keep(git, capture(git, reason=reason, when=when), name=name, when=when)


def capture(git: Git, *, reason: str, when: datetime, untracked: bool = True) -> str:
    """Returns a commit of the working tree; no ref points to it yet."""
    head = read_commit(git, "HEAD")
    parents = [head] if head else []
    with copied_index(git) as env:
        index_tree = git.run("write-tree", env=env, accept=(0, 128)).text
        git.run("add", "--all" if untracked else "--update", "--", ".", env=env)
        tree = git.run("write-tree", env=env).text
    head_tree = tree_of(git, head) if head else ""
    if index_tree and index_tree not in (tree, head_tree):
        parents.append(join(git, tree=index_tree, parents=parents, message="the index", when=when))
    more = (*_unfinished(git), last_own_head(git))
    parents += [c for c in dict.fromkeys(more) if c and c not in parents]
    return join(git, tree=tree, parents=parents, message=reason, when=when)


def keep(git: Git, commit: str, *, name: str, when: datetime) -> str:
    """Points a new salvage ref at `commit` and returns the ref."""
    stem = f"{SALVAGE}{name}/{when:{_STAMP}}"
    for number in range(1, _TRIES):
        ref = stem if number == 1 else f"{stem}-{number}"
        try:
            move_ref(durable(git), ref, new=commit, old="")
        except RefMoved:
            continue
        return ref
    raise PersonFault(f"Too many salvages are named {stem}.", hint="Delete some you don't need.")


def list_salvages(repository: Repository) -> list[Salvage]:
    """Returns all salvages, oldest first."""
    found = []
    for ref, commit in read_refs(repository.git, SALVAGE).items():
        lane = ref.removeprefix(SALVAGE).rpartition("/")[0]
        subject = repository.git.text("log", "-1", "--format=%s", commit)
        found.append(Salvage(ref, lane, commit, subject))
    return sorted(found, key=lambda salvage: salvage.ref.rpartition("/")[2])


def expire_salvages(repository: Repository, *, before: datetime) -> list[Salvage]:
    """Deletes the refs of salvages made earlier than `before` and returns them."""
    gone = [kept for kept in list_salvages(repository) if _made_at(kept) < before]
    for kept in gone:
        delete_ref(repository.git, kept.ref, old=kept.commit)
    return gone


def show_salvage(repository: Repository, ref: str) -> str:
    """Returns what a salvage holds that the target branch has not: its commits and their files."""
    commit = _existing(repository.git, ref)
    options = ("--oneline", "--stat", "-m", "--first-parent")
    return repository.git.text("log", *options, f"{repository.target_ref}..{commit}")


def pour(git: Git, repository: Repository, ref: str) -> None:
    """Fills the working tree `git` is bound to, one that holds no work, with a salvage.

    HEAD and the index stay, so the salvaged work shows as uncommitted changes.
    """
    commit = _existing(repository.git, ref)
    git.run("read-tree", "--reset", "-u", commit)
    git.run("read-tree", "HEAD")


def salvaged_head(repository: Repository, ref: str) -> str:
    """Returns the HEAD a salvage was taken on."""
    return read_commit(repository.git, f"{_existing(repository.git, ref)}^1")


def _made_at(kept: Salvage) -> datetime:
    stamp = kept.ref.rpartition("/")[2].partition("-")[0]
    return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)


def _existing(git: Git, ref: str) -> str:
    commit = read_refs(git, SALVAGE).get(ref, "")
    if not commit:
        raise PersonFault(f"There is no salvage {ref!r}.", hint=f"See git for-each-ref {SALVAGE}")
    return commit


def _unfinished(git: Git) -> list[str]:
    place = git.place
    found = [read_small(place.git_dir / name) for name in _UNFINISHED] if place else []
    ids = [word for text in found if text for word in _ID.findall(text)]
    commits = [read_commit(git, word.decode()) for word in ids]
    return [commit for commit in dict.fromkeys(commits) if commit]


@contextlib.contextmanager
def copied_index(git: Git) -> Iterator[dict[str, str]]:
    """Gives the environment in which git works on a copy of the index."""
    if git.place is None:
        raise ValueError("salvage needs git bound to a worktree")
    with scratch_folder(git.place.common_dir, _INDEX_COPY) as folder:
        copy = folder / "index"
        # A lane that was never filled has no index; an empty one is right then.
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(git.place.git_dir / "index", copy)
        yield {"GIT_INDEX_FILE": str(copy)}


def sweep_index_copies(repository: Repository) -> None:
    """Removes what killed processes left of copies of an index."""
    sweep_scratch(repository.common_dir, _INDEX_COPY)
