"""What changed between two commits, and what a commit holds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from modules.git.run_git import Git, decoded


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path that differs; an absent side has mode `000000` and an id of zeros."""

    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a merge did since both were one."""

    paths: Sequence[str]
    """Paths that differ, both names of a rename included."""
    renames: Sequence[tuple[str, str]] = ()
    """Pairs (old, new)."""


def compare(git: Git, *pairs: tuple[str, str]) -> list[Side]:
    """Returns what differs between the trees of each pair; all in one run of git."""
    given = "".join(f"{old} {new}\n" for old, new in pairs).encode()
    argv = ("diff-tree", "--stdin", "-r", "-z", "-M", "--name-status")
    stdout = git.run(*argv, input=given).stdout
    # Pairs without a difference leave text behind the last NUL.
    return _sides([decoded(field) for field in stdout.split(b"\0")], pairs)


def file_changes(git: Git, old: str, new: str) -> tuple[FileChange, ...]:
    """Returns every path that differs between two commits or trees; a rename is two of them."""
    fields = iter(git.fields("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new))
    return tuple(_changes(fields))


def paths_in(git: Git, commit: str) -> list[str]:
    """Returns all paths of a commit's tree."""
    return git.fields("ls-tree", "-r", "-z", "--name-only", commit)


def blob_text(git: Git, blob: str) -> str:
    """Returns the content of a blob as text."""
    return decoded(git.run("cat-file", "blob", blob).stdout)


def read_blobs(git: Git, ids: Iterable[str]) -> dict[str, bytes]:
    """Returns the contents of those of `ids` that are blobs."""
    given = "".join(f"{blob}\n" for blob in dict.fromkeys(ids)).encode()
    stdout = git.run("cat-file", "--batch", input=given).stdout
    found: dict[str, bytes] = {}
    start = 0
    while start < len(stdout):
        head, _, _ = stdout[start : start + 200].partition(b"\n")
        words = head.decode().split()
        start += len(head) + 1
        # `<id> missing` has no content; everything else is followed by it and a line break.
        if len(words) == 3:
            size = int(words[2])
            if words[1] == "blob":
                found[words[0]] = stdout[start : start + size]
            start += size + 1
    return found


def _sides(fields: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Side]:
    """Reads `diff-tree --stdin`: each pair's line comes glued to the first field after it."""
    heads = [f"{old} {new}\n" for old, new in pairs]
    found: list[Side] = []
    paths: list[str] = []
    renamed: list[tuple[str, str]] = []
    rest = iter(fields)
    for field in rest:
        while len(found) < len(heads) and field.startswith(heads[len(found)]):
            field = field.removeprefix(heads[len(found)])
            paths, renamed = [], []
            found.append(Side(paths, renamed))
        if field:
            paths.append(next(rest))
        if field.startswith("R"):
            renamed.append((paths[-1], next(rest)))
            paths.append(renamed[-1][1])
    return found


def _changes(fields: Iterator[str]) -> Iterator[FileChange]:
    for facts in fields:
        old_mode, new_mode, old_id, new_id, _ = facts.removeprefix(":").split(" ")
        yield FileChange(next(fields), old_mode, new_mode, old_id, new_id)
