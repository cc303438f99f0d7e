"""A lander on real git in a world that changes at random; set QUEUE_KILLS for many worlds."""

import asyncio
import os
import random
from pathlib import Path

import pytest

from modules.records.merges import CheckOutcome, EntryStatus
from modules.team.probe_pace import Limits
from tests.team.lander_case import FAILED, PASSED, LanderCase, Names
from tests.team.queue_case import QueueCase, make_case

_ENTRIES = 9


class RandomWorld:
    """Entries, the person and the checks of one seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.case: QueueCase = make_case(folder)
        self.flake_rate = self.chance.choice([0.0, 0.0, 0.2])
        self.queue = LanderCase(
            self.case,
            limits=Limits(lanes=self.chance.randint(1, 4), chunk=self.chance.randint(1, 4)),
            proves_each=seed % 2 == 1,
        )
        self.queue.prover.outcome = self.outcome
        self.kinds: dict[int, str] = {}
        self.mine: list[str] = []

    def outcome(self, names: Names) -> CheckOutcome | tuple[str, ...]:
        """Says how a check on a tree of these files ends."""
        broken = sorted(name for name in names if name.startswith("bad"))
        if broken:
            return tuple(broken) if self.chance.random() < 0.5 else FAILED
        if self.chance.random() < self.flake_rate:
            lie = self.chance.choice([FAILED, CheckOutcome.COULD_NOT_RUN, None])
            return lie or ("now and then",)
        return PASSED

    def submit(self) -> None:
        """Submits one more entry."""
        number = len(self.kinds) + 1
        kind = self.chance.choice(["good", "good", "good", "bad", "clashing"])
        self.kinds[number] = kind
        name = "a.txt" if kind == "clashing" else f"{kind}-{number}"
        lane = self.case.lane(number)
        self.case.queue.submit(self.case.work(number, {name: f"{number}\n"}, lane=lane))

    def commit_by_the_person(self) -> None:
        """Puts a commit of the person's on the branch, where it stands."""
        name = f"mine-{len(self.mine)}"
        self.mine.append(name)
        self.case.repo.commit({name: "x\n"}, name)

    async def live(self) -> None:
        """Submits, commits and lands in a random order until all is done."""
        to_submit = _ENTRIES
        while to_submit or await self._has_more():
            act = self.chance.random()
            if to_submit and act < 0.6:
                self.submit()
                to_submit -= 1
            elif act < 0.7 and len(self.mine) < 2:
                self.commit_by_the_person()
            elif to_submit:
                await self.queue.lander.land_next()

    async def _has_more(self) -> bool:
        return await self.queue.lander.land_next() is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60 if "QUEUE_KILLS" in os.environ else 2))
def test_land_in_a_random_world_then_all_that_is_good_lands_once_and_proven(
    tmp_path: Path, seed: int
) -> None:
    world = RandomWorld(tmp_path, seed)

    asyncio.run(world.live())

    case, log = world.case, world.queue.log
    subjects = case.repo.git("log", "--first-parent", "--format=%s", "main").split("\n")
    assert case.repo.rev("main") == case.queue.landed
    assert case.repo.git("status", "--porcelain") == ""
    assert not any(name.startswith("bad") for name in case.files())
    assert set(world.mine) <= set(case.files())
    for entry in log.entries():
        kind, lands = world.kinds[entry.entry_id], subjects.count(f"task {entry.entry_id}")
        assert lands == (entry.status is EntryStatus.MERGED)
        if world.flake_rate == 0.0:
            assert entry.status is not EntryStatus.QUEUED
            assert (entry.status is EntryStatus.FAILED) == (kind == "bad")
            assert kind == "clashing" or entry.status is not EntryStatus.CONFLICTED
        if entry.status is EntryStatus.MERGED:
            assert entry.receipt is not None
            assert entry.receipt.outcome is PASSED
            assert entry.receipt.tree == case.repo.rev(f"{entry.proven_as}^{{tree}}")
            assert seed % 2 == 0 or entry.proven_as == entry.landed_as
    clashing = [e.status for e in log.entries() if world.kinds[e.entry_id] == "clashing"]
    if clashing and world.flake_rate == 0.0:
        assert EntryStatus.MERGED in clashing
