"""Tests of modules/team/queue_state.py."""

from typing import Any

import pytest
from msgspec.structs import replace

from modules.records.merges import CheckOutcome, Entry, EntryStatus, Receipt, Submission
from modules.records.queue_records import (
    NO_ENTRY,
    AnyQueueRecord,
    CheckBegun,
    EntryReturned,
    EntrySettled,
    EntrySubmitted,
    FlakeSeen,
    Landing,
    LandingAbandoned,
    LandingDone,
    LandingIntended,
)
from modules.team.queue_state import QueueState
from tests.repos import NOW

RECEIPT = Receipt(tree="t1", command="check", outcome=CheckOutcome.PASSED, exit_code=0, seconds=1.0)
TIP_RECEIPT = replace(RECEIPT, tree="t2")
SUBMISSION = Submission(
    task=1,
    subject="s",
    attempt=1,
    generation=1,
    worker="w",
    branch="wt/t1-1",
    commit="c1",
    base="b",
    summary="",
    files=(),
)
SUBMITTED = EntrySubmitted(at=NOW, entry_id=1, target="main", submission=SUBMISSION)
SECOND = EntrySubmitted(
    at=NOW, entry_id=2, target="main", submission=replace(SUBMISSION, task=2, commit="c2")
)
CHECKING = CheckBegun(at=NOW, entry_id=1, tree="t1")
CHECKING_SECOND = CheckBegun(at=NOW, entry_id=2, tree="t2")
FIRST_PART = Landing(entry_id=1, commit="l1", receipt=RECEIPT)
SECOND_PART = Landing(entry_id=2, commit="l2", receipt=TIP_RECEIPT, note="flaky")
INTENDED = LandingIntended(
    at=NOW,
    target="main",
    from_commit="l0",
    to_commit="l1",
    receipt=RECEIPT,
    landings=(FIRST_PART,),
)
BOTH_INTENDED = replace(
    INTENDED, to_commit="l2", receipt=TIP_RECEIPT, landings=(FIRST_PART, SECOND_PART)
)
DONE = LandingDone(at=NOW, entry_id=1, target="main", to_commit="l1")
SECOND_DONE = LandingDone(at=NOW, entry_id=2, target="main", to_commit="l2")
ABANDONED = LandingAbandoned(at=NOW, target="main", to_commit="l1", reason="moved")
BOTH = (SUBMITTED, SECOND, CHECKING, CHECKING_SECOND, BOTH_INTENDED)


def settled(status: EntryStatus, **facts: Any) -> EntrySettled:
    return EntrySettled(at=NOW, entry_id=1, status=status, reason="why", **facts)


def fold(*records: AnyQueueRecord) -> QueueState:
    state = QueueState()
    for record in records:
        state.apply(record)
    return state


def test_fold_of_a_landing_then_the_entry_is_merged_with_its_receipt() -> None:
    state = fold(SUBMITTED, CHECKING, INTENDED, DONE)

    assert state.entries[1] == Entry(
        entry_id=1,
        submission=SUBMISSION,
        status=EntryStatus.MERGED,
        submitted_at=NOW,
        changed_at=NOW,
        receipt=RECEIPT,
        landed_as="l1",
    )
    assert state.landing is None


@pytest.mark.parametrize(
    ("records", "status"),
    [
        ((SUBMITTED, DONE), EntryStatus.QUEUED),
        ((SUBMITTED, settled(EntryStatus.MERGED)), EntryStatus.QUEUED),
        ((SUBMITTED, INTENDED, DONE), EntryStatus.QUEUED),
        ((SUBMITTED, CHECKING, INTENDED, settled(EntryStatus.REJECTED)), EntryStatus.CHECKING),
        (
            (SUBMITTED, CHECKING, INTENDED, settled(EntryStatus.REJECTED), DONE),
            EntryStatus.MERGED,
        ),
        (
            (SUBMITTED, CHECKING, INTENDED, DONE, settled(EntryStatus.FAILED)),
            EntryStatus.MERGED,
        ),
        (
            (
                SUBMITTED,
                CHECKING,
                INTENDED,
                DONE,
                EntryReturned(at=NOW, entry_id=1, reason="again"),
            ),
            EntryStatus.MERGED,
        ),
        ((SUBMITTED, settled(EntryStatus.NO_CHANGES), CHECKING), EntryStatus.NO_CHANGES),
        ((SUBMITTED, settled(EntryStatus.REJECTED), CHECKING), EntryStatus.REJECTED),
        (
            (
                SUBMITTED,
                CHECKING,
                INTENDED,
                ABANDONED,
            ),
            EntryStatus.QUEUED,
        ),
        ((SUBMITTED, CHECKING, SUBMITTED), EntryStatus.CHECKING),
    ],
)
def test_fold_of_illegal_moves_then_they_change_nothing(
    records: tuple[AnyQueueRecord, ...], status: EntryStatus
) -> None:
    assert fold(*records).entries[1].status is status


def test_fold_of_records_about_unknown_entries_then_nothing_is_there() -> None:
    state = fold(CHECKING, settled(EntryStatus.FAILED), DONE)

    assert state.entries == {}
    assert state.next_id == 1


def test_fold_of_a_landing_of_two_then_each_is_merged_as_its_own_commit_with_its_proof() -> None:
    half, whole = fold(*BOTH, DONE), fold(*BOTH, DONE, SECOND_DONE)

    assert [e.status for e in half.entries.values()] == [EntryStatus.MERGED, EntryStatus.CHECKING]
    assert half.is_landing(2)
    assert half.landing == replace(BOTH_INTENDED, landings=(SECOND_PART,))
    assert [(e.status, e.landed_as, e.receipt, e.reason) for e in whole.entries.values()] == [
        (EntryStatus.MERGED, "l1", RECEIPT, ""),
        (EntryStatus.MERGED, "l2", TIP_RECEIPT, "flaky"),
    ]
    assert whole.landing is None


def test_fold_of_an_abandoned_landing_then_all_its_entries_wait_again() -> None:
    state = fold(*BOTH, replace(ABANDONED, to_commit="l2"))

    assert [(e.status, e.reason) for e in state.entries.values()] == [
        (EntryStatus.QUEUED, "moved"),
        (EntryStatus.QUEUED, "moved"),
    ]
    assert state.landing is None


def test_fold_of_a_landing_without_entries_then_it_is_over_when_done() -> None:
    joined = replace(INTENDED, landings=())
    done = replace(DONE, entry_id=NO_ENTRY)

    assert fold(joined).landing == joined
    assert fold(joined, done).landing is None
    assert fold(joined, replace(done, to_commit="other")).landing == joined


def test_fold_of_flakes_then_each_test_is_counted() -> None:
    seen = FlakeSeen(at=NOW, tree="t", command="pytest", log="", tests=("a", "b"))

    state = fold(seen, replace(seen, tests=("a",)), replace(seen, tests=()))

    assert state.flakes == {"a": 2, "b": 1, "pytest": 1}
