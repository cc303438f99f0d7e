"""How many checks run at once and how many entries lie between them; pure.

1. Lanes: as many checks as the cores carry, at least one. What one check takes is its CPU time by
   its wall time; the shortest wall time seen lately counts, for checks at its side slow it down
   but don't make it need less. Checks that mostly wait may be four a core, and eight in all:
   each lane holds a worktree.
2. Never more lanes than there is a chance of one in four that the last one's check is needed.
3. Red rate: how many entries of a hundred break the check; a guess of one in ten until outcomes
   tell, newer ones counting more.
4. Chunk: so many entries between checks that all lanes' together are as likely good as not; then a
   result tells most.
5. No larger a chunk than the backlog asks for: while two rounds can check each entry by itself,
   each is, and lands with a proof of its own tree.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_GUESSED_BAD, _GUESSED_GOOD = 1.0, 9.0
_DECAY = 0.98
_LEAST_CHANCE = 0.25
_LEAST_CORES = 0.01
_TOLERATED_OVERLOAD = 0.3
"""A check that takes a bit more than a core still gets one."""
_SMOOTHING = 0.3
_WALL_GROWTH = 1.05
_ROUNDS_ALONE = 2
_LANES_PER_CORE = 4
_MOST_LANES = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """The most a queue may do at once."""

    lanes: int
    chunk: int = 64


@dataclass(frozen=True, slots=True)
class Cost:
    """What a check takes."""

    cpu_seconds: float
    wall_seconds: float

    @property
    def cores(self) -> float:
        """How many cores one check keeps busy."""
        return max(self.cpu_seconds / max(self.wall_seconds, _LEAST_CORES), _LEAST_CORES)


@dataclass(frozen=True, slots=True)
class Pace:
    """What the queue may do at once now."""

    lanes: int
    chunk: int


def limits_for(cores: int) -> Limits:
    """Returns the most that is right for a machine with so many cores."""
    return Limits(lanes=max(min(_LANES_PER_CORE * cores, _MOST_LANES), 1))


def cost_after(cost: Cost | None, *, cpu_seconds: float, wall_seconds: float) -> Cost:
    """Returns the cost of a check after one more run of it."""
    if cost is None:
        return Cost(cpu_seconds, wall_seconds)
    return Cost(
        cost.cpu_seconds + _SMOOTHING * (cpu_seconds - cost.cpu_seconds),
        min(wall_seconds, cost.wall_seconds * _WALL_GROWTH),
    )


def red_rate(are_bad: Iterable[bool]) -> float:
    """Returns the chance that the next entry breaks the check; outcomes come oldest first."""
    bad = total = 0.0
    for is_bad in are_bad:
        bad = bad * _DECAY + is_bad
        total = total * _DECAY + 1
    return (_GUESSED_BAD + bad) / (_GUESSED_BAD + _GUESSED_GOOD + total)


def pace(*, cost: Cost | None, cores: int, rate: float, backlog: int, limits: Limits) -> Pace:
    """Returns how many checks run at once and how far apart, for `backlog` waiting entries."""
    carried = int(cores / cost.cores + _TOLERATED_OVERLOAD) if cost is not None else cores
    loss = -math.log1p(-rate)
    needed = int(-math.log(_LEAST_CHANCE) / loss)
    lanes = max(min(carried, needed, limits.lanes), 1)
    likely = int(math.log(2) / loss / lanes)
    asked_for = math.ceil(backlog / (_ROUNDS_ALONE * lanes))
    return Pace(lanes, max(min(likely, asked_for, limits.chunk), 1))
