"""A merge queue in virtual time, driven by the planner alone: no git, no processes."""

import heapq
import random
from dataclasses import dataclass, field
from functools import partial

from modules.team.probe_pace import Cost, Limits, pace, red_rate
from modules.team.probe_plan import (
    Act,
    Decision,
    Ground,
    Known,
    Silence,
    decide,
    decide_alone,
    plan,
    plan_alone,
    plan_each,
)

FOUR_LANES = Limits(lanes=4)
Tree = tuple[int, ...]
"""The entries a tree holds, in the order they were merged."""
_SURE = 2


@dataclass(frozen=True)
class World:
    """What checks say of trees."""

    culprits: frozenset[int] = frozenset()
    """Each breaks every tree it is in."""
    bad_pairs: frozenset[tuple[int, int]] = frozenset()
    """Good alone, broken together."""
    conflicts: frozenset[tuple[int, int]] = frozenset()
    """The second can't be merged onto a tree with the first."""
    is_red_at_first: bool = False
    """What had landed before anything did is broken."""
    menders: frozenset[int] = frozenset()
    """Each mends what was broken at first."""
    flake_rate: float = 0.0
    silence_rate: float = 0.0
    """How often a check can't run, whatever it is run on."""
    are_tests_named: bool = False

    def broken_tests(self, tree: Tree) -> frozenset[str]:
        """Returns what fails on a tree."""
        held = set(tree)
        found = {f"entry {n}" for n in self.culprits & held}
        found |= {f"pair {pair}" for pair in self.bad_pairs if set(pair) <= held}
        if self.is_red_at_first and not self.menders & held:
            found.add("red at first")
        return frozenset(found)


@dataclass(order=True)
class _Run:
    end: float
    tree: Tree = field(compare=False)


