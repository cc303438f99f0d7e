"""A command line taken apart: what a later judgement looks at."""

from enum import StrEnum

from modules.records.decisions import Assessment
from modules.records.record import Record
from modules.safety.shell_words import Word


class Direction(StrEnum):
    """Which way a redirect goes."""

    READ = "read"
    WRITE = "write"


class Assignment(Record):
    """A variable set before a command."""

    name: str
    value: str | None
    """None where it isn't known before the command runs."""


class Call(Record):
    """One simple command."""

    words: tuple[Word, ...]
    raw: str
    """As written, runs of blanks made one."""
    assignments: tuple[Assignment, ...] = ()
    folders: tuple[str, ...] = ()
    """Folders it may run in; UNKNOWN for one that isn't known."""
    upstream: tuple[int, ...] = ()
    """Places in the script of the commands whose output it may read as input."""
    inside: tuple[int, ...] = ()
    """Places in the script of the commands in its own words."""
    is_network_fed: bool = False
    """True where its input or output is redirected to a network device."""
    input_text: str | None = None
    """What it reads as input, where that is written out."""


class Redirect(Record):
    """A file that the shell opens for a command."""

    direction: Direction
    target: Word
    folders: tuple[str, ...]
    calls: tuple[int, ...] = ()
    """Places in the script of the commands whose output or input it may be."""


class Script(Record):
    """Everything a command line says."""

    calls: tuple[Call, ...]
    redirects: tuple[Redirect, ...] = ()
    findings: tuple[Assessment, ...] = ()
    """What is dangerous in the syntax itself."""
    doubts: tuple[str, ...] = ()
    """Why it isn't understood; empty where it is."""
    text: str
