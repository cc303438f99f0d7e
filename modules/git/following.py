"""Moves the target branch to what has landed, without harm to whoever has it checked out.

1. A branch that is checked out nowhere is moved by compare-and-swap, by whoever asks.
2. One that is checked out follows as `git merge --ff-only` does it: edits of untouched files stay,
   and anything in the way (changed, staged, untracked or ignored) makes git refuse. A refusal is
   a reason to wait, never to stash or force.
3. It also waits while the person is in the middle of a merge, rebase, cherry-pick, revert or bisect
   that concerns the branch, while their git holds the index, and for files that go through a
   filter of the repository's own, which we don't run.
4. Uncommitted edits are kept in a ref before their checkout is touched.
5. A move that was cut off is put right: files that hold the new bytes, a part of them, or are
   missing go back to the old ones; any other file was edited meanwhile, and then it waits.
"""

import contextlib
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from modules.git.changes import FileChange, file_changes, read_blobs
from modules.git.lane_state import unfinished_operation
from modules.git.refs import RESCUE, RefMoved, changed_paths, move_ref, read_ref, set_ref
from modules.git.repository import Repository
from modules.git.run_git import Git, GitFault, GitTimedOut
from modules.git.salvage import capture, copied_index
from modules.git.worktrees import admin_folders, git_in, holder_of

_FOLLOW_SECONDS = 600.0
_ABSENT = "000000"
_SUBMODULE = "160000"
_SHOWN = 5


def hindrance(repository: Repository, holder: Git | None, *, old: str, new: str) -> str:
    """Returns why the target branch can't follow from `old` to `new` now; empty when it can.

    `holder` is git where it is checked out.
    """
    if waiting := _operation_on_target(repository):
        return waiting
    if holder is None:
        return ""
    if missing := _missing(holder):
        return missing
    if operation := unfinished_operation(_git_dir(holder)):
        return f"a {operation} is unfinished in {str(holder.folder)!r}"
    if (_git_dir(holder) / "index.lock").exists():
        return f"git is at work in {str(holder.folder)!r} (index.lock)"
    return _in_the_way(holder, old, new) or _filtered(repository, old, new)


def follow(repository: Repository, holder: Git, *, old: str, new: str, when: datetime) -> str:
    """Moves the checkout of the target branch; returns why it could not, empty when it did.

    Raises RefMoved when the branch is elsewhere, GitTimedOut when git had to be killed midway.
    """
    if read_ref(holder, repository.target_ref) != old:
        raise RefMoved(("merge",), code=None, stderr=f"{repository.target} moved")
    _rescue(repository, holder, when)
    try:
        holder.run(
            "merge",
            "--ff-only",
            "--no-autostash",
            "--no-overwrite-ignore",
            "--no-verify-signatures",
            "--no-squash",
            "--no-stat",
            "--quiet",
            new,
            timeout_seconds=_FOLLOW_SECONDS,
        )
    except GitTimedOut:
        raise
    except GitFault as error:
        return _refusal(error, holder.folder)
    return ""


def put_right(repository: Repository, *, old: str, new: str) -> str:
    """Repairs a checkout whose move from `old` to `new` was cut off; returns why it could not."""
    holder = holder_git(repository)
    if holder is None or read_ref(repository.git, repository.target_ref) != old:
        return ""
    if missing := _missing(holder):
        return missing
    lock = _git_dir(holder) / "index.lock"
    if lock.exists():
        if _is_open(lock):
            return f"git is at work in {str(holder.folder)!r} (index.lock)"
        lock.unlink()
    changes = file_changes(holder, old, new)
    staged = set(holder.fields("diff-index", "--cached", "-z", "--name-only", new, "--"))
    if not staged & {change.path for change in changes}:
        # The files and the index had followed already; only the branch had not.
        move_ref(holder, repository.target_ref, new=new, old=old)
        return ""
    blobs = read_blobs(holder, [i for c in changes for i in (c.old_id, c.new_id)])
    torn = [c for c in changes if _is_torn(holder, c, blobs)]
    edited = [c.path for c in torn if not _is_ours(holder, c, blobs)]
    if edited:
        return f"{_some(edited)} in {str(holder.folder)!r} changed while the move was cut off"
    _restore(holder, torn)
    return ""


def holder_git(repository: Repository) -> Git | None:
    """Returns git in the worktree that has the target branch checked out, None when none has."""
    path = holder_of(repository, repository.target_ref)
    if path is None:
        return None
    return repository.git if path == repository.root else git_in(repository, path)


