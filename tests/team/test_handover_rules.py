"""Which work of earlier attempts is gone on with."""

import pytest

from modules.records.merges import Entry, EntryStatus, Submission
from modules.team.handover_rules import came_back, kept_of, unreviewed
from tests.repos import NOW


def entry(number: int, status: EntryStatus, *, task: int = 1, attempt: int = 1) -> Entry:
    return Entry(
        entry_id=number,
        submission=Submission(
            task=task,
            subject="s",
            attempt=attempt,
            generation=1,
            worker="w1",
            branch="b",
            commit=f"c{number}",
            base="c0",
            summary="",
            files=(),
        ),
        status=status,
        submitted_at=NOW,
        changed_at=NOW,
    )


@pytest.mark.parametrize("status", [EntryStatus.CONFLICTED, EntryStatus.FAILED])
def test_came_back_when_the_last_hand_in_did_then_it_is_that(status: EntryStatus) -> None:
    entries = [
        entry(1, EntryStatus.FAILED),
        entry(2, status),
        entry(3, EntryStatus.FAILED, task=2),
    ]

    assert came_back(entries, task=1, attempt=2) == entries[1]
    assert came_back(entries, task=1, attempt=3) == entries[1]


@pytest.mark.parametrize(
    "status",
    [EntryStatus.REJECTED, EntryStatus.NO_CHANGES, EntryStatus.MERGED, EntryStatus.QUEUED],
)
def test_came_back_when_the_last_hand_in_ended_otherwise_then_it_is_none(
    status: EntryStatus,
) -> None:
    entries = [entry(1, EntryStatus.FAILED), entry(2, status)]

    assert came_back(entries, task=1, attempt=2) is None


def test_came_back_when_only_this_attempt_handed_in_then_it_is_none() -> None:
    assert came_back([entry(1, EntryStatus.FAILED, attempt=2)], task=1, attempt=2) is None


def test_unreviewed_when_it_was_handed_in_last_then_it_is_that() -> None:
    before, asked = entry(1, EntryStatus.FAILED), entry(2, EntryStatus.QUEUED).submission

    assert unreviewed(asked, [before], task=1, attempt=2) == asked
    assert unreviewed(asked, [], task=1, attempt=3) == asked


def test_unreviewed_when_it_is_anothers_or_older_than_the_last_hand_in_then_it_is_none() -> None:
    asked, later = (
        entry(1, EntryStatus.QUEUED).submission,
        entry(2, EntryStatus.FAILED, attempt=2),
    )

    assert unreviewed(None, [], task=1, attempt=2) is None
    assert unreviewed(asked, [], task=1, attempt=1) is None
    assert unreviewed(asked, [], task=2, attempt=2) is None
    assert unreviewed(asked, [later], task=1, attempt=3) is None


def test_kept_of_a_task_are_the_refs_of_its_earlier_attempts_newest_first() -> None:
    stem = "refs/crewyard/salvage/"
    refs = [
        f"{stem}t1-1-write/20260101T000000Z",
        f"{stem}t1-10/20260101T000000Z",
        f"{stem}t1-2-write/20260102T000000Z",
        f"{stem}t1-2-write/20260102T000000Z-2",
        f"{stem}t1-3-write/20260103T000000Z",
        f"{stem}t11-1-write/20260101T000000Z",
        f"{stem}mine/20260101T000000Z",
    ]

    assert kept_of(refs, task=1, attempt=3) == [refs[3], refs[2], refs[0]]
