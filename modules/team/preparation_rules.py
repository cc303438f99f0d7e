"""What a worktree gets beside what is committed, so that code in it can be run; pure.

1. Copied are small files that git ignores. A file whose name marks a secret is not, nor one inside
   of git's folder or ours; nor is a link, a file git tracks, or one it would take for new work.
2. They are few and small, counted together; where they are more, or where too much would have to be
   looked at to find them, none is copied.
3. Set up is once for each state of the files that pin what is installed: those named, or the lock
   files that are usual. Without any the command alone decides.
4. A worktree's ports are a block of their own, the first that nobody has and nobody listens on.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from modules.safety.path_names import folded, is_secret_name
from modules.store.paths import LANES_FOLDER, TEAM_FOLDER
from modules.team.file_search import MOST_SEEN

MOST_COPIED_BYTES = 5_000_000
MOST_COPIED_FILES = 200
PORTS_IN_BLOCK = 10
LOCK_FILES = (
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "go.sum",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pylock.toml",
    "pyproject.toml",
    "requirements*.txt",
    "uv.lock",
    "yarn.lock",
)
"""Looked for at the root of the worktree; `pyproject.toml` pins what is installed editable."""
TOO_MUCH_TO_SEE = (
    f"more than {MOST_SEEN} files and folders would have to be looked at; name the folders the "
    "files are in instead of `**`"
)
_FIRST_PORT, _BLOCKS = 20_000, 1_200
_NEVER = frozenset({".git", TEAM_FOLDER, LANES_FOLDER})
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the main checkout that a pattern names."""

    path: str
    """Relative to the checkout."""
    size_bytes: int
    is_plain: bool
    """False for links and what is no file."""
    is_ignored: bool
    """True where git ignores it and does not track it."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What is copied, and what is not and why, a line each."""

    paths: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def plan_copy(found: Iterable[Found]) -> CopyPlan:
    """Returns which of the files that patterns name are copied."""
    paths, refused, size_bytes = [], [], 0
    for file in sorted(found, key=lambda file: file.path):
        if why := _why_not(file):
            refused.append(f"{file.path!r} {why}")
        else:
            paths.append(file.path)
            size_bytes += file.size_bytes
    if len(paths) > MOST_COPIED_FILES or size_bytes > MOST_COPIED_BYTES:
        much = f"{len(paths)} files of {size_bytes / 1e6:.1f} MB"
        most = f"{MOST_COPIED_FILES} files of {MOST_COPIED_BYTES / 1e6:.0f} MB"
        return CopyPlan(refused=(*refused, f"{much} are named; the most is {most}"))
    return CopyPlan(tuple(paths), tuple(refused))


def setup_key(command: str, files: Mapping[str, bytes]) -> str:
    """Returns what tells one state of what is set up from another."""
    digest = hashlib.sha256(command.encode("utf-8", "surrogateescape"))
    for path, content in sorted(files.items()):
        digest.update(f"\0{path}\0{hashlib.sha256(content).hexdigest()}".encode())
    return digest.hexdigest()


def first_block(
    seed: str, taken: Iterable[int], is_free: Callable[[Sequence[int]], bool]
) -> int | None:
    """Returns the first port of a block nobody has; None when there is none.

    `seed` says where to begin, so that two repositories seldom try the same.
    """
    start = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "replace")).digest()[:4]) % _BLOCKS
    used = set(taken)
    for number in range(_BLOCKS):
        port = _FIRST_PORT + (start + number) % _BLOCKS * PORTS_IN_BLOCK
        if port not in used and is_free(range(port, port + PORTS_IN_BLOCK)):
            return port
    return None


def some(lines: Sequence[str]) -> str:
    """Returns a few of many lines in one sentence."""
    shown = "; ".join(lines[:_SHOWN])
    return shown if len(lines) <= _SHOWN else f"{shown}; and {len(lines) - _SHOWN} more"


def _why_not(file: Found) -> str:
    names = PurePosixPath(file.path).parts
    if any(name in _NEVER for name in names):
        return "lies in a folder of git's or the crew's own"
    if any(is_secret_name(folded(name)) for name in names):
        return "is named like a secret"
    if not file.is_plain:
        return "is no plain file"
    if not file.is_ignored:
        return "is not ignored by git, so it would become part of the work: ignore it, or commit it"
    return ""
