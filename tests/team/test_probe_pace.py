"""Tests of modules/team/probe_pace.py."""

import pytest

from modules.team.probe_pace import Cost, Limits, Pace, cost_after, pace, red_rate

SLEEPING = Cost(cpu_seconds=0.01, wall_seconds=2.0)
ONE_CORE = Cost(cpu_seconds=2.1, wall_seconds=2.0)
ALL_CORES = Cost(cpu_seconds=4.0, wall_seconds=2.0)
LIMITS = Limits(lanes=4)


def test_red_rate_then_starts_at_a_tenth_and_newer_outcomes_count_more() -> None:
    assert red_rate([]) == pytest.approx(0.1)
    assert red_rate([False] * 100) < 0.03
    assert red_rate([True] * 10) > 0.5
    assert red_rate([False] * 50 + [True] * 10) > red_rate([True] * 10 + [False] * 50)


@pytest.mark.parametrize(
    ("cost", "cores", "rate", "backlog", "expected"),
    [
        (None, 2, 0.1, 1, Pace(2, 1)),
        (SLEEPING, 2, 0.1, 40, Pace(4, 1)),
        (SLEEPING, 2, 0.02, 40, Pace(4, 5)),
        (SLEEPING, 2, 0.02, 8, Pace(4, 1)),
        (ONE_CORE, 2, 0.02, 40, Pace(2, 10)),
        (ONE_CORE, 8, 0.1, 40, Pace(4, 1)),
        (ALL_CORES, 2, 0.1, 40, Pace(1, 6)),
        (ALL_CORES, 2, 0.1, 2, Pace(1, 1)),
        (Cost(9.0, 1.0), 2, 0.1, 1, Pace(1, 1)),
        (SLEEPING, 2, 0.7, 40, Pace(1, 1)),
        (SLEEPING, 2, 0.0001, 10_000, Pace(4, 64)),
    ],
)
def test_pace_then_follows_cores_cost_red_rate_and_backlog(
    cost: Cost | None, cores: int, rate: float, backlog: int, expected: Pace
) -> None:
    found = pace(cost=cost, cores=cores, rate=rate, backlog=backlog, limits=LIMITS)

    assert found == expected


def test_cost_when_checks_slow_each_other_down_then_stays_what_one_needs() -> None:
    cost = cost_after(None, cpu_seconds=2.0, wall_seconds=2.0)

    for _ in range(5):
        cost = cost_after(cost, cpu_seconds=2.0, wall_seconds=4.0)

    assert cost.cores > 0.75
    assert cost_after(cost, cpu_seconds=2.0, wall_seconds=1.0).wall_seconds == 1.0
