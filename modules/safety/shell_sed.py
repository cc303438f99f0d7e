"""What a sed script does beside printing; pure (GNU sed 4.8, `info sed`).

Every command of the script must be understood; one that isn't may run a program.
"""

import re
from dataclasses import dataclass, field

_BLANKS = re.compile(r"[ \t\n;]*")
_NUMBER = re.compile(r"[0-9]+|\$")
_STEP = re.compile(r"[~+][0-9]+")
_PLAIN = frozenset("=dDgGhHnNpPxFz")
_NUMBERED = frozenset("qQlL")
_LABELLED = frozenset("btT:v")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_.]*")
_TEXTS = frozenset("aic")
_FLAGS = frozenset("gpiImM0123456789")


@dataclass(slots=True)
class SedUse:
    """What a script was found to do."""

    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    is_understood: bool = True
    """False where it may run a program."""


class _Unclear(Exception):
    """The script has something that isn't understood."""


def read_sed(script: str) -> SedUse:
    """Returns what `script` does."""
    use = SedUse()
    reader = _Reader(script, use)
    try:
        reader.commands()
    except _Unclear:
        use.is_understood = False
    return use


class _Reader:
    def __init__(self, script: str, use: SedUse) -> None:
        self._script = script
        self._use = use
        self._at = 0

    def commands(self) -> None:
        while True:
            self._skip(_BLANKS)
            if self._at >= len(self._script):
                return
            if self._peek() == "#":
                self._line()
                continue
            self._addresses()
            self._command()

    def _peek(self) -> str:
        return self._script[self._at : self._at + 1]

    def _take(self) -> str:
        sign = self._peek()
        if not sign:
            raise _Unclear
        self._at += 1
        return sign

    def _skip(self, pattern: "re.Pattern[str]") -> bool:
        match = pattern.match(self._script, self._at)
        if match is None or match.end() == self._at:
            return False
        self._at = match.end()
        return True

    def _line(self) -> str:
        end = self._script.find("\n", self._at)
        end = len(self._script) if end < 0 else end
        text = self._script[self._at : end]
        self._at = end
        return text

    def _addresses(self) -> None:
        if self._address():
            self._skip(re.compile(r"[ \t]+"))
            if self._peek() == ",":
                self._at += 1
                self._skip(re.compile(r"[ \t]+"))
                if not (self._skip(_STEP) or self._address()):
                    raise _Unclear
        self._skip(re.compile(r"[ \t!]+"))

    def _address(self) -> bool:
        if self._skip(_NUMBER):
            self._skip(_STEP)
            return True
        if self._peek() == "/":
            self._at += 1
            self._until("/")
        elif self._peek() == "\\":
            self._at += 1
            self._until(self._take())
        else:
            return False
        self._skip(re.compile(r"[IM]+"))
        return True

    def _until(self, delimiter: str) -> None:
        """Goes past the next unescaped delimiter; brackets shield it in some seds only."""
        if delimiter in "\\\n":
            raise _Unclear
        while (sign := self._take()) != delimiter:
            if sign == "\\":
                self._take()
            elif sign == "[" and delimiter in self._bracket():
                raise _Unclear

    def _bracket(self) -> str:
        """Returns the inside of a bracket expression that starts here, escapes taken out."""
        end = self._script.find("]", self._at + 1)
        return re.sub(r"\\.", "", self._script[self._at : end], flags=re.DOTALL) if end > 0 else ""

    def _command(self) -> None:
        sign = self._take()
        if sign in "{}":
            return
        if sign == "s":
            self._substitution()
        elif sign == "y":
            delimiter = self._take()
            self._until(delimiter)
            self._until(delimiter)
            self._end()
        elif sign in "rRwW":
            name = self._line().strip()
            (self._use.reads if sign in "rR" else self._use.writes).append(name)
        elif sign in _TEXTS:
            self._text()
        elif sign in _LABELLED:
            self._skip(_LABEL)
            self._end()
        elif sign in _PLAIN or sign in _NUMBERED:
            if sign in _NUMBERED:
                self._skip(re.compile(r"[ \t]*[0-9]+"))
            self._end()
        else:
            raise _Unclear

    def _substitution(self) -> None:
        delimiter = self._take()
        self._until(delimiter)
        self._until(delimiter)
        while self._peek() in _FLAGS and self._peek():
            self._at += 1
        if self._peek() == "w":
            self._at += 1
            self._use.writes.append(self._line().strip())
        else:
            self._end()

    def _text(self) -> None:
        """Goes past the text of `a`, `i` or `c`, which may go on over escaped line ends."""
        while (line := self._line()).endswith("\\"):
            if line.endswith("\\\\"):
                raise _Unclear
            self._at += 1
            if self._at >= len(self._script):
                return

    def _end(self) -> None:
        self._skip(re.compile(r"[ \t]+"))
        if self._peek() not in ("", ";", "\n", "}", "#"):
            raise _Unclear
