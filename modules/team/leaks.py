"""Finds secrets that a submission would put into the repository's history.

1. Looked at is all that would land: every version of every file in the submission's commits, not
   only the last one, the names of the files, and the words of the commits.
2. What a file of the repository says already is no news, wherever the line has moved to.
3. A known secret is one whose value this program knows; others are found by their shape.
4. What is found is told by file, line and kind; never by its value.
"""

from collections.abc import Iterable, Iterator, Mapping

from modules.git.changes import file_changes, read_blobs
from modules.git.refs import merge_base
from modules.git.run_git import Git, decoded
from modules.records.record import Record
from modules.safety.secrets import SecretMask, find_secrets

_AT_ONCE_BYTES = 16 * 1024 * 1024
_IN_WORDS = "the words of a commit"


class Leak(Record):
    """One secret in a submission."""

    path: str
    """The file, or what it is instead of one."""
    line: int
    """0: the file's name itself."""
    kind: str
    is_known: bool
    """True where it is one of this program's own secrets, and not only looks like one."""

    @property
    def words(self) -> str:
        """Where it is and what."""
        where = f"line {self.line}" if self.line else "its name"
        return f"{self.path}, {where}: {self.kind}"


def find_leaks(git: Git, *, landed: str, commit: str, mask: SecretMask) -> tuple[Leak, ...]:
    """Returns the secrets that `commit` would add to what has landed, each place once."""
    old_lines = _lines_before(git, landed, commit)
    found = [
        *_in_words(git, landed, commit, mask),
        *(
            leak
            for path, text in _texts(git, landed, commit)
            for leak in _in_text(mask.masked(path), text, mask, old_lines)
        ),
        *(
            Leak(path=mask.masked(path), line=0, kind=secret.kind, is_known=True)
            for path in _paths(git, landed, commit).values()
            for secret in mask.found(path)
        ),
    ]
    return tuple(dict.fromkeys(found))


def _in_text(path: str, text: str, mask: SecretMask, old_lines: frozenset[str]) -> Iterator[Leak]:
    known = mask.found(text)
    told = {secret.line for secret in known}
    shaped = [secret for secret in find_secrets(text) if secret.line not in told]
    lines = text.split("\n") if known or shaped else []
    for secrets, is_known in ((known, True), (shaped, False)):
        for secret in secrets:
            if lines[secret.line - 1] not in old_lines:
                yield Leak(path=path, line=secret.line, kind=secret.kind, is_known=is_known)


def _in_words(git: Git, landed: str, commit: str, mask: SecretMask) -> Iterator[Leak]:
    for words in git.fields("log", "-z", "--format=%B", f"{landed}..{commit}"):
        yield from _in_text(_IN_WORDS, words, mask, frozenset())


def _lines_before(git: Git, landed: str, commit: str) -> frozenset[str]:
    """Returns every line of the files as they were that the submission changes or removes."""
    changes = file_changes(git, merge_base(git, landed, commit) or landed, commit)
    old = read_blobs(git, [change.old_id for change in changes if change.old_id.strip("0")])
    return frozenset(line for data in old.values() for line in decoded(data).split("\n"))


def _texts(git: Git, landed: str, commit: str) -> Iterator[tuple[str, str]]:
    """Yields every version of a file that is new, with its path."""
    paths = _paths(git, landed, commit)
    for blobs in _portions(git, paths):
        for blob, data in read_blobs(git, blobs).items():
            yield paths[blob], decoded(data)


def _paths(git: Git, landed: str, commit: str) -> dict[str, str]:
    """Returns the blobs that landing the commit would bring, with the path of each."""
    listed = git.text(
        *("rev-list", "--objects", "--filter=object:type=blob", "--filter-provided-objects"),
        *(commit, f"^{landed}"),
    )
    pairs = (line.partition(" ") for line in listed.splitlines())
    return {blob: path for blob, _, path in pairs if path}


def _portions(git: Git, blobs: Mapping[str, str]) -> Iterator[list[str]]:
    """Yields the blobs in portions that fit into memory; a large one stands alone."""
    portion: list[str] = []
    room = _AT_ONCE_BYTES
    for blob, size in _sizes(git, blobs):
        if portion and size > room:
            yield portion
            portion, room = [], _AT_ONCE_BYTES
        portion.append(blob)
        room -= size
    if portion:
        yield portion


def _sizes(git: Git, blobs: Iterable[str]) -> Iterator[tuple[str, int]]:
    given = "".join(f"{blob}\n" for blob in blobs).encode()
    for line in git.run("cat-file", "--batch-check", input=given).text.splitlines():
        blob, _, size = line.split(" ")
        yield blob, int(size)
