"""How a server's process is started: its command, its folder, its environment.

The environment starts empty: a server gets the short list below, what its sandbox has for it and
what its own entry names, the later over the earlier; never this program's keys.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from modules.mcp_client.values import ServerEntry

PASSED_ON = frozenset(
    {"PATH", "HOME", "LANG", "TZ", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR", "CI", "NO_COLOR"}
)
PASSED_ON_PREFIX = "LC_"

Wrap = Callable[[ServerEntry, Sequence[str]], Sequence[str]]
"""Puts a server's command line into a sandbox; gives it back changed."""
Own = Callable[[ServerEntry], Mapping[str, str]]
"""Returns the variables a server has of its own sandbox: its home, its folder for scratch."""


def unwrapped(_entry: ServerEntry, argv: Sequence[str]) -> Sequence[str]:
    """Returns the command line as it is: no sandbox."""
    return argv


def nothing_own(_entry: ServerEntry) -> Mapping[str, str]:
    """Returns no variables: no sandbox."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What all servers of one repository are started with."""

    folder: Path
    """The repository's main checkout."""
    variables: Mapping[str, str]
    """This program's environment, of which a child sees the short list alone."""
    wrap: Wrap = unwrapped
    own: Own = nothing_own

    def argv(self, entry: ServerEntry) -> tuple[str, ...]:
        return tuple(self.wrap(entry, (entry.command, *entry.args)))

    def cwd(self, entry: ServerEntry) -> Path:
        return self.folder / entry.cwd

    def environment(self, entry: ServerEntry) -> dict[str, str]:
        passed = {
            name: value
            for name, value in self.variables.items()
            if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX)
        }
        return passed | dict(self.own(entry)) | entry.env
