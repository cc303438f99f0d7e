"""No task waits for ever: what others take before it is bounded, and what keeps it is said."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.records.tasks import Claim, TaskStatus
from modules.team import board_patience
from modules.team.board_next import explained, next_impatience, stuck
from modules.team.board_patience import PATIENCE, keeper_of
from modules.team.board_rules import urgency
from tests.team.boards import RuledBoard

PATIENT_MINUTES = PATIENCE.total_seconds() / 60
WRITES = st.sampled_from([(), ("a/*",), ("a/b.py",), ("c.py",), ("**",)])
PRIORITY = st.integers(0, 4)


def overlapping(board: RuledBoard, *, minutes: int) -> Iterator[Claim]:
    """Keeps two workers at tasks on `a`, of which one ends as the next begins; yields each claim.

    Whatever waits for all of `a` finds it never free.
    """
    held = board.take("w1")
    for number in count(2):
        board.clock.move(minutes=minutes)
        board.add(writes=(f"a/{number}",), priority=0)
        taken = board.take(f"w{number}")
        if held is not None:
            board.land(held.task)
        if taken is None:
            return
        held = taken
        yield taken


@pytest.mark.parametrize("writes", ["**", "a/*"])
def test_task_whose_files_are_never_free_is_begun_once_it_has_waited_too_long(writes: str) -> None:
    board = RuledBoard()
    board.add(writes=("a/1",))
    stream = overlapping(board, minutes=10)
    board.add(writes=(writes,), priority=4)

    passed_by = [claim.task for claim in stream]

    assert len(passed_by) == PATIENT_MINUTES / 10
    claim = board.take("w9")
    assert claim is not None
    assert claim.task == 2


def test_task_whose_files_are_never_free_waits_for_ever_where_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the test before shows mended."""
    board = RuledBoard()
    board.add(writes=("a/1",))
    with without_patience(monkeypatch):
        stream = overlapping(board, minutes=10)
        board.add(writes=("**",), priority=4)

        assert [next(stream).task for _ in range(100)] == list(range(3, 103))


@contextmanager
def without_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(board_patience, "PATIENCE", timedelta(days=1000))
        yield


def test_files_are_kept_from_those_alone_who_would_touch_them() -> None:
    board = RuledBoard()
    board.claim(board.add(writes=("a/1",)))
    keeper = board.add(writes=("a/*",), priority=4)
    board.clock.move(minutes=PATIENT_MINUTES + 1)
    kept = board.add(writes=("a/2",), priority=0)
    free = board.add(writes=("b",), priority=1)

    assert waits(board)[kept] == f"Task {keeper} has waited longer for files it would touch."
    claim = board.take("w2")
    assert claim is not None
    assert claim.task == free
    assert board.take("w3") is None


def test_keeper_is_found_without_a_look_at_those_that_wait_for_less() -> None:
    board = RuledBoard()
    keeper = board.task(board.add(writes=("a/*",)))
    board.clock.move(minutes=PATIENT_MINUTES + 1)
    kept = board.task(board.add(writes=("a/1",)))
    tasks = {keeper.task_id: keeper, kept.task_id: kept}
    nobody = 99  # A look at it would raise.

    for younger in (keeper.changed_at, kept.changed_at):
        keepers = [(keeper.changed_at, keeper.task_id), (younger, nobody)]
        assert keeper_of(kept, tasks, keepers=keepers) == keeper.task_id
    assert keeper_of(keeper, tasks, keepers=[(kept.changed_at, nobody)]) is None


def test_of_two_that_wait_too_long_the_one_that_waits_longer_goes_first() -> None:
    board = RuledBoard()
    first = board.claim(board.add(writes=("a/1",)))
    board.claim(board.add(writes=("b/1",)), "w2")
    both = board.add(writes=("a/*", "b/*"), priority=4)
    board.clock.move(minutes=1)
    one = board.add(writes=("a/*",), priority=0)
    board.clock.move(minutes=PATIENT_MINUTES + 1)
    board.land(first.task)

    assert board.take("w3") is None
    assert waits(board)[one] == f"Task {both} has waited longer for files it would touch."
    board.land(2)
    claim = board.take("w3")
    assert claim is not None
    assert claim.task == both


def test_task_for_one_worker_alone_keeps_no_files_from_others() -> None:
    board = RuledBoard()
    board.claim(board.add(writes=("a/1",)))
    board.add(writes=("**",), assignee="ann")
    board.clock.move(minutes=PATIENT_MINUTES + 1)
    other = board.add(writes=("b",))

    claim = board.take("w2")

    assert claim is not None
    assert claim.task == other


