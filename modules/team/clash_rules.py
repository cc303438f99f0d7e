"""Coming conflicts between work that is under way: what to look at, and what is worth telling.

1. Work is seen as it is committed. Looked at is each pair of lanes, and each lane with what has
   landed; lanes of one task are no pair.
2. Two commits are joined once; only a pair in which one has moved is tried again.
3. A conflict is told once for each pair and file. Once a file no longer conflicts, that is
   forgotten, so it is told again should it come back.
4. To work that waits for its verdict a conflict with what has landed isn't told: the verdict does.
5. What one look finds is told of sets of lanes, not of pairs: lanes that a chain of conflicts in a
   file joins are one set, and files with the same set are told together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

LANDED = 0
"""Stands for what has landed, where a task's number is asked for."""

Pair = tuple[int, int]
"""Numbers of two tasks, the smaller one first; the first may be `LANDED`."""
Commits = tuple[str, str]
Told = Mapping[Pair, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Track:
    """Where the work on one task stands."""

    task: int
    tip: str
    """The lane's last commit."""
    awaits_verdict: bool = False


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict that is worth telling."""

    pair: Pair
    paths: tuple[str, ...]
    """Those not told yet, in order."""


@dataclass(frozen=True, slots=True)
class Tangle:
    """A set of lanes that conflict in the same files."""

    tasks: tuple[int, ...]
    paths: tuple[str, ...]
    with_landed: bool = False
    """True where each conflicts with what has landed, not with one another."""


def pairs_of(tracks: Sequence[Track], *, landed: str) -> dict[Pair, Commits]:
    """Returns what is to be joined with what; `landed` is the commit that has landed last."""
    ordered = sorted(tracks, key=lambda track: track.task)
    pairs = {(LANDED, track.task): (landed, track.tip) for track in ordered}
    pairs |= {
        (one.task, other.task): (one.tip, other.tip)
        for one, other in combinations(ordered, 2)
        if one.task != other.task
    }
    return pairs


def untried(pairs: Mapping[Pair, Commits], known: Iterable[Commits]) -> list[Commits]:
    """Returns the commits that have not been joined yet, each pair of them once."""
    tried = set(known)
    return [both for both in dict.fromkeys(pairs.values()) if both not in tried]


def news(
    tracks: Sequence[Track], found: Mapping[Pair, frozenset[str]], told: Told
) -> tuple[list[Clash], dict[Pair, frozenset[str]]]:
    """Returns the conflicts to tell now, and all that is told then.

    `found` holds the paths of every pair looked at, none where it can be joined.
    """
    awaiting = {(LANDED, track.task) for track in tracks if track.awaits_verdict}
    clashing = {pair: paths for pair, paths in found.items() if paths}
    fresh = [
        Clash(pair, tuple(sorted(untold)))
        for pair, paths in sorted(clashing.items())
        if pair not in awaiting and (untold := paths - told.get(pair, frozenset()))
    ]
    return fresh, clashing


def tangles(clashes: Iterable[Clash]) -> list[Tangle]:
    """Returns the sets of lanes that conflicts are told of, those with what has landed first."""
    landed: dict[str, set[int]] = {}
    lanes: dict[str, list[Pair]] = {}
    for clash in clashes:
        for path in clash.paths:
            if clash.pair[0] == LANDED:
                landed.setdefault(path, set()).add(clash.pair[1])
            else:
                lanes.setdefault(path, []).append(clash.pair)
    found: dict[tuple[bool, tuple[int, ...]], list[str]] = {}
    for path, tasks in sorted(landed.items()):
        found.setdefault((True, tuple(sorted(tasks))), []).append(path)
    for path, pairs in sorted(lanes.items()):
        for tasks in _joined(pairs):
            found.setdefault((False, tuple(sorted(tasks))), []).append(path)
    return [Tangle(tasks, tuple(paths), is_landed) for (is_landed, tasks), paths in found.items()]


def _joined(pairs: Iterable[Pair]) -> list[set[int]]:
    """Returns the sets that the pairs join their members to."""
    sets: list[set[int]] = []
    for pair in pairs:
        touching = [tasks for tasks in sets if not tasks.isdisjoint(pair)]
        sets = [tasks for tasks in sets if tasks not in touching]
        sets.append(set(pair).union(*touching))
    return sets
