"""What a task waits for, and that nobody waits for ever without a word."""

from datetime import timedelta

import pytest

from modules.records.tasks import Claim, TaskStatus
from modules.team.board_next import next_start, next_task
from modules.team.board_waits import pause_before_retry
from tests.team.boards import Refused, RuledBoard, folded, hand_written


@pytest.fixture
def ruled() -> RuledBoard:
    return RuledBoard()


def test_task_waits_until_everything_it_names_is_completed(ruled: RuledBoard) -> None:
    first, second = ruled.add(), ruled.add()
    last = ruled.add(after=(first, second))
    for task in (first, second):
        taken = ruled.take()
        assert taken is not None
        assert taken.task != last
        ruled.land(task)

    claim = ruled.take()

    assert claim == Claim(task=last, attempt=1, generation=1, worker="w1")


def test_claim_of_a_task_that_waits_is_refused_with_the_reason(ruled: RuledBoard) -> None:
    first = ruled.add()
    second = ruled.add(after=(first,))

    with pytest.raises(Refused, match=f"It waits for task {first}"):
        ruled.claim(second)


def test_tasks_that_write_the_same_files_are_not_at_work_together(ruled: RuledBoard) -> None:
    first = ruled.add(writes=("src/a/**",))
    same = ruled.add(writes=("docs/x.md", "src/a/b.py"))
    other = ruled.add(writes=("src/b.py",))
    nothing = ruled.add()

    taken = [claim.task for _ in range(4) if (claim := ruled.take())]

    assert taken == [first, other, nothing]
    with pytest.raises(Refused, match=f"Task {first} is at work on files"):
        ruled.claim(same)
    ruled.submit(ruled.current(first))
    with pytest.raises(Refused, match=f"Task {first} is at work on files"):
        ruled.claim(same)
    ruled.land(first)
    ruled.claim(same)


@pytest.mark.parametrize("everything_first", [True, False])
@pytest.mark.parametrize("writes", [(), ("a.py",), ("**",)])
def test_task_that_writes_everything_is_worked_on_alone(
    ruled: RuledBoard, writes: tuple[str, ...], *, everything_first: bool
) -> None:
    order = [("**",), writes] if everything_first else [writes, ("**",)]
    first, second = (ruled.add(writes=one) for one in order)
    ruled.claim(first)

    with pytest.raises(Refused, match=f"Task {first} is at work"):
        ruled.claim(second)

    ruled.land(first)
    ruled.claim(second)


def test_rest_after_failures_doubles_up_to_five_minutes() -> None:
    seconds = [pause_before_retry(failures).total_seconds() for failures in range(1, 12)]

    assert seconds == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert pause_before_retry(0) == pause_before_retry(1)
    assert pause_before_retry(10**6) == timedelta(minutes=5)


def test_resting_task_is_not_claimed_before_its_time(ruled: RuledBoard) -> None:
    task = ruled.add()
    start = ruled.now + timedelta(seconds=4)
    ruled.release(ruled.claim(task), is_failure=True, not_before=start)

    assert ruled.take() is None
    assert next_start(ruled.board, ruled.now) == start
    with pytest.raises(Refused, match="It rests until 05:06:11"):
        ruled.claim(task)
    ruled.clock.move(seconds=4)

    assert next_start(ruled.board, ruled.now) is None
    assert next_start(ruled.board, ruled.now - timedelta(seconds=1)) == start
    assert ruled.take() is not None


def test_clock_that_was_set_back_makes_no_rest_longer_and_no_park_shorter(
    ruled: RuledBoard,
) -> None:
    resting, parked = ruled.add(), ruled.add()
    start = ruled.now + timedelta(minutes=5)
    ruled.release(ruled.claim(resting), is_failure=True, not_before=start)
    ruled.park(parked, until=start)
    assert ruled.take() is None

    ruled.clock.move(hours=-1)

    claim = ruled.take()
    assert claim is not None
    assert claim.task == resting
    assert ruled.take() is None


def test_task_parked_until_a_time_comes_back_by_itself_and_uses_no_attempt(
    ruled: RuledBoard,
) -> None:
    task = ruled.add(attempts_allowed=1)
    ruled.claim(task)
    until = ruled.now + timedelta(hours=1)

    ruled.park(task, until=until)

    assert ruled.seen(task) == (TaskStatus.PARKED, "quota")
    assert ruled.take() is None
    assert next_start(ruled.board, ruled.now) == until
    ruled.clock.now = until
    assert ruled.take() is not None
    assert ruled.task(task).failures == 0