@pytest.mark.slow
@given(
    first=st.tuples(PRIORITY, WRITES),
    posts=st.lists(st.tuples(PRIORITY, WRITES, st.booleans()), min_size=40, max_size=40),
)
@settings(max_examples=150, deadline=None)
def test_under_any_arrival_a_task_is_taken_after_a_bounded_number_of_claims(
    first: tuple[int, tuple[str, ...]], posts: list[tuple[int, tuple[str, ...], bool]]
) -> None:
    """Three workers have two rounds for a task; one is posted a round, so that there is room.

    Some fail and come back, as urgent as they are.
    """
    board = RuledBoard()
    board.add(priority=0, writes=("a/b.py",))
    board.add(priority=0, writes=("c.py",))
    under_way: list[tuple[int, Claim]] = [(0, board.claim(1)), (0, board.claim(2, "w2"))]
    oldest = board.add(priority=first[0], writes=first[1])
    claims = 0
    for number, (priority, writes, fails) in enumerate(posts, start=1):
        board.clock.move(minutes=5)
        board.add(priority=priority, writes=writes, attempts_allowed=99)
        for ended in [one for one in under_way if number - one[0] >= 2]:
            under_way.remove(ended)
            if fails and ended[1].task != oldest:
                board.release(ended[1], is_failure=True)
            else:
                board.land(ended[1].task)
        while len(under_way) < 3 and (claim := board.take(f"w{number}")) is not None:
            if claim.task == oldest:
                return
            claims += 1
            under_way.append((number, claim))

    raise AssertionError(f"{claims} tasks were taken before the oldest: {waits(board)}")


@given(
    hours=st.integers(0, 1000),
    priorities=st.tuples(PRIORITY, PRIORITY),
    failures=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_age_outweighs_any_priority_and_any_failures_after_a_known_time(
    hours: int, priorities: tuple[int, int], failures: tuple[int, int]
) -> None:
    board = RuledBoard()
    old = board.add(priority=priorities[0], attempts_allowed=9)
    fail(board, old, failures[0])
    board.clock.move(hours=hours)
    young = board.add(priority=priorities[1], attempts_allowed=9)
    fail(board, young, failures[1])

    weight = 100 * (priorities[0] - priorities[1]) + 20 * (failures[0] - failures[1])

    assert (urgency(board.task(old)) > urgency(board.task(young))) is (hours > weight)


def fail(board: RuledBoard, task: int, times: int) -> None:
    for _ in range(times):
        board.release(board.claim(task), is_failure=True)


def test_task_that_others_overtake_for_too_long_is_told_with_who_and_why() -> None:
    board = RuledBoard()
    old = board.add(priority=4)
    since = f"{board.now:%H:%M:%S}"
    board.clock.move(minutes=1)
    board.claim(board.add(priority=0))
    assert next_impatience(board.board, board.now) == board.task(old).added_at + PATIENCE

    board.clock.move(minutes=PATIENT_MINUTES - 1)
    assert stuck(board.board, there=(), now=board.now) == {}
    board.clock.move(seconds=1)

    why = f"It has waited since {since} while task 2, posted later, began. Its priority is 4."
    assert stuck(board.board, there=(), now=board.now) == {old: why}
    assert waits(board)[old] == why
    assert next_impatience(board.board, board.now) is None


@pytest.mark.parametrize("kept_by", ["dependency", "rest", "older task"])
def test_task_that_waits_for_its_own_reason_is_not_overtaken(kept_by: str) -> None:
    board = RuledBoard()
    earlier = board.claim(board.add())
    more: dict[str, Any] = {"after": (1,)} if kept_by == "dependency" else {}
    task = board.add(priority=4, **more)
    if kept_by == "rest":
        board.park(task, until=board.now + timedelta(hours=5))
    if kept_by != "older task":
        board.claim(board.add(), "w2")
    board.clock.move(minutes=PATIENT_MINUTES + 1)

    assert stuck(board.board, there=(), now=board.now) == {}
    board.land(earlier.task)


def test_wait_counts_from_when_the_task_could_begin() -> None:
    board = RuledBoard()
    earlier = board.claim(board.add())
    task = board.add(priority=4, after=(1,))
    board.clock.move(minutes=PATIENT_MINUTES + 1)
    board.land(earlier.task)
    board.claim(board.add(), "w2")

    assert stuck(board.board, there=(), now=board.now) == {}
    board.clock.move(minutes=1)
    board.claim(board.add(), "w3")
    board.clock.move(minutes=PATIENT_MINUTES)
    assert list(stuck(board.board, there=(), now=board.now)) == [task]


def test_task_of_a_worker_who_is_not_there_is_told_and_what_waits_for_it_says_so() -> None:
    board = RuledBoard()
    own = board.add(assignee="ann")
    second = board.add(after=(own,))
    third = board.add(after=(second,))
    board.add(assignee="w7")
    board.add()

    told = "It waits for the worker ann, who is not there."
    whole = f"{told} Spawn ann, or cancel the task."
    because = f"It waits for task {own}, which waits for the worker ann, who is not there."
    assert stuck(board.board, there=("w1",), now=board.now) == {own: whole}
    assert waits(board) == {own: whole, second: because, third: because}
    assert stuck(board.board, there=("ann",), now=board.now) == {}


def test_reason_of_the_last_attempt_stands_behind_what_a_task_waits_for() -> None:
    board = RuledBoard()
    task = board.add(attempts_allowed=2)
    claim = board.claim(task)
    board.release(claim, is_failure=True, not_before=board.now + timedelta(minutes=1))

    until = f"{board.now + timedelta(minutes=1):%H:%M:%S}"
    assert waits(board) == {task: f"It rests until {until}. over"}


def waits(board: RuledBoard) -> dict[int, str]:
    """Returns what is said of each pending task that is not simply free."""
    tasks = explained(board.board, board.board.tasks.values(), there=(), now=board.now)
    pending = [task for task in tasks if task.status is TaskStatus.PENDING]
    return {task.task_id: task.reason for task in pending if task.reason}
