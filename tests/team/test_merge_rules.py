"""Tests of modules/team/merge_rules.py."""

from datetime import timedelta

import pytest

from modules.git.changes import Side
from modules.records.merges import Entry, EntryStatus, Submission
from modules.team.merge_rules import Position, in_turn, position, refused_before, strays
from tests.repos import NOW


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


@pytest.mark.parametrize(
    ("entries", "first", "order"),
    [
        ([entry(1), entry(2, priority=0)], [], [2, 1]),
        ([entry(2), entry(1, minutes=1)], [], [2, 1]),
        ([entry(2), entry(1)], [], [1, 2]),
        ([entry(1, minutes=-100, priority=4), entry(2, priority=2)], [], [1, 2]),
        ([entry(1), entry(2), entry(3, priority=0)], [2, 9], [2, 3, 1]),
        ([entry(1), entry(2)], [2, 1], [2, 1]),
        ([], [1], []),
    ],
)
def test_in_turn_then_known_ones_lead_and_urgency_age_and_id_decide_the_rest(
    entries: list[Entry], first: list[int], order: list[int]
) -> None:
    assert [e.entry_id for e in in_turn(entries, first=first, now=NOW)] == order


def test_refused_before_then_only_the_same_commit_of_the_task_counts() -> None:
    entries = [entry(1, status="failed"), entry(2, status="rejected"), entry(3)]

    assert refused_before(entries, task=1, commit="c1") == entries[0]
    assert refused_before(entries, task=2, commit="c1") is None
    assert refused_before(entries, task=1, commit="c2") is None
    assert refused_before(entries, task=1, commit="c3") is None


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
