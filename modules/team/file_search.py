"""Finds the files that a person's globs name, without walking all of a checkout.

1. `*`, `?` and `[…]` stay within one folder; `**` is any folders below, none included.
2. `**` leads into no folder of git's or ours, and into no cache such as `node_modules`, which may
   hold more files than all the rest. A cache that the glob names is looked into.
3. No link is followed, and a search that would see too much ends.
"""

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from modules.store.paths import LANES_FOLDER, TEAM_FOLDER

MOST_SEEN = 20_000
"""Files and folders that one search looks at."""
CACHES = frozenset(
    {
        ".cache",
        ".gradle",
        ".mypy_cache",
        ".next",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".terraform",
        ".tox",
        ".turbo",
        ".venv",
        "__pycache__",
        "bower_components",
        "node_modules",
        "target",
        "venv",
    }
)
_KEPT_OUT = frozenset({".git", TEAM_FOLDER, LANES_FOLDER})
_ANY_FOLDERS = "**"
_WILDCARD = re.compile(r"[*?\[]")


class TooMuchToSee(Exception):
    """A search would look at more files and folders than it may."""


class FileSearch:
    """One search below `root`, for what several globs name; `most_seen` None is without an end."""

    def __init__(self, root: Path, *, most_seen: int | None = MOST_SEEN) -> None:
        self._root = root
        self._left = most_seen

    def find(self, globs: Iterable[str]) -> set[str]:
        """Returns the paths, relative to the root, of files and links; raises TooMuchToSee."""
        found: set[str] = set()
        for glob in globs:
            parts = [part for part in glob.split("/") if part not in ("", ".")]
            found |= set(self._below("", parts)) if parts else set()
        return found

    def _below(self, folder: str, parts: list[str]) -> Iterator[str]:
        """Yields what `parts` of a glob name below `folder`, which is empty or ends in a slash."""
        head, rest = parts[0], parts[1:]
        if head == _ANY_FOLDERS:
            yield from self._anywhere_below(folder, rest)
        elif _WILDCARD.search(head):
            for entry in self._entries(folder):
                if fnmatchcase(entry.name, head):
                    yield from self._at(folder + entry.name, rest, is_folder=_is_folder(entry))
        else:
            path = self._root / folder / head
            if path.exists() or path.is_symlink():
                is_folder = path.is_dir() and not path.is_symlink()
                yield from self._at(folder + head, rest, is_folder=is_folder)

    def _anywhere_below(self, folder: str, rest: list[str]) -> Iterator[str]:
        while rest[:1] == [_ANY_FOLDERS]:
            rest = rest[1:]
        yield from self._below(folder, rest or ["*"])
        for entry in self._entries(folder):
            if _is_folder(entry) and entry.name not in _KEPT_OUT | CACHES:
                yield from self._anywhere_below(f"{folder}{entry.name}/", rest)

    def _at(self, path: str, rest: list[str], *, is_folder: bool) -> Iterator[str]:
        """Yields `path` where that is all the glob names, or what it names below it."""
        if rest and is_folder:
            yield from self._below(f"{path}/", rest)
        elif not rest and not is_folder:
            yield path

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._root / folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []
        if self._left is not None:
            self._left -= len(entries)
            if self._left < 0:
                raise TooMuchToSee
        return entries


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)
