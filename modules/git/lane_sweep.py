"""Puts right what a killed run left of its lanes; done once at start, under the lanes' lock.

1. Only what is ours is touched: registrations of folders below our lanes folder, and half-made ones
   that carry the name of a lane we recorded. Others' stay as they are, dead or not.
2. A half-made registration (no HEAD, no common dir, no path in it) is removed: git itself can't,
   and stumbles over it at every turn.
3. A registration whose folder is gone is removed after its HEAD and index were salvaged; its branch
   stays.
4. Locks that a dead git left in our lanes are removed.
5. A lane that was registered but never filled is removed; there is no work in it.
6. For 4 and 5: only when no process works in the lane and nothing happened there for a minute,
   since another shell may be making that lane now.
7. What a worker planted in the place of git's own files is removed as soon as nobody works there.
8. Objects that jailed lanes made are taken in before all else, for a dead lead may not have.
"""

import contextlib
import os
from datetime import datetime
from pathlib import Path

from modules.git.lane_names import CHECK_TREE
from modules.git.lane_objects import drop_left_over, take_in_all
from modules.git.merging import join
from modules.git.occupants import occupants
from modules.git.planted import remove_planted
from modules.git.refs import LANDED, LANES, is_ancestor, read_commit, read_ref, read_refs
from modules.git.repository import Repository
from modules.git.run_git import Git, GitFault, Place
from modules.git.salvage import keep
from modules.git.worktrees import admin_folders, forget, registered_path, registering
from modules.store.removal import remove_tree
from modules.store.small_files import read_small

_NOBODY = b"0" * 40
_QUIET_SECONDS = 60.0


def sweep_lanes(repository: Repository, *, now: datetime) -> list[str]:
    """Returns one line for each thing that was put right."""
    done = []
    with registering(repository):
        take_in_all(repository.common_dir)
        ours = {ref.removeprefix(LANES) for ref in read_refs(repository.git, LANES)}
        for folder in admin_folders(repository):
            path = registered_path(folder)
            if _is_half_made(folder) and _is_ours(repository, folder, path, ours):
                remove_tree(folder)
                done.append(f"the half-made worktree {folder.name!r} was removed")
            elif path is not None and path.parent == repository.paths.lanes:
                done += _put_right(repository, folder, path, now)
        drop_left_over(repository.common_dir)
    return done


def _is_half_made(folder: Path) -> bool:
    for name in ("HEAD", "commondir", "gitdir"):
        if not os.path.lexists(folder / name):
            return True
        words = read_small(folder / name)
        if words is not None and words.strip(b"\0\n ") in (b"", _NOBODY):
            return True
    return False


def _is_ours(repository: Repository, folder: Path, path: Path | None, ours: set[str]) -> bool:
    if path is not None:
        return path.parent == repository.paths.lanes
    return folder.name in ours or CHECK_TREE.fullmatch(folder.name) is not None


def _put_right(repository: Repository, folder: Path, path: Path, now: datetime) -> list[str]:
    done = []
    if not path.is_dir():
        ref = _salvage_registration(repository, folder, path, now)
        forget(repository, path)
        kept = f"; what git knew of it is in {ref}" if ref else ""
        return [f"the worktree {path.name!r} is gone from disk and was forgotten{kept}"]
    if occupants(path):
        return []
    for name in remove_planted(folder):
        done.append(f"what was in the place of git's {name!r} of {path.name!r} was removed")
    if not _is_quiet(folder, now):
        return done
    for name in ("index.lock", "HEAD.lock"):
        with contextlib.suppress(FileNotFoundError):  # The usual case: nothing was left.
            (folder / name).unlink()
            done.append(f"the stale lock {name!r} of {path.name!r} was removed")
    locked = folder / "locked"
    if (read_small(locked) or b"").strip() == b"initializing":
        locked.unlink()
    if {entry.name for entry in path.iterdir()} <= {".git"} and not (folder / "index").exists():
        forget(repository, path)
        done.append(f"the worktree {path.name!r} was never filled and was removed")
    return done


def _is_quiet(folder: Path, now: datetime) -> bool:
    return now.timestamp() - folder.stat().st_mtime > _QUIET_SECONDS


def _salvage_registration(repository: Repository, folder: Path, path: Path, now: datetime) -> str:
    """Keeps the commit and the index of a worktree whose files are gone; returns the ref."""
    # The folder of the main checkout serves only as a place to stand in; no file there is read.
    git = Git(
        repository.root,
        repository.git.variables,
        place=Place(folder, repository.common_dir, repository.root),
        identity=repository.git.identity,
        overrides=repository.git.overrides,
    )
    head = read_commit(git, "HEAD")
    landed = read_ref(git, LANDED + repository.target) or read_ref(git, repository.target_ref)
    if not head:
        return ""
    try:
        tree = git.text("write-tree")
    except GitFault:
        # An index with conflicts, or with objects that are gone, can't be written; HEAD still can.
        tree = git.text("rev-parse", "HEAD^{tree}")
    if tree == git.text("rev-parse", "HEAD^{tree}") and landed and is_ancestor(git, head, landed):
        return ""
    commit = join(git, tree=tree, parents=(head,), message=f"{path.name}: folder gone", when=now)
    return keep(git, commit, name=path.name, when=now)
