"""Whether a worker that says nothing is taken for lost; pure.

1. Two signs tell that a worker lives: what it says, and the processor time that its process takes.
2. One that shows neither at two looks in a row loses its task; it goes on being served.
3. One that has said nothing at five looks in a row is to be killed, even where it is busy: it may
   never end what it is at.
"""

from enum import StrEnum

LOOKS_UNTIL_LOST = 2
LOOKS_UNTIL_KILLED = 5


class Verdict(StrEnum):
    """What a look at a worker came to."""

    LIVES = "lives"
    LOST = "lost"
    KILL = "kill"


class Pulse:
    """The signs of life of one worker, from look to look."""

    def __init__(self) -> None:
        self._silent = 0
        """Looks in a row at which it had said nothing since the last."""
        self._still = 0
        """Looks in a row at which it had shown no sign at all."""
        self._cpu_ticks: int | None = None

    def look(self, *, has_spoken: bool, cpu_ticks: int | None) -> Verdict:
        """Takes in a look; `cpu_ticks` is what its process has taken, None where nobody knows."""
        has_worked = None not in (cpu_ticks, self._cpu_ticks) and cpu_ticks != self._cpu_ticks
        self._cpu_ticks = cpu_ticks
        self._silent = 0 if has_spoken else self._silent + 1
        self._still = 0 if has_spoken or has_worked else self._still + 1
        if self._silent >= LOOKS_UNTIL_KILLED:
            return Verdict.KILL
        return Verdict.LOST if self._still >= LOOKS_UNTIL_LOST else Verdict.LIVES
