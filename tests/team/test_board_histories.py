"""Whatever is asked of the board in whatever order, its promises hold and a replay agrees."""

import contextlib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from modules.records.tasks import Claim, Task, TaskStatus
from modules.team.board_rules import FINAL, UNDER_WAY, apply, urgency
from modules.team.board_waits import find_cycle
from tests.team.boards import Refused, RuledBoard, folded, state

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

    @rule(task=tasks, after=st.lists(tasks, max_size=2))
    def edit(self, task: int, after: list[int]) -> None:
        self.attempt("edit", task, after=tuple(after))

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
        assert self.ruled.board.waiting == sorted(
            (-urgency(t), t.task_id) for t in tasks if t.status not in UNDER_WAY | FINAL
        )

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
    def nothing_waits_for_itself(self) -> None:
        tasks = self.ruled.board.tasks
        assert not any(find_cycle(tasks, key, tasks[key].draft.after) for key in tasks)

    @invariant()
    def failures_stay_within_what_is_allowed(self) -> None:
        for task in self.ruled.board.tasks.values():
            at_limit = task.failures >= task.draft.attempts_allowed
            assert not at_limit or task.status in FINAL


AnyHistory.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestAnyHistory = pytest.mark.slow(AnyHistory.TestCase)


@pytest.mark.slow
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
