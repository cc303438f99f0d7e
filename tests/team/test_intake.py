"""Work that waits for a review is approved and queued at once, or not at all; on real git."""

from pathlib import Path

import pytest

from modules.git.refs import ENTRIES, read_refs
from modules.records.errors import ModelFault
from modules.records.merges import EntryStatus
from modules.team.intake import QueueRefusal
from tests.team.queue_case import make_case


def test_approve_when_work_waits_then_it_is_queued_once(tmp_path: Path) -> None:
    case = make_case(tmp_path)
    work = case.work(1, {"one.txt": "1\n"})
    case.queue.reviews.ask(work, of="person")
    late = case.new_queue()

    entry = case.queue.approve(work, by="person")

    assert entry.status is EntryStatus.QUEUED
    assert case.queue.reviews.is_approved(1, work.commit, of="person")
    with pytest.raises(QueueRefusal, match=r"^Task 1 was answered by person meanwhile\.$"):
        late.approve(work, by="person")
    assert [one.status for one in case.new_queue().entries()] == [EntryStatus.QUEUED]


def test_approve_when_another_shell_sent_the_work_back_then_nothing_is_queued(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path)
    work = case.work(1, {"one.txt": "1\n"})
    case.queue.reviews.ask(work, of="person")
    other = case.new_queue()
    other.reviews.settle(work, accepts=False, words="smaller", by="lead")

    with pytest.raises(QueueRefusal, match=r"^Task 1 was answered by lead meanwhile\.$"):
        case.queue.approve(work, by="person")

    assert case.new_queue().entries() == []
    assert read_refs(case.repository.git, ENTRIES) == {}
    given = case.queue.reviews.answered(1, work.commit)
    assert given is not None
    assert not given.accepts


def test_approve_when_the_work_may_not_be_queued_then_it_waits_on(tmp_path: Path) -> None:
    case = make_case(tmp_path, check="test ! -e broken")
    work = case.work(1, {"broken": ""})
    case.queue.submit(work)
    assert case.drain() == ["failed"]
    case.queue.reviews.ask(work, of="person")

    with pytest.raises(ModelFault, match="refused before"):
        case.queue.approve(work, by="person")

    assert case.queue.reviews.waiting(1) is not None
    assert case.queue.reviews.answered(1, work.commit) is None
