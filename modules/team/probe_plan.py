"""Which prefixes of a chain are checked next, and what the results decide; pure.

A chain is a row of entries, merged one on top of the other onto what has landed. Its prefix of
length n is its first n entries; the one of length 0 is what has landed by itself.

1. Only a passed check lets anything land. The longest prefix that passed lands, whatever shorter
   ones did: all of it is in the tree that was proven.
2. A failure, or a time that ran out, counts against a prefix. For sure it is bad when a second run
   of it or of a longer one failed as well; failures that name different tests don't confirm each
   other, but the third of its own does.
3. A run that told nothing (no tests, could not run) may say more of the machine than of the entry.
   It counts only once what has landed passed after it and the prefix then told nothing again.
4. Only the first entry of a chain is ever blamed, so whoever stands before a culprit lands first.
   Before that, what has landed is checked alone. When that is bad for sure too, the fault is not
   the entry's: it keeps its place and waits.
5. While nothing is bad, prefixes a chunk apart are checked, as many as there are lanes.
6. When a prefix is bad, lanes split what lies before its end into equal parts.
7. A first entry that is bad but not for sure is checked again; lanes left over check longer
   prefixes, whose outcome confirms or clears it.
8. When what has landed is bad, each entry is checked alone: the one that mends it lands.
9. Nothing here stops a check that runs; the chain it belongs to being gone is what does.
10. Where each commit has to be proven, a prefix lands only once all shorter ones have passed, too,
   and every prefix is checked, up to the first that is bad.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, pairwise

_SURE_WHATEVER_FAILED = 3
"""So many failures of its own count although none names a test that another does."""


class Ground(StrEnum):
    """What the check says of what has landed, without any entry."""

    UNKNOWN = "unknown"
    GOOD = "good"
    BAD = "bad"


class Silence(StrEnum):
    """Whether runs told nothing: found no tests, or could not run."""

    NONE = "none"
    SOME = "some"
    SURE = "sure"
    """So it was before what has landed passed, and after."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the check on one stack of entries."""

    passed: bool = False
    failures: tuple[frozenset[str], ...] = ()
    """One for each run that failed: the names of the tests that did, if it told any."""
    silence: Silence = Silence.NONE
    is_running: bool = False

    @property
    def is_bad(self) -> bool:
        """True when some run did not pass."""
        return bool(self.failures) or self.silence is not Silence.NONE


class Act(StrEnum):
    """What is done with entries of a chain."""

    LAND = "land"
    EJECT = "eject"
    """The entry is to blame."""
    WAIT = "wait"
    """What has landed is to blame; the entry keeps its place."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the results decide."""

    act: Act
    stack: int
    """Index of the prefix that lands, or whose last entry is ejected or waits."""


def decide(
    prefixes: Sequence[Known], *, ground: Ground, proves_each: bool = False
) -> Decision | None:
    """Returns what follows for a chain, None while more has to be known."""
    passed = [index for index, known in enumerate(prefixes) if known.passed]
    if proves_each:
        passed = [index for place, index in enumerate(passed) if index == place]
    if passed:
        return Decision(Act.LAND, passed[-1])
    if ground is Ground.UNKNOWN or not prefixes:
        return None
    if ground is Ground.BAD:
        is_sure = _is_bad_for_sure(prefixes) or prefixes[0].silence is not Silence.NONE
        return Decision(Act.WAIT, 0) if is_sure else None
    return Decision(Act.EJECT, 0) if _is_bad_for_sure(prefixes) else None


def decide_alone(entries: Sequence[Known]) -> Decision | None:
    """Returns what follows for entries that were each checked alone on a bad ground."""
    for index, known in enumerate(entries):
        if known.passed:
            return Decision(Act.LAND, index)
    for index, known in enumerate(entries):
        if known.is_bad and not known.is_running:
            return Decision(Act.WAIT, index)
    return None


