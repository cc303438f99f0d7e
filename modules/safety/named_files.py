"""Files of a project that a command line names: `./check.sh`, `python tools/guard.py`."""

import hashlib
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

_PROJECT_VARIABLE = re.compile(r"\$\{?(?:CLAUDE|CREWYARD)_PROJECT_DIR\}?(?![A-Za-z0-9_])")
_MARK = "\ue000"
"""Stands for the project's folder while a line is split; no shell takes it for anything else."""


def named_files(lines: Iterable[str], project: Path) -> tuple[Path, ...]:
    """Returns the files below `project` that are lines, or words of them, sorted.

    Words are looked at as they stand, the project's variable filled in; it is no shell.
    """
    root = project.resolve()
    found = set()
    for line in lines:
        marked = _PROJECT_VARIABLE.sub(_MARK, line)
        for word in (marked, *_words(marked)):
            path = root / word.replace(_MARK, str(root))
            # A name may be too long or hold a NUL: then it is no file's.
            if os.path.isfile(path) and path.resolve().is_relative_to(root):  # noqa: PTH113 - as said
                found.add(path.resolve())
    return tuple(sorted(found))


def fingerprints(files: Iterable[Path]) -> tuple[tuple[Path, str], ...]:
    """Returns what each file holds, as a hash; empty where it is gone or can't be read."""
    return tuple((path, _fingerprint(path)) for path in files)


def _fingerprint(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
