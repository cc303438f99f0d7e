"""A small record and journals of it."""

from pathlib import Path

from modules.records.record import Record
from modules.store.journal import Journal


class Letter(Record, tag="letter", tag_field="kind"):
    """A record with one text."""

    text: str


class Letters:
    """One process's view of a journal of letters."""

    def __init__(self, path: Path) -> None:
        self.seen: list[str] = []
        self.journal: Journal[Letter] = Journal(
            path, Letter, apply=lambda letter: self.seen.append(letter.text)
        )

    def write(self, *texts: str) -> None:
        """Appends a letter for each text."""
        self.journal.append(lambda: [Letter(text=text) for text in texts])

    def read(self) -> list[str]:
        """Returns every text so far."""
        self.journal.catch_up()
        return self.seen


def read(path: Path) -> list[str]:
    """Returns what a new process reads in the journal."""
    letters = Letters(path)
    try:
        return letters.read()
    finally:
        letters.journal.close()


def put(path: Path, content: bytes) -> Path:
    """Writes a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def line(text: str) -> bytes:
    """Returns the line of one letter."""
    return b'{"kind":"letter","text":"%s"}\n' % text.encode()
