"""Where HEAD of a worktree was last moved to from inside of it.

A worktree's branch lies beside those of others, and whoever may move one may move another. The log
of HEAD lies in the worktree's own folder, so it tells which commits were made there.
"""

import os
import re
import stat

from modules.git.refs import read_commit
from modules.git.run_git import Git

_TAIL_BYTES = 64_000
_LINE = re.compile(rb"^(?:[0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) .*\n\Z", re.M)


def last_own_head(git: Git) -> str:
    """Returns the commit HEAD was last moved to in the worktree `git` is bound to.

    Empty where nothing tells, or there is no such commit.
    """
    if git.place is None:
        return ""
    try:
        # The folder is its worker's, who may have put a link or a pipe there.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(git.place.git_dir / "logs" / "HEAD", flags)
    except OSError:
        return ""
    try:
        found_there = os.fstat(descriptor)
        if not stat.S_ISREG(found_there.st_mode):
            return ""
        tail = os.pread(descriptor, _TAIL_BYTES, max(found_there.st_size - _TAIL_BYTES, 0))
    finally:
        os.close(descriptor)
    found = _LINE.search(tail)
    return read_commit(git, found[1].decode()) if found else ""
