"""Names no file tool may write, however they are spelled.

1. `.git`, `.team` and `.worktrees` are protected at any depth, as files and as folders.
2. Case, Unicode look-alikes, invisible characters, trailing dots and blanks, and a stream suffix
   (`.git::$INDEX_ALLOCATION`) don't make another name: some file systems take them for the same.
3. `git~1` and the like are the short names of `.git` on Windows file systems.
"""

import re
import unicodedata

from modules.store.paths import LANES_FOLDER, TEAM_FOLDER

PROTECTED_NAMES = frozenset({".git", TEAM_FOLDER, LANES_FOLDER})
_SHORT_NAME = re.compile(r"git~[0-9]+")


def is_protected_name(name: str) -> bool:
    """True for one path component that is, on some file system, a protected name."""
    plain = _plain(name)
    return plain in PROTECTED_NAMES or _SHORT_NAME.fullmatch(plain) is not None


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return visible.partition(":")[0].rstrip(". ")