@dataclass
class Sim:
    """Entries 0, 1, 2 … go through the queue, in this order but for `late` ones."""

    entries: int
    world: World = World()
    limits: Limits = FOUR_LANES
    cores: int = 2
    check_cores: float = 0.01
    seed: int = 0
    proves_each: bool = False
    """True where every prefix that lands needs a proof of its own."""
    late: frozenset[int] = frozenset()
    """They come only when something of the others has ended."""
    now: float = 0.0
    checks: int = 0
    landed: list[int] = field(default_factory=list)
    ejected: list[int] = field(default_factory=list)
    handed_back: list[int] = field(default_factory=list)
    """They conflict with what has landed."""
    stuck: list[int] = field(default_factory=list)
    """They wait because what has landed is broken by itself."""
    unproven: list[Tree] = field(default_factory=list)
    """What landed without a check that passed on that very tree."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._waiting = [n for n in range(self.entries) if n not in self.late]
        self._coming = sorted(self.late)
        self._running: list[_Run] = []
        self._passed: dict[Tree, float] = {}
        self._failures: dict[Tree, list[frozenset[str]]] = {}
        self._silent: dict[Tree, list[float]] = {}
        self._is_ground_bad = False

    def run(self) -> "Sim":
        """Goes on until every entry has come to its end, or waits for good."""
        for _ in range(200 * (self.entries + 1)):
            while self._act():
                pass
            if not self._waiting and not self._coming:
                return self
            self._start()
            if not self._running:
                if not self._coming:
                    raise AssertionError(f"nothing runs and {self._waiting} wait")
                self._let_come()
                continue
            self._end_one()
        raise AssertionError(f"no end: {self._waiting} wait")

    @property
    def pace_now(self) -> tuple[int, int]:
        """Lanes and chunk."""
        ends = [n in self.ejected for n in range(self.entries) if n not in self._waiting]
        found = pace(
            cost=Cost(self.check_cores, 1.0),
            cores=self.cores,
            rate=red_rate(ends),
            backlog=len(self._waiting),
            limits=self.limits,
        )
        return found.lanes, found.chunk

    @property
    def _bottom(self) -> Tree:
        return tuple(self.landed)

    def _chain(self) -> list[int]:
        """Returns the entries that go on top of each other; hands back those that can't land."""
        chain: list[int] = []
        for n in list(self._waiting):
            if any((other, n) in self.world.conflicts for other in self.landed):
                self._waiting.remove(n)
                self.handed_back.append(n)
            elif not any((other, n) in self.world.conflicts for other in chain):
                chain.append(n)
        return chain

    def _known(self, tree: Tree) -> Known:
        silent, ground = self._silent.get(tree, []), self._passed.get(self._bottom)
        silence = Silence.NONE
        if silent:
            is_sure = ground is not None and silent[0] < ground < silent[-1]
            silence = Silence.SURE if is_sure else Silence.SOME
        return Known(
            passed=tree in self._passed,
            failures=tuple(self._failures.get(tree, [])),
            silence=silence,
            is_running=any(run.tree == tree for run in self._running),
        )

    def _ground(self, trees: list[Tree]) -> Ground:
        """Returns what is known of what has landed, as the badness of `trees` asks for it."""
        bad = next((t for t in trees if t in self._failures or t in self._silent), None)
        since = -1.0
        if bad is not None and bad not in self._failures:
            since = self._silent[bad][0]
        if self._passed.get(self._bottom, -2.0) > since:
            return Ground.GOOD
        missed = len(self._failures.get(self._bottom, [])) + sum(
            at > since for at in self._silent.get(self._bottom, [])
        )
        return Ground.BAD if missed >= _SURE else Ground.UNKNOWN

    def _act(self) -> bool:
        chain = self._chain()
        if self._is_ground_bad:
            trees = [(*self.landed, n) for n in chain]
            decision = decide_alone([self._known(tree) for tree in trees])
        else:
            trees = [(*self.landed, *chain[:n]) for n in range(1, len(chain) + 1)]
            ground = self._ground(trees)
            decision = decide(
                [self._known(tree) for tree in trees], ground=ground, proves_each=self.proves_each
            )
            if ground is Ground.BAD and (decision is None or decision.act is not Act.LAND):
                self._is_ground_bad = True
                return True
        self._running = [run for run in self._running if run.tree in (*trees, self._bottom)]
        heapq.heapify(self._running)
        if decision is None:
            return False
        self._carry_out(decision, chain, trees)
        return True

    def _carry_out(self, decision: Decision, chain: list[int], trees: list[Tree]) -> None:
        alone = [chain[decision.stack]]
        match decision.act:
            case Act.LAND:
                entries = alone if self._is_ground_bad else chain[: decision.stack + 1]
                own = trees[: decision.stack] if self.proves_each else []
                if self._is_ground_bad:
                    own = []
                proven = [*own, trees[decision.stack]]
                self.unproven += [tree for tree in proven if tree not in self._passed]
                self.landed += entries
                self._waiting = [n for n in self._waiting if n not in entries]
                # What waited for something to land is tried again.
                self._waiting = sorted([*self._waiting, *self.stuck])
                self.stuck.clear()
                self._is_ground_bad = False
            case Act.EJECT:
                self.ejected += alone
                self._waiting.remove(alone[0])
            case Act.WAIT:
                self.stuck += alone
                self._waiting.remove(alone[0])
                self._failures.pop(trees[decision.stack], None)
                self._silent.pop(trees[decision.stack], None)
        self._let_come()

    def _let_come(self) -> None:
        self._waiting += self._coming[:1]
        del self._coming[:1]

    def _start(self) -> None:
        chain = self._chain()
        lanes, chunk = self.pace_now
        free = lanes - len(self._running)
        if self._is_ground_bad:
            trees = [(*self.landed, n) for n in chain]
            starts = [trees[i] for i in plan_alone([self._known(t) for t in trees], free=free)]
        else:
            trees = [(*self.landed, *chain[:n]) for n in range(1, len(chain) + 1)]
            planned = plan_each if self.proves_each else partial(plan, chunk=chunk)
            wanted = planned(
                [self._known(tree) for tree in trees],
                ground=self._ground(trees),
                is_ground_running=any(run.tree == self._bottom for run in self._running),
                free=free,
            )
            starts = [trees[length - 1] if length else self._bottom for length in wanted]
        for tree in starts:
            self.checks += 1
            end = self.now + self._random.uniform(0.85, 1.15) * self._slowness(lanes)
            heapq.heappush(self._running, _Run(end, tree))

    def _slowness(self, lanes: int) -> float:
        return max(1.0, lanes * self.check_cores / self.cores)

    def _end_one(self) -> None:
        run = heapq.heappop(self._running)
        self.now = run.end
        broken = self.world.broken_tests(run.tree)
        if self._random.random() < self.world.silence_rate:
            self._silent.setdefault(run.tree, []).append(self.now)
        elif broken or self._random.random() < self.world.flake_rate:
            named = (
                (broken or {f"flake {self._random.random()}"}) if self.world.are_tests_named else ()
            )
            self._failures.setdefault(run.tree, []).append(frozenset(named))
        else:
            self._passed[run.tree] = self.now
