"""Exit codes of the program."""

from enum import IntEnum


class Exit(IntEnum):
    """What the exit code of a run tells a script."""

    DONE = 0
    """All that was asked for is done and landed."""
    FAILED = 1
    """The run itself failed."""
    USAGE = 2
    """The command line, the settings or the repository is not usable."""
    UNFINISHED = 3
    """The run ended with tasks failed, blocked or parked."""
    LIMIT = 4
    """A budget or another limit ended the run."""
    BUG = 70
    """A bug in this program (EX_SOFTWARE of sysexits.h)."""
    INTERRUPTED = 130
    """Ctrl-C."""
    READER_LEFT = 141
    """Whoever read the output left before the end (SIGPIPE)."""
    TERMINATED = 143
    """SIGTERM."""
