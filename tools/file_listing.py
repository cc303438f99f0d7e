"""The files below a folder that a search looks at.

1. What git ignores is left out, unless the folder itself is ignored or outside any repository:
   then every file counts.
2. git's own folder and the crew's are never looked into; links are not followed.
3. Files whose names say that they hold secrets are left out, and counted.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from modules.git.run_git import Git, GitFault
from modules.safety.protected_names import is_protected_name

LISTING_SECONDS = 10.0
FILES_LIMIT = 200_000


@dataclass(frozen=True, slots=True)
class FileListing:
    """Files, and how far the list can be trusted."""

    paths: tuple[str, ...]
    """Relative to the folder, sorted."""
    hidden: int
    """Files left out for their names."""
    is_complete: bool
    """False when there were too many, or time was up."""


def list_files(
    folder: Path,
    *,
    environment: Mapping[str, str],
    hides: Callable[[Path], bool],
) -> FileListing:
    """Lists the files below `folder`; blocks, LISTING_SECONDS at most for each way of listing."""
    is_protected = lru_cache(maxsize=None)(is_protected_name)  # few names, in many paths
    found: set[str] = set()
    hidden = 0
    is_complete = True
    for path in _not_ignored(folder, environment) or _walked(folder):
        if path is None or len(found) >= FILES_LIMIT:
            is_complete = False
            break
        if any(is_protected(name) for name in path.split("/")):
            continue
        if hides(folder / path):
            hidden += 1
        else:
            found.add(path)
    return FileListing(tuple(sorted(found)), hidden, is_complete)


def _not_ignored(folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Returns what git would not ignore; empty where git has no say."""
    git = Git(folder=folder, variables=environment)
    arguments = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")
    try:
        return git.run(*arguments, timeout_seconds=LISTING_SECONDS).fields
    except GitFault:
        return []


def _walked(folder: Path) -> Iterator[str | None]:
    """Yields the files below `folder`; None when time is up."""
    deadline = time.monotonic() + LISTING_SECONDS
    for parent, folders, files in os.walk(folder):
        if time.monotonic() > deadline:
            yield None
            return
        folders[:] = sorted(name for name in folders if not is_protected_name(name))
        relative = os.path.relpath(parent, folder)
        for name in files:
            yield name if relative == "." else f"{relative}/{name}"
