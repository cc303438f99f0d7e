"""The board on disk: one winner a claim, nothing lost, and everybody is told what changed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.records.tasks import Claim, Task, TaskDraft, TaskStatus
from modules.store.paths import Paths
from modules.team.board_rules import current_claim
from modules.team.task_board import BoardRefusal, TaskBoard, task_json
from tests.fakes.clock import START, FakeClock
from tests.team.boards import LEASE, RECEIPT


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_board(tmp_path: Path, clock: FakeClock) -> Callable[[], TaskBoard]:
    return lambda: TaskBoard(Paths(tmp_path), clock=clock)


@pytest.fixture
def board(open_board: Callable[[], TaskBoard]) -> TaskBoard:
    return open_board()


def claim(board: TaskBoard, worker: str = "w1", role: str = "") -> Claim:
    task = board.claim(worker=worker, role=role, lease=LEASE)
    assert task is not None
    return current_claim(task)


def post(board: TaskBoard, *after: int, subject: str = "do it") -> int:
    return board.add(TaskDraft(subject=subject, after=after), by="p").task_id


def test_board_without_a_file_is_empty_and_makes_none(board: TaskBoard, tmp_path: Path) -> None:
    assert board.tasks() == []
    assert not board.has_work_for("w1", "")
    assert board.next_start() is None
    assert list(tmp_path.iterdir()) == []


def test_posted_task_is_seen_by_every_process(open_board: Callable[[], TaskBoard]) -> None:
    first, second = open_board(), open_board()

    added = [first.add(TaskDraft(subject="a"), by="p"), second.add(TaskDraft(subject="b"), by="q")]

    assert [task.task_id for task in added] == [1, 2]
    assert first.tasks() == second.tasks() == open_board().tasks() == added


def test_claims_of_two_processes_are_of_two_tasks(open_board: Callable[[], TaskBoard]) -> None:
    first, second = open_board(), open_board()
    post(first)
    post(first)

    claims = [claim(second, "w2"), claim(first, "w1")]

    assert [(one.task, one.worker) for one in claims] == [(1, "w2"), (2, "w1")]
    assert first.claim(worker="w3", role="", lease=LEASE) is None
    assert first.task(1).lease_until == START + LEASE


def test_draft_that_can_not_stand_is_refused_and_not_written(
    board: TaskBoard, tmp_path: Path
) -> None:
    with pytest.raises(BoardRefusal, match="It would wait for itself: 1 → 1"):
        post(board, 1)

    assert Paths(tmp_path).board.read_bytes() == b""


def test_late_writes_of_an_old_holder_are_refused_whatever_they_say(
    open_board: Callable[[], TaskBoard], tmp_path: Path
) -> None:
    lead, other = open_board(), open_board()
    post(lead)
    old = claim(other, "w1")
    lead.release(old, reason="its lease ran out", is_failure=True, by="lead", pause=False)
    new = claim(lead, "w1")
    before = Paths(tmp_path).board.read_bytes()

    late: list[Callable[[], object]] = [
        lambda: other.bind_lane(old, lane="l", branch="b", base="c"),
        lambda: other.renew(old, LEASE),
        lambda: other.submit(old, entry=1),
        lambda: other.rework(old, reason="r"),
        lambda: other.release(old, reason="r", is_failure=True, by="w1"),
        lambda: other.complete_unchanged(old, reason="r"),
        lambda: other.park(1, reason="r", by="w1", held=old),
        lambda: other.fail(1, reason="r", by="w1", held=old),
    ]
    for write in late:
        with pytest.raises(BoardRefusal, match=r"the claim of w1 \(attempt 1\) has ended"):
            write()

    assert Paths(tmp_path).board.read_bytes() == before
    assert not other.is_current(old)
    assert other.is_current(new)
    other.park(1, reason="quota", by="w1", held=new)
    assert other.task(1).status is TaskStatus.PARKED


def test_renewal_moves_the_lease_of_a_living_holder_even_when_the_clock_was_set_back(
    board: TaskBoard, clock: FakeClock
) -> None:
    post(board)
    held = claim(board)
    clock.move(hours=-1)

    board.renew(held, LEASE)

    assert board.task(1).lease_until == clock.now + LEASE
    assert board.is_current(held)


def test_failed_attempts_rest_longer_each_time_and_end_at_the_allowed_number(
    board: TaskBoard, clock: FakeClock
) -> None:
    post(board)

    rests = []
    for _ in range(2):
        task = board.release(claim(board), reason="red", is_failure=True, by="lead")
        assert task.not_before is not None
        rests.append((task.not_before - clock.now).total_seconds())
        assert board.next_start() == task.not_before
        assert not board.has_work_for("w1", "")
        clock.now = task.not_before
    last = board.release(claim(board), reason="red", is_failure=True, by="lead")

    assert rests == [1, 2]
    assert (last.status, last.reason) == (TaskStatus.FAILED, "3 attempts failed; the last: red")


def test_release_that_is_no_failure_or_pauses_not_frees_the_task_at_once(board: TaskBoard) -> None:
    post(board)

    for is_failure, pause in ((False, True), (True, False)):
        task = board.release(
            claim(board), reason="r", is_failure=is_failure, by="lead", pause=pause
        )
        assert task.not_before is None


def test_next_start_counts_a_time_that_came_after_the_look(
    board: TaskBoard, clock: FakeClock
) -> None:
    post(board)
    looked_at = clock.now
    start = clock.move(seconds=1)
    board.park(1, reason="quota", by="lead", until=start)

    clock.move(seconds=1)

    assert board.next_start() is None
    assert board.next_start(looked_at) == start


def test_landing_is_noted_once_by_however_many(open_board: Callable[[], TaskBoard]) -> None:
    first, second = open_board(), open_board()
    post(first)
    second.refresh()

    for board in (first, second, first):
        board.complete_landed(1, receipt=RECEIPT, landed_as="c1")

    assert second.task(1).landed_as == "c1"
    with pytest.raises(BoardRefusal, match="Task 1 is completed already"):
        second.complete_landed(1, receipt=RECEIPT, landed_as="c2")


def test_completion_without_changes_needs_the_claim_and_a_reason(board: TaskBoard) -> None:
    post(board)
    held = claim(board)

    with pytest.raises(BoardRefusal, match="with a reason"):
        board.complete_unchanged(held, reason="")
    board.complete_unchanged(held, reason="it is there already")

    task = board.task(1)
    assert (task.status, task.reason, task.verified) == (
        TaskStatus.COMPLETED,
        "it is there already",
        False,
    )


def test_task_that_is_not_there_is_refused_by_its_number(board: TaskBoard) -> None:
    ghost = Claim(task=7, attempt=1, generation=1, worker="w1")
    calls: list[Callable[[], object]] = [
        lambda: board.task(7),
        lambda: board.cancel(7, reason="r", by="p"),
        lambda: board.retry(7, by="p"),
        lambda: board.release(ghost, reason="r", is_failure=True, by="lead"),
        lambda: board.complete_landed(7, receipt=RECEIPT, landed_as="c"),
        lambda: board.complete_unchanged(ghost, reason="r"),
        lambda: board.park(7, reason="r", by="p", held=ghost),
    ]

    for call in calls:
        with pytest.raises(BoardRefusal, match="There is no task 7"):
            call()

    assert not board.is_current(ghost)


def test_lines_nobody_can_read_are_counted_and_the_board_goes_on(
    open_board: Callable[[], TaskBoard], tmp_path: Path
) -> None:
    post(open_board())
    path = Paths(tmp_path).board
    with path.open("ab") as file:
        file.write(b'{"kind":"from a later version","task":1}\n' + b"\0" * 300 + b"\n")

    board = open_board()
    post(board)

    assert [task.task_id for task in board.tasks()] == [1, 2]
    assert board.skipped_lines == 2


class Told:
    """What a listener of a board was told, in order."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def __call__(self, task: Task) -> None:
        self.tasks.append(task)

    def take(self) -> list[tuple[int, str]]:
        """Returns the ids and statuses told since the last time."""
        told, self.tasks = self.tasks, []
        return [(task.task_id, str(task.status)) for task in told]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def listening(tmp_path: Path, clock: FakeClock, told: Told) -> TaskBoard:
    return TaskBoard(Paths(tmp_path), clock=clock, on_change=told)


