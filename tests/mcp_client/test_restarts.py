from modules.mcp_client.restarts import History, after_end, restart_pause
from modules.mcp_client.values import Limits

LIMITS = Limits(first_pause_seconds=1, steady_seconds=60, max_losses=3)


def test_start_that_fails_twice_in_a_row_is_the_end() -> None:
    once = after_end(History(), ready_seconds=None, limits=LIMITS)
    twice = after_end(once, ready_seconds=None, limits=LIMITS)

    assert restart_pause(once, LIMITS) == 1
    assert restart_pause(twice, LIMITS) is None


def test_ready_server_that_is_lost_over_and_over_waits_longer_each_time_until_the_limit() -> None:
    history = History()
    pauses = []
    for _ in range(4):
        history = after_end(history, ready_seconds=1, limits=LIMITS)
        pauses.append(restart_pause(history, LIMITS))

    assert pauses == [1, 2, 4, None]


def test_server_that_was_steady_has_a_clean_record_again() -> None:
    history = History(failed_starts=1, losses=3)

    assert after_end(history, ready_seconds=60, limits=LIMITS) == History(losses=1)
    assert after_end(history, ready_seconds=59, limits=LIMITS) == History(losses=4)
