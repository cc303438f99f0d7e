"""What worktrees lack that a person's own checkout may have, to be told before anybody misses it.

1. Submodules are repositories of their own: their folders are empty in worktrees.
2. Files kept in Git LFS are pointers there: their content is in no commit, and the programs that
   fetch it are not run.
"""

import re

from modules.git.changes import read_blobs
from modules.git.merging import attributes_of
from modules.git.repository import Repository

_LFS = re.compile(rb"\bfilter=lfs\b")
_SUBMODULE = "160000 "
_SHOWN = 5


def worktree_gaps(repository: Repository, commit: str) -> list[str]:
    """Returns what worktrees of `commit` lack, a sentence each; blocks."""
    git, found = repository.git, []
    entries = git.fields("ls-tree", "-r", "-z", commit)
    modules = [e.partition("\t")[2] for e in entries if e.startswith(_SUBMODULE)]
    if modules:
        shown = ", ".join(map(repr, modules[:_SHOWN]))
        more = f" and {len(modules) - _SHOWN} more" if len(modules) > _SHOWN else ""
        found.append(
            f"The submodules {shown}{more} are empty folders in worktrees. If your check needs "
            "them, have [lane] setup put their files there."
        )
    blobs = read_blobs(git, (blob for _, blob in attributes_of(git, commit)))
    if any(_LFS.search(text) for text in blobs.values()):
        found.append(
            "Files kept in Git LFS are pointers in worktrees. If your check needs their content, "
            "have [lane] setup fetch it to another place."
        )
    return found