def test_listener_is_told_of_changes_and_not_of_what_was_there_before(
    open_board: Callable[[], TaskBoard], listening: TaskBoard, told: Told
) -> None:
    other = open_board()
    post(other)

    listening.refresh()
    assert told.take() == []
    held = claim(listening)
    assert told.take() == [(1, "in_progress")]
    other.bind_lane(held, lane="l", branch="b", base="c")
    other.submit(held, entry=1)
    assert told.take() == []
    listening.refresh()
    assert told.take() == [(1, "in_review")]
    listening.renew(held, LEASE)
    assert told.take() == []


def test_first_change_of_a_new_process_is_told_and_nothing_older(
    open_board: Callable[[], TaskBoard], listening: TaskBoard, told: Told
) -> None:
    post(open_board())

    post(listening)

    assert told.take() == [(2, "pending")]


def test_listener_is_told_once_of_those_that_became_blocked_and_of_their_return(
    listening: TaskBoard, told: Told
) -> None:
    post(listening)
    post(listening, 1)
    post(listening, 2)
    post(listening)
    told.take()

    listening.fail(1, reason="too hard", by="lead")
    assert told.take() == [(1, "failed"), (2, "blocked"), (3, "blocked")]
    listening.cancel(4, reason="r", by="p")
    assert told.take() == [(4, "cancelled")]
    listening.retry(1, by="p")
    assert told.take() == [(1, "pending"), (2, "pending"), (3, "pending")]


