"""An approval is of one commit, by whom the settings ask, after that commit was looked at."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from modules.app.hand_in import NobodyToReview
from modules.app.reviews import Reviews
from modules.app.wait_notes import WaitNotes
from modules.records.errors import ModelFault
from modules.records.merges import Submission
from modules.records.settings import Review, Settings
from tests.fakes.clock import FakeClock

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


class Desk:
    """Reviews, with what the lead and the person were asked."""

    def __init__(
        self,
        review: Review,
        *,
        has_lead: bool = True,
        has_person: bool = False,
        seconds: float = 60,
    ) -> None:
        self.asked: list[str] = []
        ask: Callable[[Submission], Awaitable[str]] = self._ask_person
        self.reviews = Reviews(
            Settings(review=review, ask_timeout_seconds=seconds),
            WaitNotes(FakeClock()),
            has_lead=lambda: has_lead,
            write_lead=lambda who, words, how: self.asked.append(f"lead: {words}"),
            ask_person=ask if has_person else None,
        )

    async def hand_in(self, work: Submission) -> "asyncio.Task[str]":
        waiting = asyncio.create_task(self.reviews.objection(work))
        await asyncio.sleep(0)
        return waiting

    async def _ask_person(self, work: Submission) -> str:
        self.asked.append("person")
        return "no"


def test_none_asks_nobody() -> None:
    desk = Desk("none")

    assert not desk.reviews.is_needed(WORK)
    assert asyncio.run(desk.reviews.objection(WORK)) == ""
    assert desk.asked == []


def test_lead_approves_one_commit_and_another_is_reviewed_anew() -> None:
    async def run() -> None:
        desk = Desk("lead")
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


def test_lead_that_does_not_answer_lets_nothing_pass() -> None:
    desk = Desk("lead", seconds=0.01)

    assert "did not look at it in time" in asyncio.run(desk.reviews.objection(WORK))
    assert desk.reviews.is_needed(WORK)


@pytest.mark.parametrize(("review", "has_lead"), [("person", True), ("lead", False)])
def test_person_is_asked_where_they_must_or_no_lead_is_there(
    review: Review, has_lead: bool
) -> None:
    desk = Desk(review, has_lead=has_lead, has_person=True)

    assert asyncio.run(desk.reviews.objection(WORK)) == "no"
    assert desk.asked == ["person"]
    assert desk.reviews.is_needed(WORK)


@pytest.mark.parametrize(("review", "has_lead"), [("person", True), ("lead", False)])
def test_nobody_there_to_review_is_no_approval(review: Review, has_lead: bool) -> None:
    desk = Desk(review, has_lead=has_lead)

    with pytest.raises(NobodyToReview, match="nobody is there"):
        asyncio.run(desk.reviews.objection(WORK))
