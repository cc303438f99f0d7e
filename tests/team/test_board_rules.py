"""The board's rules: who may take what when, what a claim is worth, and which moves there are."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from modules.records.board_records import LaneBound, TaskClaimed
from modules.records.tasks import Claim, TaskStatus
from modules.team.board_rules import urgency
from tests.team.boards import LEASE, RECEIPT, Refused, RuledBoard, folded, hand_written


@pytest.fixture
def ruled() -> RuledBoard:
    return RuledBoard()


def test_claims_go_by_priority_then_age_then_id(ruled: RuledBoard) -> None:
    late_low = ruled.add(priority=3)
    first = ruled.add(priority=2)
    same_age = ruled.add(priority=2)
    ruled.clock.move(hours=1)
    younger = ruled.add(priority=2)
    urgent = ruled.add(priority=0)

    taken = [claim.task for _ in range(5) if (claim := ruled.take())]

    assert taken == [urgent, first, same_age, younger, late_low]


def test_old_task_of_low_priority_is_not_starved_by_new_ones(ruled: RuledBoard) -> None:
    old = ruled.add(priority=3)
    ruled.clock.move(hours=101)
    ruled.add(priority=2)

    claim = ruled.take()

    assert claim is not None
    assert claim.task == old


def test_failure_makes_a_task_a_little_less_urgent(ruled: RuledBoard) -> None:
    task = ruled.task(ruled.add())

    failed = replace(task, failures=1)

    assert urgency(failed) < urgency(task)
    assert urgency(failed) > urgency(replace(task, draft=replace(task.draft, priority=3)))


@pytest.mark.parametrize(
    ("task_role", "assignee", "worker", "role", "fits"),
    [
        ("", "", "w1", "", True),
        ("", "", "w1", "backend", True),
        ("backend", "", "w1", "", True),
        ("backend", "", "w1", "backend", True),
        ("backend", "", "w1", "docs", False),
        ("", "ada", "w1", "", False),
        ("", "ada", "ada", "docs", True),
        ("backend", "ada", "ada", "docs", True),
    ],
)
def test_task_goes_to_a_worker_of_its_role_or_to_its_assignee(
    ruled: RuledBoard, task_role: str, assignee: str, worker: str, role: str, *, fits: bool
) -> None:
    ruled.add(role=task_role, assignee=assignee)

    claim = ruled.take(worker, role)

    assert (claim is not None) is fits


def test_second_claim_of_a_task_is_refused(ruled: RuledBoard) -> None:
    task = ruled.add()
    first = ruled.claim(task)

    with pytest.raises(Refused, match=f"Task {task} is in_progress"):
        ruled.claim(task, "w2")

    assert ruled.current(task) == first


def test_claim_made_on_an_older_state_is_refused(ruled: RuledBoard) -> None:
    task = ruled.add()
    old = Claim(task=task, attempt=1, generation=1, worker="w2")
    ruled.release(ruled.claim(task))

    with pytest.raises(Refused, match="older state"):
        ruled.write(TaskClaimed(at=ruled.now, by="w2", claim=old, lease_until=ruled.now + LEASE))


def test_each_claim_of_a_task_has_a_greater_attempt_and_generation(ruled: RuledBoard) -> None:
    task = ruled.add()

    claims = []
    for worker in ("w1", "w2", "w1"):
        claims.append(ruled.claim(task, worker))
        ruled.release(claims[-1])

    assert [(c.attempt, c.generation, c.worker) for c in claims] == [
        (1, 1, "w1"),
        (2, 2, "w2"),
        (3, 3, "w1"),
    ]


def test_every_write_of_an_old_holder_is_refused_and_the_new_one_stands(ruled: RuledBoard) -> None:
    """oh-my-cursor#23, lion-reader#917, OpenMausBot#1185: a late holder overwrote the new one."""
    task = ruled.add()
    old = ruled.claim(task, "w1")
    ruled.release(old)
    new = ruled.claim(task, "w1")
    before = ruled.task(task)
    bound = LaneBound(at=ruled.now, by="w1", claim=old, lane="l", branch="b", base="c")

    writes: list[Callable[[], None]] = [
        lambda: ruled.write(bound),
        lambda: ruled.renew(old),
        lambda: ruled.submit(old),
        lambda: ruled.rework(old),
        lambda: ruled.release(old, is_failure=True),
    ]
    for late in writes:
        with pytest.raises(Refused, match=r"the claim of w1 \(attempt 1\) has ended"):
            late()

    assert ruled.task(task) == before
    ruled.submit(new)


