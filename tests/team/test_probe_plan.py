"""Tests of modules/team/probe_plan.py: single decisions, then whole queues in virtual time."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.team.probe_pace import Limits
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
from tests.team.queue_sim import Sim, World

BLANK = Known()
PASSED = Known(passed=True)
RUNNING = Known(is_running=True)
UNNAMED = frozenset[str]()
RED = Known(failures=(UNNAMED,))
SILENT = Known(silence=Silence.SOME)
SURELY_SILENT = Known(silence=Silence.SURE)
TWICE_RED = Known(failures=(UNNAMED, UNNAMED))
EJECT = Decision(Act.EJECT, 0)
WAIT = Decision(Act.WAIT, 0)


def red(*tests: str) -> Known:
    return Known(failures=(frozenset(tests),))


@pytest.mark.parametrize(
    ("prefixes", "ground", "decision"),
    [
        ([], Ground.GOOD, None),
        ([BLANK, RUNNING], Ground.GOOD, None),
        ([PASSED, BLANK, PASSED, RUNNING], Ground.UNKNOWN, Decision(Act.LAND, 2)),
        ([RED, PASSED], Ground.BAD, Decision(Act.LAND, 1)),
        ([RED, BLANK], Ground.GOOD, None),
        ([RED, RED], Ground.GOOD, EJECT),
        ([TWICE_RED], Ground.GOOD, EJECT),
        ([TWICE_RED], Ground.UNKNOWN, None),
        ([TWICE_RED], Ground.BAD, WAIT),
        ([BLANK, TWICE_RED, RED], Ground.GOOD, None),
        ([red("a"), red("b")], Ground.GOOD, None),
        ([red("a"), red("b"), red("a", "c")], Ground.GOOD, EJECT),
        ([red("a"), RED], Ground.GOOD, EJECT),
        ([Known(failures=(frozenset("a"), frozenset("b")))], Ground.GOOD, None),
        ([Known(failures=tuple(map(frozenset, "abc")))], Ground.GOOD, EJECT),
        ([SILENT, SILENT, RED], Ground.GOOD, None),
        ([RED, SILENT], Ground.GOOD, None),
        ([SURELY_SILENT], Ground.GOOD, EJECT),
        ([SILENT], Ground.BAD, WAIT),
    ],
)
def test_decide_then_a_pass_lands_and_only_sure_badness_of_the_first_is_blamed(
    prefixes: list[Known], ground: Ground, decision: Decision | None
) -> None:
    assert decide(prefixes, ground=ground) == decision


@pytest.mark.parametrize(
    ("entries", "decision"),
    [
        ([BLANK, RUNNING], None),
        ([RED, PASSED], Decision(Act.LAND, 1)),
        ([BLANK, RED], Decision(Act.WAIT, 1)),
        ([Known(failures=(UNNAMED,), is_running=True)], None),
    ],
)
def test_decide_alone_then_one_that_mends_the_target_lands_and_the_rest_waits(
    entries: list[Known], decision: Decision | None
) -> None:
    assert decide_alone(entries) == decision


@pytest.mark.parametrize(
    ("prefixes", "ground", "free", "chunk", "wanted"),
    [
        ([BLANK] * 12, Ground.UNKNOWN, 3, 4, [4, 8, 12]),
        ([BLANK] * 12, Ground.UNKNOWN, 4, 1, [1, 2, 3, 4]),
        ([BLANK] * 5, Ground.UNKNOWN, 2, 4, [3, 5]),
        ([BLANK] * 3, Ground.UNKNOWN, 4, 4, [1, 2, 3]),
        ([BLANK, RUNNING, BLANK, BLANK], Ground.UNKNOWN, 2, 1, [3, 4]),
        ([RUNNING], Ground.UNKNOWN, 2, 1, []),
        ([BLANK], Ground.UNKNOWN, 0, 1, []),
        ([BLANK] * 7 + [RED], Ground.GOOD, 1, 8, [4]),
        ([BLANK] * 7 + [RED], Ground.GOOD, 3, 8, [2, 4, 6]),
        ([BLANK] * 7 + [RED], Ground.UNKNOWN, 1, 8, [0]),
        ([BLANK] * 3 + [RUNNING] + [BLANK] * 3 + [RED], Ground.GOOD, 2, 8, [2, 6]),
        ([BLANK, RED, BLANK], Ground.GOOD, 4, 1, [1]),
        ([RUNNING, RED], Ground.GOOD, 4, 1, []),
        ([RED, BLANK, BLANK], Ground.GOOD, 2, 1, [1, 2]),
        ([RED, BLANK, BLANK], Ground.UNKNOWN, 2, 1, [0, 1]),
        ([Known(failures=(UNNAMED,), is_running=True), BLANK], Ground.GOOD, 2, 1, [2]),
        ([TWICE_RED, BLANK], Ground.UNKNOWN, 2, 1, [0]),
        ([SILENT, BLANK], Ground.UNKNOWN, 1, 1, [0]),
        ([SILENT], Ground.UNKNOWN, 2, 1, [0]),
        ([SILENT], Ground.GOOD, 2, 1, [1]),
        ([SURELY_SILENT], Ground.GOOD, 2, 1, []),
    ],
)
def test_plan_then_lanes_go_where_a_result_tells_most(
    prefixes: list[Known], ground: Ground, free: int, chunk: int, wanted: list[int]
) -> None:
    found = plan(prefixes, ground=ground, is_ground_running=False, free=free, chunk=chunk)

    assert found == wanted


def test_plan_when_the_ground_is_being_checked_then_not_once_more() -> None:
    assert plan([TWICE_RED], ground=Ground.UNKNOWN, is_ground_running=True, free=2, chunk=1) == []


@pytest.mark.parametrize(
    ("prefixes", "decision"),
    [
        ([PASSED, BLANK, PASSED], Decision(Act.LAND, 0)),
        ([PASSED, PASSED, RED, PASSED], Decision(Act.LAND, 1)),
        ([RED, PASSED], None),
        ([TWICE_RED, PASSED], EJECT),
    ],
)
def test_decide_when_each_commit_is_to_be_proven_then_only_proven_ones_land(
    prefixes: list[Known], decision: Decision | None
) -> None:
    assert decide(prefixes, ground=Ground.GOOD, proves_each=True) == decision


@pytest.mark.parametrize(
    ("prefixes", "ground", "lengths"),
    [
        ([BLANK, BLANK, BLANK, BLANK], Ground.UNKNOWN, [1, 2, 3]),
        ([RUNNING, PASSED, BLANK], Ground.UNKNOWN, [3]),
        ([RED, BLANK], Ground.UNKNOWN, [0, 1]),
        ([BLANK, RED, BLANK], Ground.GOOD, [1]),
    ],
)
def test_plan_each_then_every_prefix_up_to_a_bad_one_is_checked(
    prefixes: list[Known], ground: Ground, lengths: list[int]
) -> None:
    found = plan_each(prefixes, ground=ground, is_ground_running=False, free=3)

    assert found == lengths


def test_plan_alone_then_each_entry_is_checked_once() -> None:
    assert plan_alone([RED, RUNNING, BLANK, PASSED, BLANK], free=1) == [2]


NUMBERS = st.frozensets(st.integers(0, 19))
PAIRS = st.frozensets(st.tuples(st.integers(0, 9), st.integers(10, 19)), max_size=3)
LIMITS = st.builds(Limits, lanes=st.integers(1, 8), chunk=st.integers(1, 16))
SEEDS = st.integers(0, 2**32)


def simulated(entries: int, world: World, **facts: object) -> Sim:
    """Runs a queue to its end and fails unless everything came to one, proven."""
    sim = Sim(entries, world, **facts).run()  # type: ignore[arg-type]  # facts are its fields
    ends = [*sim.landed, *sim.ejected, *sim.handed_back, *sim.stuck]
    assert sorted(ends) == list(range(entries))
    assert sim.unproven == []
    return sim


@settings(max_examples=150, deadline=None)
@given(
    entries=st.integers(1, 20),
    culprits=NUMBERS,
    bad_pairs=PAIRS,
    conflicts=PAIRS,
    are_tests_named=st.booleans(),
    limits=LIMITS,
    late=NUMBERS,
    check_cores=st.sampled_from([0.01, 1.0, 2.0]),
    proves_each=st.booleans(),
    seed=SEEDS,
)
def test_run_when_checks_tell_the_truth_then_nobody_ends_as_another_than_alone(
    entries: int,
    culprits: frozenset[int],
    bad_pairs: frozenset[tuple[int, int]],
    conflicts: frozenset[tuple[int, int]],
    are_tests_named: bool,
    limits: Limits,
    late: frozenset[int],
    check_cores: float,
    proves_each: bool,
    seed: int,
) -> None:
    world = World(culprits, bad_pairs, conflicts, are_tests_named=are_tests_named)

    sim = simulated(
        entries,
        world,
        limits=limits,
        check_cores=check_cores,
        proves_each=proves_each,
        seed=seed,
        late=late & frozenset(range(entries)),
    )

    assert sim.stuck == []
    for n in sim.ejected:
        # Without a lie only what breaks what landed beside it is ejected.
        assert n in culprits or any(
            n in pair and set(pair) <= {*sim.landed, n} for pair in bad_pairs
        )
    for n in sim.handed_back:
        assert any((other, n) in conflicts for other in sim.landed)
    assert world.broken_tests(tuple(sim.landed)) == frozenset()


@settings(max_examples=100, deadline=None)
@given(
    entries=st.integers(1, 20),
    culprits=NUMBERS,
    flake_rate=st.floats(0, 0.6),
    silence_rate=st.floats(0, 0.5),
    are_tests_named=st.booleans(),
    proves_each=st.booleans(),
    limits=LIMITS,
    seed=SEEDS,
)
def test_run_when_checks_lie_then_every_entry_still_ends_and_no_culprit_lands(
    entries: int,
    culprits: frozenset[int],
    flake_rate: float,
    silence_rate: float,
    are_tests_named: bool,
    proves_each: bool,
    limits: Limits,
    seed: int,
) -> None:
    world = World(
        culprits,
        flake_rate=flake_rate,
        silence_rate=silence_rate,
        are_tests_named=are_tests_named,
    )

    sim = simulated(entries, world, limits=limits, proves_each=proves_each, seed=seed)

    assert not culprits & set(sim.landed)


@settings(max_examples=100, deadline=None)
@given(entries=st.integers(1, 12), culprits=NUMBERS, menders=NUMBERS, limits=LIMITS, seed=SEEDS)
def test_run_when_the_target_is_red_then_nobody_is_blamed_until_one_that_mends_it_has_landed(
    entries: int,
    culprits: frozenset[int],
    menders: frozenset[int],
    limits: Limits,
    seed: int,
) -> None:
    world = World(culprits, is_red_at_first=True, menders=menders)

    sim = simulated(entries, world, limits=limits, seed=seed)

    good_menders = (menders - culprits) & frozenset(range(entries))
    if good_menders:
        assert sim.stuck == []
        assert set(sim.ejected) == culprits & frozenset(range(entries))
    else:
        assert sim.landed == sim.ejected == []


def throughput(rate: float, limits: Limits, **facts: float) -> float:
    """Returns landings per time of a check, over some queues of 40."""
    total = 0.0
    for seed in range(5):
        chance = random.Random(seed)
        culprits = frozenset(n for n in range(40) if chance.random() < rate)
        sim = Sim(40, World(culprits), limits=limits, seed=seed, **facts).run()  # type: ignore[arg-type]  # facts are its fields
        total += len(sim.landed) / sim.now
    return total / 5


@pytest.mark.parametrize(
    ("rate", "check_cores", "at_least"),
    [
        (0.0, 0.01, 4),
        (0.02, 0.01, 4),
        (0.1, 0.01, 2.5),
        (0.25, 0.01, 2),
        (0.02, 2.0, 3),
        (0.25, 2.0, 1),
    ],
)
def test_run_then_more_lands_than_one_at_a_time(
    rate: float, check_cores: float, at_least: float
) -> None:
    serial = throughput(rate, Limits(lanes=1, chunk=1), check_cores=check_cores)

    ours = throughput(rate, Limits(lanes=4), check_cores=check_cores)

    assert ours >= at_least * serial


def test_run_when_checks_lie_now_and_then_then_few_innocents_are_ejected() -> None:
    innocents = 0
    for seed in range(5):
        chance = random.Random(seed)
        culprits = frozenset(n for n in range(100) if chance.random() < 0.1)
        sim = Sim(100, World(culprits, flake_rate=0.02), seed=seed).run()
        innocents += len(set(sim.ejected) - culprits)

    assert innocents <= 5
