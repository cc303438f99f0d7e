"""Which files and folders no jail shows: the places of secrets that are there now.

1. This program's own folder, and what the system keeps from users.
2. In the person's home: what the gate refuses to have read, looked for in its hidden folders.
3. In the main checkout: files whose names mark a secret, and this program's own state. Lanes and
   git's folder are left out: a lane is made of what is committed.
4. The search is bounded in depth and size, nearest first: it runs before every start of a jail.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from modules.safety.path_names import folded, is_secret_below_home, is_secret_name
from modules.store.paths import LANES_FOLDER, TEAM_FOLDER

_DEPTH_IN_HOME = 3
_DEPTH_IN_PROJECT = 4
_MOST_ENTRIES = 5_000
_MOST_PLACES = 200
_SYSTEM = (Path("/etc/shadow"), Path("/etc/gshadow"), Path("/etc/sudoers"))
_NOT_SEARCHED = frozenset({".git", LANES_FOLDER, "node_modules", ".venv", "__pycache__"})

Names = tuple[str, ...]


def hidden_places(*, home: Path, user_folder: Path, project: Path) -> tuple[Path, ...]:
    """Returns what a jail for work on `project` must hide; only what exists."""
    own = (user_folder, project / TEAM_FOLDER, *_SYSTEM)
    found = [path for path in own if os.access(path, os.F_OK)]
    found += _search(home, _DEPTH_IN_HOME, is_hit=_is_secret_in_home, is_searched=_is_dotted)
    found += _search(
        project, _DEPTH_IN_PROJECT, is_hit=_is_secret_in_project, is_searched=_is_of_the_project
    )
    return tuple(dict.fromkeys(found))


def _is_secret_in_home(names: Sequence[str]) -> bool:
    return is_secret_below_home(names) or is_secret_name(names[-1])


def _is_secret_in_project(names: Sequence[str]) -> bool:
    return is_secret_name(names[-1])


def _is_dotted(names: Sequence[str]) -> bool:
    return names[0].startswith(".")


def _is_of_the_project(names: Sequence[str]) -> bool:
    return names[-1] not in _NOT_SEARCHED


def _search(
    root: Path,
    depth: int,
    *,
    is_hit: Callable[[Names], bool],
    is_searched: Callable[[Names], bool],
) -> Iterator[Path]:
    """Finds places below `root`, the nearest first, until there are too many."""
    waiting: deque[tuple[Path, Names]] = deque([(root, ())])
    entries_left, places_left = _MOST_ENTRIES, _MOST_PLACES
    while waiting and entries_left > 0 and places_left > 0:
        folder, above = waiting.popleft()
        for entry in _entries(folder):
            entries_left -= 1
            names = (*above, folded(entry.name))
            if is_hit(names):
                places_left -= 1
                yield Path(entry.path)
            elif len(names) < depth and entry.is_dir(follow_symlinks=False) and is_searched(names):
                waiting.append((Path(entry.path), names))


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []  # what can't be listed here can't be listed inside, either
