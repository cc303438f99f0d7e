"""A worker is lost when no sign of life is left, and never for one silence alone."""

import pytest

from modules.team.liveness import Pulse, Verdict

LIVES, LOST, KILL = Verdict.LIVES, Verdict.LOST, Verdict.KILL


@pytest.mark.parametrize(
    ("looks", "verdicts"),
    [
        ([(False, 7)] * 6, [LIVES, LOST, LOST, LOST, KILL, KILL]),
        ([(False, None)] * 3, [LIVES, LOST, LOST]),
        ([(False, 7), (True, 7), (False, 7), (False, 7)], [LIVES, LIVES, LIVES, LOST]),
        ([(False, n) for n in range(6)], [LIVES, LIVES, LIVES, LIVES, KILL, KILL]),
        ([(False, 1), (False, 2), (False, 2), (False, 2)], [LIVES, LIVES, LIVES, LOST]),
        ([(False, 7), (False, 7), (True, 8), (False, 8)], [LIVES, LOST, LIVES, LIVES]),
        ([(True, None)] * 9, [LIVES] * 9),
    ],
)
def test_worker_is_lost_only_when_it_neither_speaks_nor_works(
    looks: list[tuple[bool, int | None]], verdicts: list[Verdict]
) -> None:
    pulse = Pulse()

    assert [
        pulse.look(has_spoken=has_spoken, cpu_ticks=cpu_ticks) for has_spoken, cpu_ticks in looks
    ] == verdicts
