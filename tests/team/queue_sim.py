"""A merge queue in virtual time, driven by the planner alone: no git, no processes."""

import heapq
import random
from dataclasses import dataclass, field

from modules.team.probe_pace import Cost, Limits, pace, red_rate
from modules.team.probe_plan import Act, Decision, Ground, Known, decide, plan

FOUR_LANES = Limits(lanes=4)
Tree = tuple[int, ...]
"""The entries a tree holds, in the order they were merged."""


@dataclass
class Sim:
    """Entries 0, 1, 2 … go through the queue; those in `culprits` break every tree they are in."""

    entries: int
    culprits: frozenset[int] = frozenset()
    limits: Limits = FOUR_LANES
    cores: int = 2
    check_cores: float = 0.01
    flake_rate: float = 0.0
    seed: int = 0
    now: float = 0.0
    checks: int = 0
    landed: list[int] = field(default_factory=list)
    ejected: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._waiting = list(range(self.entries))
        self._running: list[tuple[float, Tree]] = []
        self._passed: set[Tree] = {()}
        self._failures: dict[Tree, int] = {}

    def run(self) -> "Sim":
        """Goes on until every entry has come to its end."""
        while self._waiting:
            while self._act():
                pass
            self._start()
            if self._waiting and not self._running:
                raise AssertionError(f"nothing runs and {self._waiting} wait")
            if self._running:
                self._end_one()
        return self

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

    def _prefixes(self) -> list[Known]:
        running = {tree for _, tree in self._running}
        trees = [(*self.landed, *self._waiting[:n]) for n in range(1, len(self._waiting) + 1)]
        return [
            Known(
                tree in self._passed,
                (frozenset[str](),) * self._failures.get(tree, 0),
                tree in running,
            )
            for tree in trees
        ]

    @property
    def _ground(self) -> Ground:
        return Ground.GOOD if tuple(self.landed) in self._passed else Ground.UNKNOWN

    def _act(self) -> bool:
        decision = decide(self._prefixes(), ground=self._ground)
        match decision:
            case None:
                return False
            case Decision(act=Act.LAND, stack=stack):
                self.landed += self._waiting[: stack + 1]
                del self._waiting[: stack + 1]
            case _:
                self.ejected.append(self._waiting.pop(0))
        trees = {(*self.landed, *self._waiting[:n]) for n in range(1, len(self._waiting) + 1)}
        self._running = [(end, tree) for end, tree in self._running if tree in trees]
        heapq.heapify(self._running)
        return True

    def _start(self) -> None:
        lanes, chunk = self.pace_now
        wanted = plan(
            self._prefixes(),
            ground=self._ground,
            is_ground_running=False,
            free=lanes - len(self._running),
            chunk=chunk,
        )
        for length in wanted:
            self.checks += 1
            end = self.now + self._random.uniform(0.85, 1.15) * self._slowness(lanes)
            heapq.heappush(self._running, (end, (*self.landed, *self._waiting[:length])))

    def _slowness(self, lanes: int) -> float:
        return max(1.0, lanes * self.check_cores / self.cores)

    def _end_one(self) -> None:
        self.now, tree = heapq.heappop(self._running)
        is_flake = self._random.random() < self.flake_rate
        if is_flake or self.culprits & set(tree):
            self._failures[tree] = self._failures.get(tree, 0) + 1
        else:
            self._passed.add(tree)