def _missing(holder: Git) -> str:
    if holder.folder.is_dir():
        return ""
    return f"its worktree {str(holder.folder)!r} is not there; if it never will: git worktree prune"


def _operation_on_target(repository: Repository) -> str:
    """A branch under a rebase or bisect isn't checked out, but will be written or looked for."""
    for folder in (repository.common_dir, *admin_folders(repository)):
        for name in ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"):
            with contextlib.suppress(FileNotFoundError):  # The usual case: none is under way.
                if (folder / name).read_text().strip() in (
                    repository.target_ref,
                    repository.target,
                ):
                    return f"{name.partition('/')[0]!r} of {repository.target!r} is under way"
    return ""


def _in_the_way(holder: Git, old: str, new: str) -> str:
    """Asks git whether the files could follow; it tries nothing and holds no lock."""
    trial = ("read-tree", "-n", "-m", "-u", old, new)
    with copied_index(holder) as env:
        result = holder.run(*trial, env=env, accept=(0, 1, 128))
        if result.code != 0:
            # A file that was only touched looks changed until the index is refreshed.
            holder.run("update-index", "-q", "--refresh", env=env, accept=(0, 1))
            result = holder.run(*trial, env=env, accept=(0, 1, 128))
    if result.code == 0:
        return ""
    paths = re.findall(r"'(.*)'", result.stderr)
    words = _some(paths) if paths else result.stderr.strip()
    return f"{words} in {str(holder.folder)!r} is in the way"


def _git_dir(git: Git) -> Path:
    if git.place is None:
        raise ValueError("git must be bound to a worktree")
    return git.place.git_dir


def _filtered(repository: Repository, old: str, new: str) -> str:
    if not repository.filters:
        return ""
    paths = changed_paths(repository.git, old, new)
    given = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    fields = repository.git.run("check-attr", "-z", "--stdin", "filter", input=given).fields
    values = dict(zip(fields[0::3], fields[2::3], strict=True))
    found = [path for path, value in values.items() if value in repository.filters]
    if not found:
        return ""
    return (
        f"{_some(found)} goes through a filter of this repository's own configuration; "
        f"run: git merge --ff-only refs/crewyard/landed/{repository.target}"
    )


def _rescue(repository: Repository, holder: Git, when: datetime) -> None:
    if not holder.run("status", "--porcelain", "-z", "--untracked-files=no").stdout:
        return
    commit = capture(holder, reason="edits before following", when=when, untracked=False)
    set_ref(holder, RESCUE + repository.target, commit)


def _refusal(error: GitFault, folder: Path) -> str:
    paths = [line.strip() for line in error.stderr.splitlines() if line.startswith("\t")]
    if paths:
        return f"{_some(paths)} in {str(folder)!r} is in the way"
    return f"git refused in {str(folder)!r}: {error.stderr.strip()}"


def _is_torn(git: Git, change: FileChange, blobs: Mapping[str, bytes]) -> bool:
    """True when the file on disk isn't the old one."""
    if _SUBMODULE in (change.old_mode, change.new_mode):
        return False
    return _bytes_at(git.folder / change.path) != blobs.get(change.old_id)


def _is_ours(git: Git, change: FileChange, blobs: Mapping[str, bytes]) -> bool:
    """True for a file that a cut-off checkout could have left: missing, new, or partly new."""
    path = git.folder / change.path
    if path.is_dir() and not path.is_symlink():
        return False
    found, new = _bytes_at(path), blobs.get(change.new_id)
    return found is None or (new is not None and new.startswith(found))


def _restore(git: Git, torn: list[FileChange]) -> None:
    for change in torn:
        path = git.folder / change.path
        if change.old_mode == _ABSENT and (path.is_symlink() or path.exists()):
            path.unlink()
    back = [c.path for c in torn if c.old_mode != _ABSENT]
    given = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in back)
    if back:
        git.run("checkout-index", "--force", "-z", "--stdin", input=given)


def _bytes_at(path: Path) -> bytes | None:
    try:
        if path.is_symlink():
            return str(path.readlink()).encode("utf-8", "surrogateescape")
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def _is_open(path: Path) -> bool:
    """True when a living process holds the file open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # It ended, or is somebody else's.
            if link.readlink() == path:
                return True
    return False


def _some(paths: list[str]) -> str:
    shown = ", ".join(repr(path) for path in paths[:_SHOWN])
    return shown if len(paths) <= _SHOWN else f"{shown} and {len(paths) - _SHOWN} more"
