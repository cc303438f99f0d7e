"""An approval is of one commit, by whom the settings ask, after that commit was looked at."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.app.hand_in import NobodyToReview
from modules.app.reviews import Reviews
from modules.app.wait_notes import WaitNotes
from modules.records.errors import ModelFault
from modules.records.merges import Submission
from modules.records.settings import Review, Settings
from modules.records.tasks import Task, TaskDraft, TaskStatus
from modules.store.paths import Paths
from modules.team.queue_log import QueueLog
from modules.team.queue_view import review_line
from modules.team.review_ledger import ReviewLedger
from tests.fakes.clock import FakeClock
from tests.repos import NOW

WORK = Submission(
    task=1,
    subject="one",
    attempt=1,
    generation=1,
    worker="w1",
    branch="wt/t1-1",
    commit="1" * 40,
    base="0" * 40,
    summary="",
    files=("a.py",),
)
MOVED = replace(WORK, commit="2" * 40)


def ledger(folder: Path) -> ReviewLedger:
    """Opens the reviews as another shell does."""
    return ReviewLedger(QueueLog(Paths(folder), clock=lambda: NOW, on_change=lambda entry: None))


class Desk:
    """Reviews, with what the lead and the person were asked."""

    def __init__(
        self,
        folder: Path,
        review: Review,
        *,
        has_lead: bool = True,
        has_person: bool = False,
        seconds: float = 60,
    ) -> None:
        self.asked: list[str] = []
        self.log = QueueLog(Paths(folder), clock=lambda: NOW, on_change=lambda entry: None)
        ask: Callable[[Submission], Awaitable[str]] = self._ask_person
        self.is_silent = False
        self.reviews = Reviews(
            Settings(review=review, ask_timeout_seconds=seconds),
            WaitNotes(FakeClock()),
            has_lead=lambda: has_lead,
            write_lead=lambda who, words, how: self.asked.append(f"lead: {words}"),
            ask_person=ask if has_person else None,
            ledger=ReviewLedger(self.log),
        )

    async def hand_in(self, work: Submission) -> "asyncio.Task[str]":
        waiting = asyncio.create_task(self.reviews.objection(work))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it asks in a task of its own
        return waiting

    async def _ask_person(self, work: Submission) -> str:
        self.asked.append("person")
        if self.is_silent:
            await asyncio.Event().wait()
        return "no"


def test_none_asks_nobody(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "none")

    assert not desk.reviews.is_needed(WORK)
    assert asyncio.run(desk.reviews.objection(WORK)) == ""
    assert desk.asked == []


def test_lead_approves_one_commit_and_another_is_reviewed_anew(tmp_path: Path) -> None:
    async def run() -> None:
        desk = Desk(tmp_path, "lead")
        waiting = await desk.hand_in(WORK)
        with pytest.raises(ModelFault, match="not seen 111111111111"):
            desk.reviews.answer(1, accepts=True, words="")
        assert desk.reviews.show(1) == WORK
        desk.reviews.answer(1, accepts=True, words="")
        assert await waiting == ""
        assert not desk.reviews.is_needed(WORK)
        assert desk.reviews.is_needed(MOVED)

        moved = await desk.hand_in(MOVED)
        with pytest.raises(ModelFault, match="not seen 222222222222"):
            desk.reviews.answer(1, accepts=True, words="")
        desk.reviews.answer(1, accepts=False, words="smaller")
        assert "smaller" in await moved
        assert len(desk.asked) == 2
        with pytest.raises(ModelFault, match="No work of task 1 waits"):
            desk.reviews.answer(1, accepts=True, words="")

    asyncio.run(run())


@pytest.mark.parametrize("review", ["lead", "person"])
def test_next_attempt_is_reviewed_while_the_one_before_still_waits(
    tmp_path: Path, review: Review
) -> None:
    async def run() -> None:
        desk = Desk(tmp_path, review, has_person=True)
        desk.is_silent = True
        old = await desk.hand_in(WORK)
        new = await desk.hand_in(replace(MOVED, attempt=2, generation=2, worker="w2"))
        old.cancel()
        await asyncio.wait({old})

        ledger(tmp_path).settle(MOVED, accepts=True, words="", by="person")
        desk.log.catch_up()
        desk.reviews.look()

        assert old.cancelled()
        assert await new == ""
        assert not desk.reviews.is_pending(1)

    asyncio.run(run())


def test_lead_that_does_not_answer_lets_nothing_pass(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "lead", seconds=0.01)

    assert "did not look at it in time" in asyncio.run(desk.reviews.objection(WORK))
    assert desk.reviews.is_needed(WORK)


@pytest.mark.parametrize(("review", "has_lead"), [("person", True), ("lead", False)])
def test_person_is_asked_where_they_must_or_no_lead_is_there(
    tmp_path: Path, review: Review, has_lead: bool
) -> None:
    desk = Desk(tmp_path, review, has_lead=has_lead, has_person=True)

    assert asyncio.run(desk.reviews.objection(WORK)) == "no"
    assert desk.asked == ["person"]
    assert desk.reviews.is_needed(WORK)


@pytest.mark.parametrize(("review", "has_lead"), [("person", True), ("lead", False)])
def test_nobody_there_to_review_is_no_approval(
    tmp_path: Path, review: Review, has_lead: bool
) -> None:
    desk = Desk(tmp_path, review, has_lead=has_lead)

    with pytest.raises(NobodyToReview, match="nobody is there"):
        asyncio.run(desk.reviews.objection(WORK))


@pytest.mark.parametrize("review", ["lead", "person"])
@pytest.mark.parametrize("accepts", [True, False])
def test_answer_from_another_shell_ends_the_asking(
    tmp_path: Path, review: Review, accepts: bool
) -> None:
    async def run() -> str:
        desk = Desk(tmp_path, review, has_person=True)
        desk.is_silent = True
        waiting = await desk.hand_in(WORK)
        ledger(tmp_path).settle(WORK, accepts=accepts, words="smaller", by="person")
        desk.log.catch_up()
        desk.reviews.look()
        said = await waiting
        assert not desk.reviews.is_pending(1)
        assert desk.reviews.is_needed(WORK) is not accepts
        return said

    assert asyncio.run(run()) == ("" if accepts else "smaller")


def test_approval_holds_for_the_next_lead_and_for_that_commit_alone(tmp_path: Path) -> None:
    async def run() -> None:
        desk = Desk(tmp_path, "lead")
        waiting = await desk.hand_in(WORK)
        desk.reviews.show(1)
        desk.reviews.answer(1, accepts=True, words="")
        await waiting

    asyncio.run(run())
    next_lead = Desk(tmp_path, "lead")

    assert not next_lead.reviews.is_needed(WORK)
    assert next_lead.reviews.is_needed(MOVED)
    assert Desk(tmp_path, "person").reviews.is_needed(WORK)


def test_answer_to_work_that_moved_on_does_not_count(tmp_path: Path) -> None:
    reviews = ledger(tmp_path)
    reviews.ask(WORK, of="person")
    reviews.ask(MOVED, of="person")

    assert reviews.settle(WORK, accepts=True, words="", by="person") is None
    assert not reviews.is_approved(1, WORK.commit, of="lead")
    assert not reviews.is_approved(1, MOVED.commit, of="lead")


def test_first_of_two_answers_counts(tmp_path: Path) -> None:
    reviews = ledger(tmp_path)
    reviews.ask(WORK, of="person")
    reviews.settle(WORK, accepts=False, words="no", by="lead")

    given = reviews.settle(WORK, accepts=True, words="", by="person")

    assert given is not None
    assert (given.accepts, given.by) == (False, "lead")


def test_open_reviews_are_those_whose_attempt_is_the_tasks_last(tmp_path: Path) -> None:
    task = Task(
        task_id=1,
        draft=TaskDraft(subject="one"),
        status=TaskStatus.PARKED,
        attempt=1,
        generation=1,
        added_at=NOW,
        changed_at=NOW,
        added_by="person",
    )
    reviews = ledger(tmp_path)
    reviews.ask(WORK, of="person")
    reviews.ask(replace(WORK, task=7), of="person")

    (asked,) = reviews.open([task])

    assert asked.submission == WORK
    assert reviews.open([replace(task, attempt=2, generation=2)]) == []
    assert reviews.open([replace(task, status=TaskStatus.CANCELLED)]) == []
    assert review_line(asked).startswith(
        "task 1 one waits for your review: wt/t1-1 111111111111, 1 file; "
    )
