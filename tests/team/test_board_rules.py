"""The board's rules: who may take what when, what a claim is worth, and that a replay agrees."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from modules.records.board_records import LaneBound, TaskAdded, TaskClaimed
from modules.records.tasks import Claim, Task, TaskDraft, TaskStatus
from modules.team.board_rules import FINAL, UNDER_WAY, apply, next_start, next_task, urgency
from modules.team.board_waits import pause_before_retry
from tests.team.boards import LEASE, RECEIPT, Refused, RuledBoard, folded, state


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


def test_urgent_task_is_never_overtaken_by_age_alone_from_the_lowest(ruled: RuledBoard) -> None:
    ruled.add(priority=4)
    ruled.clock.move(days=3650)
    urgent = ruled.add(priority=0)

    claim = ruled.take()

    assert claim is not None
    assert claim.task == urgent


def test_failure_makes_a_task_a_little_less_urgent(ruled: RuledBoard) -> None:
    task = ruled.task(ruled.add())

    failed = replace(task, failures=1)

    assert urgency(failed, ruled.now) < urgency(task, ruled.now)
    assert urgency(failed, ruled.now) > urgency(
        replace(task, draft=replace(task.draft, priority=3)), ruled.now
    )


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


def test_cycle_is_refused_with_its_whole_path(ruled: RuledBoard) -> None:
    for record in hand_written({1: (3,), 2: (1,)}):
        ruled.write_unchecked(record)

    with pytest.raises(Refused, match="It would wait for itself: 3 → 2 → 1 → 3"):
        ruled.add(task_id=3, after=(2,))


def test_id_on_the_board_is_refused_for_another_task(ruled: RuledBoard) -> None:
    task = ruled.add("first")

    with pytest.raises(Refused, match=f"There is a task {task} already"):
        ruled.add("second", task_id=task)


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


def hand_written(after: dict[int, tuple[int, ...]]) -> list[Any]:
    """Returns a journal somebody edited: tasks with the ids they wait for."""
    now = RuledBoard().now
    return [
        TaskAdded(at=now, by="p", task=task, draft=TaskDraft(subject="s", after=others))
        for task, others in after.items()
    ]


MOVES = {
    TaskStatus.PENDING: {"in_progress", "failed", "parked", "cancelled", "completed"},
    TaskStatus.IN_PROGRESS: {
        "in_review",
        "pending",
        "completed",
        "failed",
        "parked",
        "cancelled",
    },
    TaskStatus.IN_REVIEW: {
        "in_progress",
        "pending",
        "completed",
        "failed",
        "parked",
        "cancelled",
    },
    TaskStatus.PARKED: {"in_progress", "pending", "failed", "cancelled", "completed"},
    TaskStatus.FAILED: {"pending", "completed"},
    TaskStatus.CANCELLED: {"pending", "completed"},
    TaskStatus.COMPLETED: set(),
}
WORKERS = st.sampled_from(["w1", "w2", "w3"])


class AnyHistory(RuleBasedStateMachine):
    """Whatever is asked in whatever order, right or wrong, the board's promises hold."""

    tasks: Bundle[int] = Bundle("tasks")
    claims: Bundle[Claim] = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.ruled = RuledBoard()
        self.before: dict[int, Task] = {}

    @rule(
        target=tasks,
        after=st.lists(tasks, max_size=2),
        priority=st.integers(0, 4),
        writes=st.sampled_from([(), ("a/*",), ("a/b.py",), ("c.py",), ("**",)]),
        role=st.sampled_from(["", "backend"]),
        attempts=st.integers(1, 3),
    )
    def add(
        self, after: list[int], priority: int, writes: tuple[str, ...], role: str, attempts: int
    ) -> int:
        return self.ruled.add(
            after=tuple(after),
            priority=priority,
            writes=writes,
            role=role,
            attempts_allowed=attempts,
        )

    @rule(target=claims, worker=WORKERS, role=st.sampled_from(["", "backend", "docs"]))
    def take(self, worker: str, role: str) -> Claim:
        claim = self.ruled.take(worker, role)
        return claim or Claim(task=1, attempt=9, generation=9, worker=worker)

    @rule(target=claims, task=tasks, worker=WORKERS)
    def claim(self, task: int, worker: str) -> Claim:
        self.attempt("claim", task, worker)
        return self.ruled.current(task)

    @rule(claim=claims, move=st.sampled_from(["submit", "rework", "renew"]))
    def write_as_holder(self, claim: Claim, move: str) -> None:
        self.attempt(move, claim)

    @rule(claim=claims, is_failure=st.booleans(), rest=st.sampled_from([None, 5]))
    def release(self, claim: Claim, *, is_failure: bool, rest: int | None) -> None:
        until = None if rest is None else self.ruled.now + timedelta(seconds=rest)
        self.attempt("release", claim, is_failure=is_failure, not_before=until)

    @rule(
        task=tasks,
        move=st.sampled_from(["land", "complete", "fail", "park", "cancel", "retry"]),
    )
    def move(self, task: int, move: str) -> None:
        self.attempt(move, task)

    @rule(seconds=st.integers(0, 10))
    def wait(self, seconds: int) -> None:
        self.ruled.clock.move(seconds=seconds)

    def attempt(self, move: str, *args: Any, **options: Any) -> None:
        with contextlib.suppress(Refused):  # half of what is asked is wrong
            getattr(self.ruled, move)(*args, **options)

    @invariant()
    def a_replay_from_anywhere_agrees(self) -> None:
        assert state(folded(self.ruled.records)) == state(self.ruled.board)

    @invariant()
    def indexes_tell_the_truth(self) -> None:
        tasks = self.ruled.board.tasks.values()
        assert self.ruled.board.under_way == {t.task_id for t in tasks if t.status in UNDER_WAY}
        assert self.ruled.board.waiting == {
            t.task_id for t in tasks if t.status not in UNDER_WAY | FINAL
        }

    @invariant()
    def tasks_move_only_along_the_rules_and_generations_grow(self) -> None:
        for task_id, task in self.ruled.board.tasks.items():
            old = self.before.get(task_id)
            if old is None:
                continue
            if old.status is not task.status:
                assert str(task.status) in MOVES[old.status]
            assert task.generation in (old.generation, old.generation + 1)
            assert task.attempt - old.attempt == task.generation - old.generation
        self.before = dict(self.ruled.board.tasks)

    @invariant()
    def nothing_is_at_work_that_should_wait(self) -> None:
        board = self.ruled.board
        for task_id in board.under_way:
            task = board.tasks[task_id]
            assert task.worker
            assert task.lease_until is not None
            assert all(
                board.tasks[other].status is TaskStatus.COMPLETED for other in task.draft.after
            )
        writing = [board.tasks[task_id].draft.writes for task_id in board.under_way]
        assert ("**",) not in writing or len(writing) == 1
        assert len({"a/*", "a/b.py"} & {glob for writes in writing for glob in writes}) < 2

    @invariant()
    def failures_stay_within_what_is_allowed(self) -> None:
        for task in self.ruled.board.tasks.values():
            at_limit = task.failures >= task.draft.attempts_allowed
            assert not at_limit or task.status in FINAL


AnyHistory.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestAnyHistory = pytest.mark.slow(AnyHistory.TestCase)


@given(cut=st.integers(0, 40), seed=st.randoms(use_true_random=False))
def test_fold_of_a_prefix_and_then_the_rest_is_the_fold_of_all(cut: int, seed: Any) -> None:
    ruled = RuledBoard()
    for _ in range(40):
        ruled.add(after=tuple(seed.sample(sorted(ruled.board.tasks), min(1, len(ruled.records)))))
        claim = ruled.take()
        if claim is not None and seed.random() < 0.5:
            ruled.release(claim, is_failure=seed.random() < 0.5)
        elif claim is not None:
            ruled.land(claim.task)

    board = folded(ruled.records[:cut])
    assert board.blocked is not None
    for record in ruled.records[cut:]:
        apply(board, record)

    assert state(board) == state(folded(ruled.records))