def plan(
    prefixes: Sequence[Known], *, ground: Ground, is_ground_running: bool, free: int, chunk: int
) -> list[int]:
    """Returns the lengths of the prefixes to start checking now, on `free` lanes."""
    bad = next((n for n, known in enumerate(prefixes, 1) if known.is_bad), 0)
    running = [n for n, known in enumerate(prefixes, 1) if known.is_running]
    ends = [n for n, known in enumerate(prefixes, 1) if known.is_running or known.is_bad]
    wanted: list[int] = []
    if bad and ground is Ground.UNKNOWN and not is_ground_running:
        wanted.append(0)
    if bad > 1:
        wanted += _split(bad, running, free - len(wanted))
    elif bad and _is_to_be_checked_again(prefixes, ground):
        wanted.append(1)
    if bad <= 1 and not _is_bad_for_sure(prefixes):
        top = max(ends, default=0)
        wanted += _spread(top, len(prefixes), free - len(wanted), chunk)
    return wanted[: max(free, 0)]


def plan_each(
    prefixes: Sequence[Known], *, ground: Ground, is_ground_running: bool, free: int
) -> list[int]:
    """Returns the same as `plan` where each prefix needs a proof of its own."""
    bad = next((n for n, known in enumerate(prefixes, 1) if known.is_bad), 0)
    wanted: list[int] = []
    if bad and ground is Ground.UNKNOWN and not is_ground_running:
        wanted.append(0)
    if bad == 1 and _is_to_be_checked_again(prefixes, ground):
        wanted.append(1)
    good = prefixes[: bad - 1] if bad else prefixes
    wanted += [n for n, known in enumerate(good, 1) if not (known.passed or known.is_running)]
    return wanted[: max(free, 0)]


def plan_alone(entries: Sequence[Known], *, free: int) -> list[int]:
    """Returns the indexes of the entries to start checking now, each alone."""
    wanted = [n for n, k in enumerate(entries) if not (k.passed or k.is_bad or k.is_running)]
    return wanted[: max(free, 0)]


def _is_bad_for_sure(prefixes: Sequence[Known]) -> bool:
    """True when the first entry's badness is confirmed, by itself or by a longer prefix."""
    if not prefixes:
        return False
    own = prefixes[0].failures
    longer = [failed for known in prefixes[1:] for failed in known.failures]
    return (
        prefixes[0].silence is Silence.SURE
        or len(own) >= _SURE_WHATEVER_FAILED
        or any(_agree(one, other) for one, other in combinations(own, 2))
        or any(_agree(one, other) for one in own for other in longer)
    )


def _is_to_be_checked_again(prefixes: Sequence[Known], ground: Ground) -> bool:
    first = prefixes[0]
    if first.is_running or _is_bad_for_sure(prefixes):
        return False
    # What told nothing would at once tell nothing again, and again, until the ground is judged.
    return bool(first.failures) or ground is not Ground.UNKNOWN


def _agree(one: frozenset[str], other: frozenset[str]) -> bool:
    return not one or not other or bool(one & other)


def _spread(top: int, end: int, free: int, chunk: int) -> list[int]:
    """Returns ends of chunks beyond `top`; smaller chunks when so few entries are left."""
    if free <= 0 or end <= top:
        return []
    step = min(chunk, math.ceil((end - top) / free))
    return [min(top + step * n, end) for n in range(1, free + 1) if top + step * (n - 1) < end]


def _split(bad: int, running: Sequence[int], free: int) -> list[int]:
    """Returns lengths below `bad` that cut what lies between those that run into equal parts."""
    marks = sorted({0, *(n for n in running if n < bad), bad})
    gaps = list(pairwise(marks))
    cuts = [0] * len(gaps)
    for _ in range(max(free, 0)):
        # The part that would still be the longest gets the next cut.
        parts = [(end - start) / (cuts[n] + 1) for n, (start, end) in enumerate(gaps)]
        widest = max(range(len(gaps)), key=parts.__getitem__)
        if parts[widest] <= 1:
            break
        cuts[widest] += 1
    found = set()
    for (start, end), count in zip(gaps, cuts, strict=True):
        found |= {start + (end - start) * n // (count + 1) for n in range(1, count + 1)}
    return sorted(found - set(marks))