def test_listener_is_told_of_what_others_changed_when_its_own_write_is_refused(
    open_board: Callable[[], TaskBoard], listening: TaskBoard, told: Told
) -> None:
    listening.refresh()
    post(open_board())

    with pytest.raises(BoardRefusal):
        listening.cancel(9, reason="r", by="p")

    assert told.take() == [(1, "pending")]


def test_listener_may_use_the_board(tmp_path: Path, clock: FakeClock) -> None:
    seen: list[tuple[int, int]] = []

    def look_and_cancel(task: Task) -> None:
        seen.append((task.task_id, len(own.tasks())))
        if task.status is TaskStatus.PENDING:
            own.cancel(task.task_id, reason="r", by="listener")

    own = TaskBoard(Paths(tmp_path), clock=clock, on_change=look_and_cancel)
    post(own)
    post(TaskBoard(Paths(tmp_path), clock=clock))
    own.refresh()

    assert seen == [(1, 1), (1, 1), (2, 2), (2, 2)]
    assert [task.status for task in own.tasks()] == [TaskStatus.CANCELLED] * 2


def test_tasks_posted_together_may_wait_for_each_other(board: TaskBoard) -> None:
    old = post(board)

    added = board.add_all(
        [TaskDraft(subject="a"), TaskDraft(subject="b", after=(old,)), TaskDraft(subject="c")],
        by="p",
        after=[(), (0,), (0, 1)],
    )

    assert [(task.task_id, task.draft.after) for task in added] == [
        (2, ()),
        (3, (1, 2)),
        (4, (2, 3)),
    ]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ([(1,), (0,)], "It would wait for itself: 2 → 1 → 2"),
        ([(0,)], "It would wait for itself: 1 → 1"),
    ],
)
def test_of_tasks_posted_together_none_is_there_when_one_can_not_stand(
    board: TaskBoard, tmp_path: Path, after: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(BoardRefusal, match=message):
        board.add_all([TaskDraft(subject="a"), TaskDraft(subject="b")], by="p", after=after)

    assert board.tasks() == []
    assert Paths(tmp_path).board.read_bytes() == b""
    assert post(board) == 1


def test_task_is_edited_from_what_it_is_now(open_board: Callable[[], TaskBoard]) -> None:
    first, second = open_board(), open_board()
    post(first, subject="a")
    second.edit(1, lambda draft: replace(draft, subject="b"), by="p")

    edited = first.edit(1, lambda draft: replace(draft, subject=draft.subject + "c"), by="p")

    assert edited.draft.subject == second.task(1).draft.subject == "bc"
    with pytest.raises(BoardRefusal, match="There is no task 9"):
        first.edit(9, lambda draft: draft, by="p")


def test_replaced_task_is_cancelled_and_what_waited_for_it_waits_for_the_new_one(
    listening: TaskBoard, told: Told
) -> None:
    post(listening)
    post(listening, 1)
    listening.fail(1, reason="too hard", by="lead")
    told.take()

    new = listening.replace(1, TaskDraft(subject="smaller"), by="lead")

    assert new.task_id == 3
    assert listening.task(2).draft.after == (3,)
    assert [str(task.status) for task in listening.tasks()] == ["failed", "pending", "pending"]
    assert sorted(told.take()) == [(2, "pending"), (3, "pending")]
    post(listening)
    listening.replace(4, TaskDraft(subject="other"), by="lead")
    cancelled = listening.task(4)
    assert (cancelled.status, cancelled.reason) == (TaskStatus.CANCELLED, "replaced by task 5")


def test_json_of_a_task_has_the_promised_fields(board: TaskBoard) -> None:
    board.add(TaskDraft(subject="a", after=(), writes=("x.py",), check="make"), by="p")
    board.bind_lane(claim(board), lane="l", branch="wt/l", base="c0")
    board.complete_landed(1, receipt=RECEIPT, landed_as="c1")

    assert task_json(board.task(1)) == {
        "id": 1,
        "subject": "a",
        "description": "",
        "status": "completed",
        "role": "",
        "priority": 2,
        "after": [],
        "check": "make",
        "writes": ["x.py"],
        "attempt": 1,
        "worker": "w1",
        "lane": "l",
        "branch": "wt/l",
        "base": "c0",
        "reason": "",
        "verified": True,
        "landed_as": "c1",
        "receipt": {
            "tree": "t1",
            "command": "make",
            "outcome": "passed",
            "exit_code": 0,
            "seconds": 1.5,
            "log": "l",
        },
        "added_at": START.isoformat(),
        "changed_at": START.isoformat(),
    }
