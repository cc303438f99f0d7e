"""Tests of modules/team/pins.py."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from modules.git.refs import CONFLICTS, ENTRIES
from modules.records.merges import Entry, EntryStatus
from modules.team.pins import expired
from tests.repos import NOW
from tests.team.queue_case import make_case
from tests.team.test_queue_state import SUBMISSION

REFS = {f"{ENTRIES}1": "a", f"{CONFLICTS}1": "b", f"{ENTRIES}9": "c"}
OLD = NOW - timedelta(days=31)


@pytest.mark.parametrize(
    ("status", "changed_at", "names"),
    [
        (EntryStatus.MERGED, OLD, [f"{CONFLICTS}1", f"{ENTRIES}1"]),
        (EntryStatus.NO_CHANGES, OLD, [f"{CONFLICTS}1", f"{ENTRIES}1"]),
        (EntryStatus.MERGED, NOW, []),
        (EntryStatus.CONFLICTED, OLD, [f"{CONFLICTS}1"]),
        (EntryStatus.FAILED, OLD, [f"{CONFLICTS}1"]),
        (EntryStatus.QUEUED, OLD, []),
    ],
)
def test_expired_then_only_what_is_in_history_or_can_be_made_again(
    status: EntryStatus, changed_at: datetime, names: list[str]
) -> None:
    entry = Entry(
        entry_id=1, submission=SUBMISSION, status=status, submitted_at=OLD, changed_at=changed_at
    )

    assert list(expired([entry], REFS, now=NOW)) == names


def test_recover_when_landings_are_long_ago_then_their_pins_go_and_other_work_stays(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path)
    case.submit(1, {"x.txt": "x\n"})
    case.submit(2, {"broken": "x\n"})
    case.drain()
    case.restart()
    early = case.repo.git("for-each-ref", "--format=%(refname)", ENTRIES).split("\n")
    case.clock.now += timedelta(days=31)

    case.restart()

    assert early == [f"{ENTRIES}1", f"{ENTRIES}2"]
    assert case.repo.git("for-each-ref", "--format=%(refname)", ENTRIES) == f"{ENTRIES}2"
