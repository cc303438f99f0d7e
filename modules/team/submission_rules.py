"""Which changes the queue refuses and which need a person; pure.

1. Refused: any path of git's or of our own (`.git`, `.team`, `.worktrees`), however it is spelled.
2. Refused: two paths that are one on a file system that ignores case.
3. A person decides on files that steer programs or agents, on files whose names mark a secret, on
   links that leave the repository, and on submodules.
4. Refused: a change that puts files back to how they were before something landed, by a branch that
   was made before it landed; that is a stale tree on top of a newer base, not a change.
"""

import posixpath
import unicodedata
from collections.abc import Iterable, Mapping

from modules.git.changes import FileChange
from modules.safety.path_names import folded, is_secret_name, steering_name
from modules.safety.protected_names import is_protected_name

LINK = "120000"
SUBMODULE = "160000"
ABSENT = "000000"


def refused_paths(changes: Iterable[FileChange]) -> list[str]:
    """Returns the paths no submission may touch."""
    return [c.path for c in changes if any(is_protected_name(p) for p in c.path.split("/"))]


def paths_for_a_person(changes: Iterable[FileChange], *, links: Mapping[str, str]) -> list[str]:
    """Returns the paths only a person may let in; `links` are the texts of changed links."""
    return [change.path for change in changes if _needs_a_person(change, links)]


def case_clashes(added: Iterable[str], existing: Iterable[str]) -> list[tuple[str, str]]:
    """Returns pairs of paths, folders included, that differ only in case or composition."""
    known: dict[str, str] = {}
    for path in existing:
        for prefix in _prefixes(path):
            known.setdefault(_caseless(prefix), prefix)
    clashes = []
    for path in added:
        for prefix in _prefixes(path):
            other = known.setdefault(_caseless(prefix), prefix)
            if other != prefix:
                clashes.append((prefix, other))
    return clashes


def put_back(changes: Iterable[FileChange], *, landed_since: Iterable[FileChange]) -> list[str]:
    """Returns the paths that `changes` sets to what they were before `landed_since`."""
    before = {change.path: (change.old_mode, change.old_id) for change in landed_since}
    return [c.path for c in changes if before.get(c.path) == (c.new_mode, c.new_id)]


def _needs_a_person(change: FileChange, links: Mapping[str, str]) -> bool:
    names = [folded(name) for name in change.path.split("/")]
    if steering_name(names) or (is_secret_name(names[-1]) and change.new_mode != ABSENT):
        return True
    if SUBMODULE in (change.old_mode, change.new_mode):
        return True
    return change.new_mode == LINK and _leaves(change.path, links.get(change.path, "/"))


def _leaves(path: str, text: str) -> bool:
    """True for a link that leads out of the repository, or into what is git's or ours."""
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    parts = end.split("/")
    return end.startswith("/") or parts[0] == ".." or any(is_protected_name(p) for p in parts)


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _caseless(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
