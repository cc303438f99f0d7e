"""The chain of causes is read from the journals, of the task and of what holds it up."""

from datetime import timedelta
from pathlib import Path

import pytest

from modules.app.why import Cause, causes_of, words_of
from modules.records.merges import CheckOutcome, Receipt, Submission
from modules.records.queue_records import (
    AnyQueueRecord,
    EntryReturned,
    EntrySubmitted,
    Landing,
    LandingDone,
    LandingIntended,
)
from modules.records.tasks import TaskDraft
from modules.store.journal import Journal
from modules.store.paths import Paths
from modules.team.board_rules import current_claim
from modules.team.task_board import TaskBoard
from tests.repos import NOW

RECEIPT = Receipt(
    tree="7" * 40, command="make test", outcome=CheckOutcome.PASSED, exit_code=0, seconds=3.14
)
WORK = Submission(
    task=1,
    subject="s",
    attempt=1,
    generation=1,
    worker="w",
    branch="wt/t1-1",
    commit="c" * 40,
    base="b",
    summary="",
    files=("a.py",),
)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path)


@pytest.fixture
def board(paths: Paths) -> TaskBoard:
    return TaskBoard(paths, clock=lambda: NOW)


def chain(paths: Paths, board: TaskBoard, task_id: int) -> list[str]:
    """Returns the chain of a task, in the words and the order it is shown in."""
    tasks = {task.task_id: task for task in board.tasks()}
    return [f"{cause.task}: {words_of(cause)}" for cause in causes_of(paths, tasks, task_id)]


def test_chain_of_a_task_that_waits_holds_what_happened_to_those_it_waits_for(
    paths: Paths, board: TaskBoard
) -> None:
    for subject, after in (("one", ()), ("two", (1,)), ("three", (2,)), ("other", ())):
        board.add(TaskDraft(subject=subject, after=after), by="person")
    board.cancel(1, reason="not wanted", by="person")

    assert chain(paths, board, 3) == [
        "1: posted: one",
        "1: cancelled: not wanted",
        "2: posted: two, after 1",
        "3: posted: three, after 2",
    ]
    assert chain(paths, board, 1) == ["1: posted: one", "1: cancelled: not wanted"]


def test_chain_of_a_task_that_waits_leaves_out_what_is_completed(
    paths: Paths, board: TaskBoard
) -> None:
    board.add(TaskDraft(subject="one"), by="person")
    board.add(TaskDraft(subject="two", after=(1,)), by="person")
    claim = board.claim(worker="w", role="", lease=timedelta(seconds=60))
    assert claim is not None
    board.complete_unchanged(current_claim(claim), reason="It was so already.")

    assert chain(paths, board, 2) == ["2: posted: two, after 1"]


def test_chain_holds_each_turn_in_the_queue_and_the_proof_of_the_landing(
    paths: Paths, board: TaskBoard
) -> None:
    board.add(TaskDraft(subject="one"), by="person")
    later = [NOW + timedelta(seconds=seconds) for seconds in range(1, 5)]
    records: list[AnyQueueRecord] = [
        EntrySubmitted(at=later[0], entry_id=1, target="main", submission=WORK),
        EntryReturned(at=later[1], entry_id=1, reason="The target was red."),
        LandingIntended(
            at=later[2],
            target="main",
            from_commit="l0",
            to_commit="d" * 40,
            receipt=RECEIPT,
            landings=(Landing(entry_id=1, commit="d" * 40, receipt=RECEIPT),),
        ),
        LandingDone(at=later[3], entry_id=1, target="main", to_commit="d" * 40),
    ]
    Journal[AnyQueueRecord](paths.queue, AnyQueueRecord, apply=lambda record: None).append(
        lambda: records
    )

    assert chain(paths, board, 1) == [
        "1: posted: one",
        "1: entry 1 pins cccccccccccc (1 file)",
        "1: entry 1 waits again: The target was red.",
        "1: entry 1 landed as dddddddddddd: `make test` passed in 3.1 s on 777777777777",
    ]


def test_words_of_a_cause_say_nothing_twice() -> None:
    cause = Cause(at=NOW, task=1, by="person", what="cancelled", why="cancelled by the person")

    assert words_of(cause) == "cancelled by the person"
