"""Tests of modules/team/merge_rules.py."""

from datetime import timedelta
from typing import Any

import pytest

from modules.records.merges import CheckOutcome, Entry, EntryStatus, Receipt, Submission
from modules.records.queue_records import (
    AnyQueueRecord,
    CheckBegun,
    EntryReturned,
    EntrySettled,
    EntrySubmitted,
    LandingAbandoned,
    LandingDone,
    LandingIntended,
)
from modules.team.merge_rules import (
    Position,
    QueueState,
    Side,
    Verdict,
    next_entry,
    position,
    refused_before,
    strays,
    verdict,
)
from tests.repos import NOW

RECEIPT = Receipt(tree="t1", command="check", outcome=CheckOutcome.PASSED, exit_code=0, seconds=1.0)
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
CHECKING = CheckBegun(at=NOW, entry_id=1, tree="t1")
INTENDED = LandingIntended(
    at=NOW, entry_id=1, target="main", from_commit="l0", to_commit="l1", receipt=RECEIPT
)
DONE = LandingDone(at=NOW, entry_id=1, target="main", to_commit="l1")


def settled(status: EntryStatus, **facts: Any) -> EntrySettled:
    return EntrySettled(at=NOW, entry_id=1, status=status, reason="why", **facts)


def fold(*records: AnyQueueRecord) -> QueueState:
    state = QueueState()
    for record in records:
        state.apply(record)
    return state


def entry(
    entry_id: int, *, minutes: int = 0, priority: int = 2, status: str = "queued", task: int = 1
) -> Entry:
    at = NOW + timedelta(minutes=minutes)
    return Entry(
        entry_id=entry_id,
        submission=Submission(
            task=task,
            subject="s",
            attempt=1,
            generation=1,
            worker="w",
            branch="b",
            commit=f"c{entry_id}",
            base="b",
            summary="",
            files=(),
            priority=priority,
        ),
        status=EntryStatus(status),
        submitted_at=at,
        changed_at=at,
    )


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
                LandingAbandoned(at=NOW, entry_id=1, target="main", to_commit="l1", reason="moved"),
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


@pytest.mark.parametrize(
    ("entries", "first"),
    [
        ([entry(1), entry(2, priority=0)], 2),
        ([entry(2), entry(1, minutes=1)], 2),
        ([entry(2), entry(1)], 1),
        ([entry(1, status="checking"), entry(2)], 2),
        ([entry(1, minutes=-100, priority=4), entry(2, priority=2)], 1),
        ([], None),
    ],
)
def test_next_entry_then_urgency_age_and_id_decide(entries: list[Entry], first: int | None) -> None:
    chosen = next_entry(entries, now=NOW)

    assert (chosen.entry_id if chosen else None) == first


def test_refused_before_then_only_the_same_commit_of_the_task_counts() -> None:
    entries = [entry(1, status="failed"), entry(2, status="rejected"), entry(3)]

    assert refused_before(entries, task=1, commit="c1") == entries[0]
    assert refused_before(entries, task=2, commit="c1") is None
    assert refused_before(entries, task=1, commit="c2") is None
    assert refused_before(entries, task=1, commit="c3") is None


@pytest.mark.parametrize(
    ("outcome", "on_landed", "decided"),
    [
        ("passed", None, Verdict.LAND),
        ("failed", None, Verdict.FAIL),
        ("timed_out", None, Verdict.FAIL),
        ("no_tests", None, Verdict.TRY_LANDED),
        ("could_not_run", None, Verdict.TRY_LANDED),
        ("no_tests", "passed", Verdict.FAIL),
        ("no_tests", "no_tests", Verdict.WAIT),
        ("no_tests", "failed", Verdict.WAIT),
        ("could_not_run", "timed_out", Verdict.WAIT),
    ],
)
def test_verdict_then_only_a_pass_lands(
    outcome: str, on_landed: str | None, decided: Verdict
) -> None:
    landed = CheckOutcome(on_landed) if on_landed else None

    assert verdict(CheckOutcome(outcome), on_landed=landed) is decided


@pytest.mark.parametrize(
    ("target", "landed", "published", "where"),
    [
        ("", "3", "3", Position.GONE),
        ("3", "3", "3", Position.LEVEL),
        ("3", "3", "1", Position.LEVEL),
        ("5", "3", "3", Position.AHEAD),
        ("1", "3", "1", Position.BEHIND),
        ("2", "3", "1", Position.BEHIND),
        ("1", "3", "3", Position.SET_BACK),
        ("1", "3", "2", Position.SET_BACK),
        ("1x", "3", "1", Position.BESIDE),
        ("1x", "3", "3", Position.SET_BACK),
    ],
)
def test_position_of_the_target_branch(
    target: str, landed: str, published: str, where: Position
) -> None:
    """Commits are numbers on one line; `1x` is a commit on top of 1 beside it."""

    def is_ancestor(older: str, newer: str) -> bool:
        return int(older[0]) <= int(newer[0]) and older in (newer, older[0])

    judged = position(target=target, landed=landed, published=published, is_ancestor=is_ancestor)

    assert judged is where


@pytest.mark.parametrize(
    ("landing", "submitted", "landed", "found"),
    [
        (["a"], Side(["a"]), Side([]), []),
        (["a", "z"], Side(["a"]), Side(["z"]), ["z"]),
        (["new"], Side(["old"]), Side(["old", "new"], [("old", "new")]), []),
        (["b/n"], Side(["a/n"]), Side(["a/x", "b/x"], [("a/x", "b/x")]), []),
        (["b/c/n"], Side(["a/c/n"]), Side([], [("a/c/x", "b/c/x")]), []),
        (["src/n"], Side(["n"]), Side([], [("x", "src/x")]), []),
        (["src/d/n"], Side(["d/n"]), Side([], [("x", "src/x")]), ["src/d/n"]),
        (["a/n", "b/n", "a/x", "b/x"], Side(["a/x", "b/x"], [("a/x", "b/x")]), Side(["a/n"]), []),
    ],
)
def test_strays_then_only_what_the_submission_changed_may_land(
    landing: list[str], submitted: Side, landed: Side, found: list[str]
) -> None:
    assert strays(landing=landing, submitted=submitted, landed=landed) == found