def test_task_parked_for_a_person_waits_for_the_person(ruled: RuledBoard) -> None:
    task = ruled.add()
    ruled.park(task)
    ruled.clock.move(days=365)

    assert ruled.take() is None
    assert next_start(ruled.board, ruled.now) is None
    with pytest.raises(Refused, match="until somebody retries it"):
        ruled.claim(task)
    ruled.retry(task)
    assert ruled.take() is not None


def test_cycle_is_refused_with_its_whole_path(ruled: RuledBoard) -> None:
    for record in hand_written({1: (3,), 2: (1,)}):
        ruled.write_unchecked(record)

    with pytest.raises(Refused, match="It would wait for itself: 3 → 2 → 1 → 3"):
        ruled.add(task_id=3, after=(2,))


@pytest.mark.parametrize("end", ["fail", "cancel"])
def test_given_up_task_blocks_all_that_wait_for_it_until_it_is_retried(
    ruled: RuledBoard, end: str
) -> None:
    """bernstein#3452, dotbot#56, khive#1473: dependents waited for ever, without a word."""
    first = ruled.add()
    second = ruled.add(after=(first,))
    third = ruled.add(after=(second,))
    other = ruled.add()
    getattr(ruled, end)(first)
    status = ruled.task(first).status
    cause = f"It waits for task {first}, which is {status}."

    blocked = [ruled.seen(task) for task in (second, third, other)]
    ruled.retry(first)
    back = [ruled.seen(task) for task in (second, third, other)]

    assert blocked == [
        (TaskStatus.BLOCKED, cause),
        (TaskStatus.BLOCKED, cause),
        (TaskStatus.PENDING, ""),
    ]
    assert back == [(TaskStatus.PENDING, "")] * 3


def test_task_posted_after_a_given_up_one_is_blocked_at_once(ruled: RuledBoard) -> None:
    first = ruled.add()
    ruled.cancel(first)
    assert ruled.board.blocked == {}

    second = ruled.add(after=(first,))
    third = ruled.add(after=(second,))

    assert [ruled.seen(task)[0] for task in (second, third)] == [TaskStatus.BLOCKED] * 2


def test_landing_of_a_given_up_task_frees_what_waits_for_it(ruled: RuledBoard) -> None:
    first = ruled.add()
    second = ruled.add(after=(first,))
    ruled.cancel(first)
    assert ruled.seen(second)[0] is TaskStatus.BLOCKED

    ruled.land(first)

    assert ruled.seen(second) == (TaskStatus.PENDING, "")


def test_board_edited_by_hand_names_cycles_and_missing_tasks_and_goes_on() -> None:
    board = folded(
        hand_written({1: (2,), 2: (3,), 3: (1,), 4: (1,), 5: (99,), 6: (5,), 7: (7,), 8: ()})
    )

    missing = "It waits for task 99, which is not on the board."
    own = "It would wait for itself: 7 → 7."
    assert {task: board.blocked[task] for task in (5, 6, 7)} == {5: missing, 6: missing, 7: own}
    assert all("It would wait for itself: " in board.blocked[task] for task in (1, 2, 3, 4))
    assert 8 not in board.blocked
    taken = next_task(board, worker="w", role="", now=RuledBoard().now)
    assert taken is not None
    assert taken.task_id == 8
    assert board.next_id == 100


def test_cycle_made_by_an_edit_is_refused_with_its_path(ruled: RuledBoard) -> None:
    first = ruled.add()
    second = ruled.add(after=(first,))
    third = ruled.add(after=(second,))

    with pytest.raises(Refused, match="It would wait for itself: 1 → 3 → 2 → 1"):
        ruled.edit(first, after=(third,))

    ruled.edit(third, after=())
    ruled.edit(first, after=(third,))
    assert ruled.board.blocked == {}


def test_edit_moves_what_blocks_a_task(ruled: RuledBoard) -> None:
    gone, there = ruled.add(), ruled.add()
    task = ruled.add(after=(there,))
    last = ruled.add(after=(task,))
    ruled.cancel(gone)
    assert ruled.board.blocked == {}

    ruled.edit(task, after=(gone,))
    blocked = [ruled.seen(one)[0] for one in (task, last)]
    ruled.edit(task, after=(there,))

    assert blocked == [TaskStatus.BLOCKED] * 2
    assert ruled.board.blocked == {}