def test_claim_of_another_worker_or_generation_is_not_the_current_one(ruled: RuledBoard) -> None:
    claim = ruled.claim(ruled.add())

    for wrong in (
        replace(claim, worker="w2"),
        replace(claim, generation=2),
        replace(claim, attempt=2),
    ):
        with pytest.raises(Refused, match="has ended"):
            ruled.renew(wrong)


@pytest.mark.parametrize("end", ["land", "fail", "cancel", "park"])
def test_claim_ends_with_whatever_takes_the_task_off_its_holder(
    ruled: RuledBoard, end: str
) -> None:
    claim = ruled.claim(ruled.add())

    getattr(ruled, end)(claim.task)

    with pytest.raises(Refused, match="the claim on it has ended"):
        ruled.submit(claim)


def test_moves_from_post_to_landing_are_kept_with_their_proof(ruled: RuledBoard) -> None:
    task = ruled.add("add mean", priority=1)
    added = ruled.task(task)
    ruled.clock.move(seconds=1)
    claimed_at = ruled.now
    claim = ruled.claim(task)
    ruled.write(LaneBound(at=ruled.now, by="w1", claim=claim, lane="l", branch="b", base="c0"))
    ruled.submit(claim)
    ruled.rework(claim)
    assert ruled.seen(task) == (TaskStatus.IN_PROGRESS, "red")
    ruled.submit(claim)
    assert ruled.seen(task) == (TaskStatus.IN_REVIEW, "")

    ruled.land(task)

    assert ruled.task(task) == replace(
        added,
        status=TaskStatus.COMPLETED,
        attempt=1,
        generation=1,
        worker="w1",
        claimed_at=claimed_at,
        lane="l",
        branch="b",
        base="c0",
        changed_at=ruled.now,
        verified=True,
        receipt=RECEIPT,
        landed_as=f"c{task}",
    )


def test_work_is_handed_in_once_and_given_back_only_when_handed_in(ruled: RuledBoard) -> None:
    claim = ruled.claim(ruled.add())

    with pytest.raises(Refused, match="nothing to give back"):
        ruled.rework(claim)
    ruled.submit(claim)
    with pytest.raises(Refused, match="is handed in already"):
        ruled.submit(claim)


def test_completion_without_a_landing_needs_a_task_at_work_and_a_reason(ruled: RuledBoard) -> None:
    task = ruled.add()

    with pytest.raises(Refused, match="only when it is at work, and with a reason"):
        ruled.complete(task)
    ruled.claim(task)
    with pytest.raises(Refused, match="only when it is at work, and with a reason"):
        ruled.complete(task, reason="")
    ruled.complete(task)

    assert ruled.seen(task) == (TaskStatus.COMPLETED, "nothing to do")
    assert ruled.task(task).verified is False


@pytest.mark.parametrize("before", ["fail", "cancel", "park", ""])
def test_landing_completes_a_task_wherever_it_stands(ruled: RuledBoard, before: str) -> None:
    task = ruled.claim(ruled.add()).task
    if before:
        getattr(ruled, before)(task)

    ruled.land(task)

    assert ruled.task(task).status is TaskStatus.COMPLETED


@pytest.mark.parametrize("move", ["land", "complete", "fail", "cancel", "park", "retry", "claim"])
def test_completed_task_stays_completed(ruled: RuledBoard, move: str) -> None:
    task = ruled.add()
    ruled.land(task)

    with pytest.raises(Refused):
        getattr(ruled, move)(task)

    assert ruled.task(task).status is TaskStatus.COMPLETED


@pytest.mark.parametrize("end", ["fail", "cancel", "park"])
def test_retry_puts_a_given_up_or_parked_task_back_with_a_clean_count(
    ruled: RuledBoard, end: str
) -> None:
    task = ruled.add()
    ruled.release(ruled.claim(task), is_failure=True)
    getattr(ruled, end)(task)

    ruled.retry(task)

    assert ruled.seen(task) == (TaskStatus.PENDING, "")
    assert ruled.task(task).failures == 0
    assert ruled.claim(task).attempt == 2


