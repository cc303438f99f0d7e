"""Where the shell stands while a script is walked; pure.

After `cd` the shell stands in the new folder; where it isn't certain that `cd` worked, it may
still stand in the old one. UNKNOWN is a folder nobody can tell.
"""

import os
import re
from collections.abc import Sequence

from modules.safety.ground import Ground
from modules.safety.shell_words import UNKNOWN, escaped

_SHOWS_ROOT = frozenset({"pwd", "git rev-parse --show-toplevel"})


class Where:
    """The folders the shell may stand in."""

    def __init__(self, ground: Ground) -> None:
        self._root = str(ground.root)
        self.folders: tuple[str, ...] = (self._root,)
        self.known = {"HOME": str(ground.home), "PWD": self._root}
        self.is_certain = False
        """True after `cd … || exit`: what follows runs in the new folder only."""
        self._stops = False

    def stand(self, *choices: tuple[str, ...]) -> None:
        """Stands in any of the given folders."""
        self.folders = tuple(dict.fromkeys(folder for choice in choices for folder in choice))
        self.known["PWD"] = self._root if self.folders == (self._root,) else UNKNOWN

    def follow(self, before: tuple[str, ...]) -> None:
        """Stands where the next statement runs, after one that began in `before`."""
        if not (self.is_certain or self._stops):
            self.stand(before, self.folders)

    def move(self, words: Sequence[str]) -> None:
        """Stands where `cd` and its kind lead."""
        words = list(words)
        while words[:1] in (["command"], ["builtin"]):
            words = words[1:]
        if words[:1] == ["set"] and any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in words):
            self._stops = True
        if words[:1] == ["popd"] or words == ["pushd"]:
            self.stand((UNKNOWN,))
        elif words[:1] in (["cd"], ["pushd"]):
            targets = [word for word in words[1:] if word == "-" or not word.startswith("-")]
            self._enter(targets[0] if targets else self.known["HOME"])

    def printed_by(self, words: Sequence[str]) -> str:
        """Returns the pattern of what a command prints, where that is certain."""
        is_here = self.folders == (self._root,) and " ".join(words) in _SHOWS_ROOT
        return escaped(self._root) if is_here else UNKNOWN

    def _enter(self, target: str) -> None:
        if target == "-" or UNKNOWN in target:
            self.stand((UNKNOWN,))
        else:
            self.stand(tuple(_joined(folder, target) for folder in self.folders))


def _joined(folder: str, target: str) -> str:
    if target.startswith("/"):
        return os.path.normpath(target)
    return UNKNOWN if folder == UNKNOWN else os.path.normpath(f"{folder}/{target}")
