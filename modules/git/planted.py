"""Removes what somebody put in the place of git's own files of a lane.

A worker may write the folder in which git keeps its lane. Over a folder or a pipe with the name of
one of its files git stumbles, in some commands for every other lane as well. None is work.
"""

import os
import stat
from pathlib import Path

from modules.store.removal import remove_tree

_FILES = (
    "index",
    "index.lock",
    "HEAD.lock",
    "locked",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "logs/HEAD",
)


def remove_planted(folder: Path) -> list[str]:
    """Removes what in git's folder of a lane is no file and should be; nobody may be in the lane.

    Returns the names.
    """
    planted = [name for name in _FILES if _is_there_but_no_file(folder / name)]
    for name in planted:
        remove_tree(folder / name)
    return planted


def _is_there_but_no_file(path: Path) -> bool:
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
