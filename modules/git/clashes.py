"""Which pairs of commits can't be joined, asked for many pairs at once.

1. One run of git joins all pairs in memory. What it writes goes to a folder that is thrown away, so
   asking leaves no object behind.
2. A pair git can't join at all (no common history, a commit that is gone or broken) hides no other
   pair: it is left out of the answer.
"""

from collections.abc import Iterator, Mapping, Sequence

from modules.git.merging import Attributes, merge_cell
from modules.git.repository import Repository
from modules.git.run_git import Git, GitFault, GitTimedOut
from modules.store.scratch import scratch_folder

Commits = tuple[str, str]
"""Two commits by their full ids; the first is the one that is merged into."""

_COMMAND = ("merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages")
# Begins like the folders that merges are made in, so what a killed process leaves goes with them.
_THROWN_AWAY = "merge-objects-"
_SECONDS = 20.0


def clashing_paths(
    repository: Repository, pairs: Sequence[Commits], *, attributes: Attributes
) -> dict[Commits, frozenset[str]]:
    """Returns the paths in which each pair can't be joined; none for a pair that can.

    `attributes` are the `.gitattributes` files that count.
    """
    if not pairs:
        return {}
    with (
        merge_cell(repository, attributes) as git,
        scratch_folder(repository.paths.temporary, _THROWN_AWAY) as folder,
    ):
        objects = repository.common_dir / "objects"
        environment = {
            "GIT_OBJECT_DIRECTORY": str(folder),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(str(objects)),
        }
        try:
            return _join(git, pairs, environment)
        except GitTimedOut:
            raise
        except GitFault:
            return _join_one_by_one(git, pairs, environment)


def _join_one_by_one(
    git: Git, pairs: Sequence[Commits], environment: Mapping[str, str]
) -> dict[Commits, frozenset[str]]:
    found: dict[Commits, frozenset[str]] = {}
    for pair in pairs:
        try:
            found |= _join(git, [pair], environment)
        except GitTimedOut:
            raise
        except GitFault:
            continue
    return found


def _join(
    git: Git, pairs: Sequence[Commits], environment: Mapping[str, str]
) -> dict[Commits, frozenset[str]]:
    given = "".join(f"{ours} {theirs}\n" for ours, theirs in pairs).encode()
    result = git.run(*_COMMAND, input=given, env=environment, timeout_seconds=_SECONDS)
    return dict(zip(pairs, _answers(result.fields), strict=True))


def _answers(fields: Sequence[str]) -> Iterator[frozenset[str]]:
    """Reads one answer a pair: `1` for joined or `0`, the tree, the paths, an empty field."""
    rest = list(fields)
    while rest:
        end = rest.index("")
        yield frozenset(rest[2:end]) if rest[0] == "0" else frozenset()
        rest = rest[end + 1 :]


def _quoted(path: str) -> str:
    """Returns a path as git reads it in a list, where a colon ends an entry."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
