"""What changed between two commits, and what a commit holds."""

from collections.abc import Iterable, Iterator
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


def file_changes(git: Git, old: str, new: str) -> tuple[FileChange, ...]:
    """Returns every path that differs between two commits or trees; a rename is two of them."""
    fields = iter(git.fields("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new))
    return tuple(_changes(fields))


def renames(git: Git, old: str, new: str) -> tuple[tuple[str, str], ...]:
    """Returns the pairs (old path, new path) of files that were renamed."""
    argv = ("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", old, new)
    fields = git.fields(*argv)
    return tuple(zip(fields[1::3], fields[2::3], strict=True))


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


def _changes(fields: Iterator[str]) -> Iterator[FileChange]:
    for facts in fields:
        old_mode, new_mode, old_id, new_id, _ = facts.removeprefix(":").split(" ")
        yield FileChange(next(fields), old_mode, new_mode, old_id, new_id)
