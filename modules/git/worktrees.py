"""Registered worktrees: what git knows of them, added and removed one at a time.

`git worktree add` fails now and then when two run at once, so whoever changes registrations holds
the lanes' lock (`registering`).
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from modules.git.lane_objects import take_in
from modules.git.repository import Repository
from modules.git.run_git import Git
from modules.records.errors import PersonFault
from modules.store.locks import held
from modules.store.small_files import read_small

_LOCK_SECONDS = 60.0
POINTERS = (
    *((f"filter.lfs.{option}", "") for option in ("clean", "smudge", "process")),
    ("filter.lfs.required", "false"),
)
"""Configuration with which files kept in Git LFS stay pointers."""
_ELSEWHERE = "refs/heads/.invalid"
"""What a repository's HEAD says when git keeps its refs in another way than in files."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """One registration as `git worktree list` tells it."""

    path: Path
    branch: str
    """Full name of the ref checked out; empty when HEAD is detached."""


@contextlib.contextmanager
def registering(repository: Repository) -> Iterator[None]:
    """Holds the right to change the repository's worktree registrations."""
    with held(repository.paths.lanes_lock, what="The lanes' lock", timeout_seconds=_LOCK_SECONDS):
        yield


def list_worktrees(repository: Repository) -> list[Worktree]:
    """Returns all worktrees, the main checkout first."""
    found: list[Worktree] = []
    facts: dict[str, str] = {}
    for field in repository.git.fields("worktree", "list", "--porcelain", "-z"):
        key, _, value = field.partition(" ")
        facts[key] = value
        if not field:
            found.append(Worktree(Path(facts["worktree"]), facts.get("branch", "")))
            facts = {}
    return found


def holder_of(repository: Repository, ref: str) -> Path | None:
    """Returns the worktree that has `ref`, a full name, checked out; None when none has."""
    heads = {repository.root: _head_of(repository.common_dir)}
    for folder in admin_folders(repository):
        if (path := registered_path(folder)) is not None:
            heads[path] = _head_of(folder)
    if _ELSEWHERE in heads.values():
        # This repository keeps its refs in tables, and HEAD is only there to look like one.
        heads = {tree.path: tree.branch for tree in list_worktrees(repository)}
    return next((path for path, head in heads.items() if head == ref), None)


def admin_folder(repository: Repository, path: Path) -> Path | None:
    """Returns the folder where git keeps the worktree at `path`, None when it isn't registered.

    It is found from git's side: the `.git` file in the worktree isn't trusted.
    """
    for folder in admin_folders(repository):
        if registered_path(folder) == path:
            return folder
    return None


def admin_folders(repository: Repository) -> list[Path]:
    """Returns the folders of all linked worktrees, whole or not."""
    parent = repository.common_dir / "worktrees"
    return sorted(parent.iterdir()) if parent.is_dir() else []


def registered_path(folder: Path) -> Path | None:
    """Returns the worktree that an administrative folder is for, None when it doesn't say."""
    try:
        words = (folder / "gitdir").read_text("utf-8", "surrogateescape").strip("\n\0")
    except (FileNotFoundError, NotADirectoryError):
        return None
    # Newer versions of git may write a path relative to the folder.
    return Path(os.path.normpath(folder / words)).parent if words else None


def _head_of(folder: Path) -> str:
    """Returns the ref that HEAD names; empty when it is detached or not there."""
    head = folder / "HEAD"
    try:
        # An old way to write it is a link to the ref's own file.
        target = head.readlink() if head.is_symlink() else None
    except FileNotFoundError:
        return ""
    text = (read_small(head) or b"").decode("utf-8", "replace")
    words = text if target is None else f"ref: {target}"
    return words.removeprefix("ref:").strip() if words.startswith("ref:") else ""


def git_in(repository: Repository, path: Path) -> Git:
    """Returns git in the linked worktree at `path`, following nothing that lies in it.

    Files kept in Git LFS stay pointers: a worker's git has no program that makes more of them.
    What was made in it in a jail is taken in first. Raises PersonFault when git knows no such
    worktree.
    """
    folder = admin_folder(repository, path)
    if folder is None:
        raise PersonFault(
            f"{str(path)!r} is not registered as a worktree.", hint="See `git worktree list`."
        )
    take_in(repository.common_dir, folder.name)
    return repository.place(folder, path).configured(*POINTERS)


def register(repository: Repository, path: Path, *, branch: str = "", commit: str = "") -> None:
    """Registers an empty worktree for a branch or, detached, for a commit.

    The caller is `registering`. A failed try leaves nothing.
    """
    if admin_folder(repository, path) is not None or os.path.lexists(path):
        raise PersonFault(f"{str(path)!r} is taken.", hint="Choose another name for the worktree.")
    path.parent.mkdir(exist_ok=True)
    what = ("--detach", str(path), commit) if commit else (str(path), branch)
    try:
        repository.git.run("worktree", "add", "--no-checkout", "--quiet", *what)
    except BaseException:
        forget(repository, path)
        raise


def forget(repository: Repository, path: Path) -> None:
    """Removes the registration of `path`, and its folder when nothing but `.git` is in it."""
    folder = admin_folder(repository, path)
    if folder is not None:
        shutil.rmtree(folder)
    if path.is_dir() and {p.name for p in path.iterdir()} <= {".git"}:
        with contextlib.suppress(FileNotFoundError):  # git may not have come that far.
            (path / ".git").unlink()
        path.rmdir()
