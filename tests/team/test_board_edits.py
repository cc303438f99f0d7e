"""Tasks described anew, replaced, and posted together: all of it or nothing."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.records.tasks import TaskDraft, TaskStatus
from modules.store.paths import Paths
from modules.team.board_rules import current_claim
from modules.team.task_board import BoardRefusal, TaskBoard
from tests.fakes.clock import FakeClock
from tests.team.boards import LEASE, RECEIPT


@pytest.fixture
def board(tmp_path: Path) -> TaskBoard:
    return TaskBoard(Paths(tmp_path), clock=FakeClock())


def post(board: TaskBoard, subject: str, *after: int) -> int:
    return board.add(TaskDraft(subject=subject, after=after), by="p").task_id


def lines(board_folder: Path) -> int:
    return len((Paths(board_folder).board).read_bytes().splitlines())


def test_tasks_of_a_batch_can_wait_for_each_other(board: TaskBoard) -> None:
    post(board, "old")

    added = board.add_all(
        [TaskDraft(subject="a"), TaskDraft(subject="b", after=(1,))], by="p", after=[[], [0]]
    )

    assert [(task.task_id, task.draft.after) for task in added] == [(2, ()), (3, (1, 2))]


def test_task_of_a_batch_can_wait_for_a_later_one(board: TaskBoard) -> None:
    added = board.add_all([TaskDraft(subject="a"), TaskDraft(subject="b")], by="p", after=[[1]])

    assert [task.draft.after for task in added] == [(2,), ()]


def test_batch_with_one_bad_task_posts_none(board: TaskBoard, tmp_path: Path) -> None:
    post(board, "old")

    with pytest.raises(BoardRefusal, match="subject"):
        board.add_all([TaskDraft(subject="a"), TaskDraft(subject=" ")], by="p")

    assert [task.draft.subject for task in board.tasks()] == ["old"]
    assert lines(tmp_path) == 1


def test_batch_that_waits_in_a_circle_posts_none(board: TaskBoard) -> None:
    with pytest.raises(BoardRefusal, match="wait for itself: 2 → 1 → 2"):
        board.add_all([TaskDraft(subject="a"), TaskDraft(subject="b")], by="p", after=[[1], [0]])

    assert board.tasks() == []


def test_edit_changes_what_is_given_and_where_the_task_stands_in_line(board: TaskBoard) -> None:
    first, second = post(board, "first"), post(board, "second")

    board.edit(second, lambda draft: replace(draft, priority=0), by="p")

    claimed = board.claim(worker="w", role="", lease=LEASE)
    assert claimed is not None
    assert (first, claimed.task_id, claimed.draft.subject) == (1, second, "second")


def test_edit_that_closes_a_circle_is_refused_with_the_path(board: TaskBoard) -> None:
    first = post(board, "first")
    second = post(board, "second", first)

    with pytest.raises(BoardRefusal, match=f"{first} → {second} → {first}"):
        board.edit(first, lambda draft: replace(draft, after=(second,)), by="p")


def test_edit_of_a_task_somebody_is_at_is_refused(board: TaskBoard) -> None:
    task_id = post(board, "first")
    board.claim(worker="w1", role="", lease=LEASE)

    with pytest.raises(BoardRefusal, match="w1 is at it"):
        board.edit(task_id, lambda draft: replace(draft, subject="other"), by="p")


def test_replacement_takes_over_what_waited_for_the_old_task(board: TaskBoard) -> None:
    old = post(board, "old")
    waiting = post(board, "waiting", old)
    board.fail(old, reason="hopeless", by="lead")

    new = board.replace(old, TaskDraft(subject="new"), by="p").task_id

    assert board.task(waiting).status is TaskStatus.PENDING
    assert board.task(waiting).draft.after == (new,)
    assert board.task(old).status is TaskStatus.FAILED


def test_replacement_of_an_open_task_cancels_it(board: TaskBoard) -> None:
    old = post(board, "old")

    new = board.replace(old, TaskDraft(subject="new"), by="p").task_id

    assert board.task(old).status is TaskStatus.CANCELLED
    assert board.task(old).reason == f"replaced by task {new}"


def test_replacement_of_a_finished_task_leaves_it_finished(board: TaskBoard) -> None:
    old = post(board, "old")
    task = board.claim(worker="w", role="", lease=LEASE)
    assert task is not None
    board.submit(current_claim(task), entry=1)
    board.complete_landed(old, receipt=RECEIPT, landed_as="c" * 40)

    board.replace(old, TaskDraft(subject="new"), by="p")

    assert board.task(old).status is TaskStatus.COMPLETED
