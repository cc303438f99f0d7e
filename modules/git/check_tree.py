"""The queue's own worktree, in which the exact commit to be landed is checked.

1. It is kept from run to run and pointed at the next commit: that costs a tenth of a new one.
2. Before a run nothing of the one before is left: no changed, untracked or ignored file, no
   repository inside, no operation in its middle, no flag in the index that hides a change. Kept are
   folders the caller names, which runs must not be able to write.
3. All files of the commit are there, even where the person's own checkout is sparse.
4. When it can't be brought there it is thrown away and made anew; nobody works in it.
5. After a run the tracked files must be what they were, or the run proved nothing.
6. A git that a killed run left at work in one is ended before anything else is done.
"""

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from modules.git.lane_names import CHECK_TREE, CHECK_TREE_PREFIX
from modules.git.lane_state import unfinished_operation
from modules.git.occupants import end_marked
from modules.git.repository import Repository, exclude_own_folders
from modules.git.run_git import Git, GitFault
from modules.git.worktrees import admin_folder, git_in, register, registering
from modules.records.errors import PersonFault
from modules.store.removal import remove_tree

_FILL_SECONDS = 600.0
_SHOWN = 5


def check_tree_path(repository: Repository, number: int) -> Path:
    """Returns the folder of one of the queue's worktrees."""
    return repository.paths.lanes / f"{CHECK_TREE_PREFIX}{number}"


def point_check_tree(
    repository: Repository, number: int, commit: str, *, keep: Sequence[str] = ()
) -> Path:
    """Brings the worktree to exactly `commit` and returns its folder.

    `keep` are folders, by their paths in it, that stay as they are; no commit may hold them.
    """
    path = check_tree_path(repository, number)
    try:
        _point(repository, path, commit, keep)
    except (GitFault, PersonFault, OSError):
        _make_anew(repository, path, commit)
    return path


def check_tree_problem(repository: Repository, number: int, commit: str) -> str:
    """Returns what a run did to the worktree that makes it no proof; empty when nothing."""
    path = check_tree_path(repository, number)
    if not path.is_dir():
        return "it removed its own worktree"
    try:
        git = git_in(repository, path)
        if git.text("rev-parse", "HEAD") != commit:
            return "it moved HEAD"
        changed = git.fields("diff", "-z", "--name-only", "--ignore-submodules=none", commit, "--")
    except (GitFault, PersonFault) as error:
        return f"git can't read the worktree any more: {error}"
    if changed:
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        return f"it changed tracked files: {', '.join(map(repr, changed[:_SHOWN]))}{more}"
    return ""


def end_left_over_git(repository: Repository) -> None:
    """Kills git at work in the queue's worktrees; only the holder of the queue's lock may."""
    end_marked(f"GIT_DIR={repository.common_dir}/worktrees/{CHECK_TREE_PREFIX}")


def remove_check_trees(repository: Repository) -> None:
    """Removes the queue's worktrees; nothing in them is anybody's work."""
    with registering(repository):
        for path in sorted(repository.paths.lanes.glob(f"{CHECK_TREE_PREFIX}*")):
            if CHECK_TREE.fullmatch(path.name):
                folder = admin_folder(repository, path)
                if folder is not None:
                    shutil.rmtree(folder)
                remove_tree(path)


def _point(repository: Repository, path: Path, commit: str, keep: Sequence[str]) -> None:
    git = _git(repository, path)
    if git.place is None or not _is_sound(git, path, git.place.git_dir):
        raise GitFault(("checkout", commit), code=None, stderr="the worktree is damaged")
    with contextlib.suppress(FileNotFoundError):  # The usual case: no git died in here.
        (git.place.git_dir / "index.lock").unlink()
    git.run("checkout", "--detach", "--force", "--quiet", commit, timeout_seconds=_FILL_SECONDS)
    if _fills_submodules(git, path):
        raise GitFault(("checkout", commit), code=None, stderr="a submodule's folder is not empty")
    if _holds_more(git, keep):
        exceptions = [word for name in keep for word in ("-e", f"/{name}")]
        git.run("clean", "-ffdxq", *exceptions, timeout_seconds=_FILL_SECONDS)
        if _holds_more(git, keep):
            raise GitFault(("clean",), code=None, stderr="files are left")


def _git(repository: Repository, path: Path) -> Git:
    """Returns git in the worktree, which is whole even where the person's checkout is sparse."""
    return git_in(repository, path).configured(("core.sparseCheckout", "false"))


def _fills_submodules(git: Git, path: Path) -> bool:
    """True when something lies in a folder of a submodule: git neither shows nor removes it."""
    entries = git.run("ls-files", "--stage", "-z").stdout.split(b"\0")
    places = [os.fsdecode(e.partition(b"\t")[2]) for e in entries if e.startswith(b"160000 ")]
    return any((path / place).is_dir() and any((path / place).iterdir()) for place in places)


def _holds_more(git: Git, keep: Sequence[str]) -> bool:
    entries = git.fields("status", "--porcelain", "--ignored", "-z")
    return any(entry[3:].rstrip("/") not in keep for entry in entries)


def _is_sound(git: Git, path: Path, git_dir: Path) -> bool:
    link = path / ".git"
    if path.is_symlink() or not link.is_file() or unfinished_operation(git_dir):
        return False
    if link.read_text("utf-8", "surrogateescape") != f"gitdir: {git_dir}\n":
        return False
    # `h` or `S` before a name: git was told not to look at changes of that file.
    return all(entry.startswith("H ") for entry in git.fields("ls-files", "-v", "-z"))


def _make_anew(repository: Repository, path: Path, commit: str) -> None:
    exclude_own_folders(repository)
    with registering(repository):
        folder = admin_folder(repository, path)
        if folder is not None:
            shutil.rmtree(folder)
        remove_tree(path)
        register(repository, path, commit=commit)
    _git(repository, path).run("reset", "--hard", "--quiet", timeout_seconds=_FILL_SECONDS)
