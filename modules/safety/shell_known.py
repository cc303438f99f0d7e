"""What a script's own assignments tell of its variables; pure.

1. A value that was assigned is one a name may have, in addition to what it may be otherwise.
2. It is sure only straight after an assignment outside of branches, loops and subshells, or inside
   the loop that runs through it, and only while nothing may set names unseen.
"""

import re
from collections.abc import Iterable, Sequence

from modules.safety.shell_words import UNKNOWN

_SETS_NAMES = frozenset(
    {
        *("read", "printf", "mapfile", "readarray", "eval", "source", ".", "let", "getopts"),
        *("wait", "unset", "declare", "typeset", "local", "export", "command", "builtin", "coproc"),
    }
)
_RUNS_LATER = frozenset({"eval", "source", ".", "trap", "alias", "command", "builtin"})
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")


class KnownNames:
    """Patterns that names may have, and those that are sure."""

    def __init__(self) -> None:
        self.possible: dict[str, tuple[str, ...]] = {}
        self.certain: dict[str, tuple[str, ...]] = {}
        self._is_trusted = True
        """False once later code may set names unseen."""
        self._branches = 0

    def learn(self, name: str, values: Iterable[str]) -> None:
        """Takes in values that a name may have from now on."""
        known = (value for value in values if value != UNKNOWN)
        self.possible[name] = (*self.possible.get(name, ()), *known)

    def assigned(self, name: str, *, is_known: bool) -> None:
        """Takes in that the value just learnt was assigned by a statement of its own."""
        self.certain.pop(name, None)
        is_sure = is_known and self._is_trusted and not self._branches
        if is_sure and len(self.possible[name]) == 1:
            self.certain[name] = self.possible[name]

    def enter_branch(self, text: str) -> None:
        """Goes into code that may not run, run more than once, or not in this shell."""
        self._branches += 1
        for match in _ASSIGNED.finditer(text):
            self.certain.pop(match.group(1), None)

    def leave_branch(self) -> None:
        """Comes out of the code last gone into."""
        self._branches -= 1

    def enter_loop(self, name: str, values: Sequence[str], text: str) -> None:
        """Goes into the body of a loop that gives a name each of the values."""
        self.learn(name, values)
        self.enter_branch(text)
        if values and self._is_trusted and not any(UNKNOWN in value for value in values):
            self.certain[name] = tuple(dict.fromkeys(values))

    def leave_loop(self, name: str) -> None:
        """Comes out of a loop's body."""
        self.certain.pop(name, None)
        self.leave_branch()

    def called(self, program: str) -> None:
        """Takes in a command that may set names."""
        if program in _SETS_NAMES:
            self.certain.clear()
        if program in _RUNS_LATER:
            self.distrust()

    def distrust(self) -> None:
        """Takes in that later code may set names unseen."""
        self.certain.clear()
        self._is_trusted = False