def test_retry_of_a_task_that_waits_or_is_at_work_is_refused(ruled: RuledBoard) -> None:
    task = ruled.add()

    for _ in range(2):
        with pytest.raises(Refused, match="only a failed, cancelled or parked task"):
            ruled.retry(task)
        if ruled.task(task).status is TaskStatus.PENDING:
            ruled.claim(task)


def test_allowed_number_of_failures_fails_the_task_and_shutdowns_do_not_count(
    ruled: RuledBoard,
) -> None:
    task = ruled.add(attempts_allowed=2)
    for is_failure in (False, True, False):
        ruled.release(ruled.claim(task), is_failure=is_failure)
        assert ruled.seen(task) == (TaskStatus.PENDING, "over")

    ruled.release(ruled.claim(task), is_failure=True)

    assert ruled.seen(task) == (TaskStatus.FAILED, "2 attempts failed; the last: over")
    assert ruled.task(task).failures == 2
    assert ruled.task(task).attempt == 4


def test_new_attempt_is_told_why_the_last_one_ended(ruled: RuledBoard) -> None:
    task = ruled.add()
    ruled.release(ruled.claim(task), is_failure=True)

    ruled.claim(task)

    assert ruled.task(task).reason == "over"


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ({"subject": " \n"}, "A task needs a subject"),
        ({"subject": "a", "priority": 5}, "it goes from 0"),
        ({"subject": "a", "priority": -1}, "it goes from 0"),
        ({"subject": "a", "after": (7,)}, "task 7, which is not on the board"),
        ({"subject": "a", "after": (2,)}, "It would wait for itself: 2 → 2."),
        ({"subject": "a", "after": (1, 2)}, "It would wait for itself: 2 → 2."),
    ],
)
def test_draft_that_can_not_stand_is_refused_with_the_reason(
    ruled: RuledBoard, draft: dict[str, Any], reason: str
) -> None:
    """bernstein#4287: a cycle was stored and the scheduler idled for ever."""
    ruled.add()

    with pytest.raises(Refused, match=reason):
        ruled.add(**draft)

    assert list(ruled.board.tasks) == [1]


def test_id_on_the_board_is_refused_for_another_task(ruled: RuledBoard) -> None:
    task = ruled.add("first")

    with pytest.raises(Refused, match=f"There is a task {task} already"):
        ruled.add("second", task_id=task)


def test_second_task_of_an_id_and_records_of_no_task_change_nothing(ruled: RuledBoard) -> None:
    task = ruled.add("first")
    ruled.land(task)
    before = ruled.task(task)

    board = folded([*ruled.records, *hand_written({task: ()})])
    ghost = Claim(task=40, attempt=1, generation=1, worker="w")
    claimed = TaskClaimed(at=ruled.now, by="w", claim=ghost, lease_until=ruled.now)
    ruled.write_unchecked(claimed)

    assert board.tasks == {task: before}
    assert list(ruled.board.tasks) == [task]
    assert ruled.board.next_id == 41


def test_edit_changes_what_is_asked_for_and_nothing_else(ruled: RuledBoard) -> None:
    task = ruled.add("a", priority=3)
    ruled.release(ruled.claim(task), is_failure=True)
    before = ruled.task(task)
    ruled.clock.move(seconds=1)

    ruled.edit(task, subject="b", priority=0)

    draft = replace(before.draft, subject="b", priority=0)
    assert ruled.task(task) == replace(before, draft=draft, changed_at=ruled.now)


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        (["claim"], "Task 1 is in_progress; w1 is at it"),
        (["land"], "Task 1 is completed; retry it first, or post another"),
        (["cancel"], "Task 1 is cancelled; retry it first"),
        (["fail"], "Task 1 is failed; retry it first"),
    ],
)
def test_edit_of_a_task_at_work_or_at_its_end_is_refused(
    ruled: RuledBoard, moves: list[str], message: str
) -> None:
    task = ruled.add()
    for move in moves:
        getattr(ruled, move)(task)

    with pytest.raises(Refused, match=message):
        ruled.edit(task, subject="b")


def test_edit_must_stand_like_a_new_task(ruled: RuledBoard) -> None:
    task = ruled.add()

    for change, message in (
        ({"subject": ""}, "needs a subject"),
        ({"priority": 9}, "it goes from 0"),
        ({"after": (9,)}, "task 9, which is not on the board"),
        ({"after": (task,)}, "It would wait for itself: 1 → 1"),
    ):
        with pytest.raises(Refused, match=message):
            ruled.edit(task, **change)
