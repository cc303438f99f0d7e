"""Work that came back, put on top of what has landed for the next attempt; on real git."""

from pathlib import Path

import pytest

from modules.git.lane_state import Lane
from modules.git.lanes import CloseAction, close_lane, make_lane
from modules.records.merges import EntryStatus
from modules.team.handover import Handover, find_handover
from tests.repos import NOW
from tests.team.queue_case import QueueCase, make_case

pytestmark = pytest.mark.slow


@pytest.fixture
def case(tmp_path: Path) -> QueueCase:
    return make_case(tmp_path)


def close(case: QueueCase, lane: Lane) -> str:
    closed = close_lane(
        case.repository,
        lane,
        action=CloseAction.SALVAGE,
        is_landed=case.queue.has_landed,
        now=NOW,
    )
    assert not closed.kept
    return closed.salvage_ref


def hand_over(case: QueueCase, *, attempt: int = 2) -> Handover | None:
    asked = case.queue.reviews.waiting(1)
    return find_handover(
        case.repository,
        case.queue.entries(),
        asked=asked.submission if asked else None,
        task=1,
        attempt=attempt,
        landed=case.queue.landed,
        now=NOW,
    )


def test_work_whose_check_failed_is_put_on_top_of_what_landed_since(case: QueueCase) -> None:
    lane = case.lane(1)
    case.work(1, {"mine.txt": "m\n"}, lane=lane)
    case.queue.submit(case.work(1, {"broken": ""}, lane=lane))
    assert case.drain() == ["failed"]
    case.submit(2, {"theirs.txt": "t\n"})
    assert case.drain() == ["merged"]
    tip = case.repo.rev(lane.branch)
    kept = close(case, lane)

    found = hand_over(case)

    assert found is not None
    assert (found.commit, found.kept_in, found.has_uncommitted) == (tip, kept, False)
    again = make_lane(case.repository, name="t1-2", base=case.queue.landed, start=found.start)
    assert (again.path / "mine.txt").read_text() == "m\n"
    assert (again.path / "theirs.txt").read_text() == "t\n"
    log = case.repo.git("log", "--format=%s", f"{again.base}..HEAD", at=again.path)
    assert log.splitlines() == 2 * ["work of task 1"]
    assert case.repo.git("status", "--porcelain", at=again.path) == ""
    (again.path / "broken").unlink()
    entry = case.queue.submit(case.work(1, {"more.txt": "x\n"}, lane=again))
    assert entry.status is EntryStatus.QUEUED
    assert case.drain() == ["merged"]
    assert case.repo.rev(kept)


def test_work_whose_worker_died_before_its_review_goes_to_the_next_attempt(case: QueueCase) -> None:
    lane = case.lane(1)
    work = case.work(1, {"mine.txt": "m\n"}, lane=lane)
    case.queue.reviews.ask(work, of="person")
    kept = close(case, lane)

    found = hand_over(case)

    assert found == Handover(work, None, work.commit, work.commit, kept, has_uncommitted=False)


def test_work_is_as_it_was_where_nothing_landed_since(case: QueueCase) -> None:
    lane = case.lane(1)
    case.queue.submit(case.work(1, {"broken": ""}, lane=lane))
    case.drain()
    tip = case.repo.rev(lane.branch)
    close(case, lane)

    found = hand_over(case)

    assert found is not None
    assert found.start == found.commit == tip


def test_work_that_conflicts_is_named_with_all_that_was_left(case: QueueCase) -> None:
    lane = case.lane(1)
    case.submit(2, {"a.txt": "theirs\n"})
    case.drain()
    case.queue.submit(case.work(1, {"a.txt": "mine\n"}, lane=lane))
    assert case.drain() == ["conflicted"]
    (lane.path / "draft.txt").write_text("half\n")
    tip = case.repo.rev(lane.branch)
    kept = close(case, lane)

    found = hand_over(case)

    assert found is not None
    assert (found.commit, found.start, found.kept_in) == (tip, "", kept)
    assert found.has_uncommitted
    assert case.repo.git("diff", "--name-only", tip, kept).split() == ["draft.txt"]
    assert found.entry is not None
    assert [c.path for c in found.entry.conflicts] == ["a.txt"]


def test_conflict_that_was_solved_and_not_handed_in_is_kept_solved(case: QueueCase) -> None:
    lane = case.lane(1)
    case.submit(2, {"a.txt": "theirs\n"})
    case.drain()
    case.queue.submit(case.work(1, {"a.txt": "mine\n"}, lane=lane))
    case.drain()
    case.repo.git("merge", "-q", "-s", "ours", "--no-edit", case.queue.landed, at=lane.path)
    solved = case.repo.rev(lane.branch)
    close(case, lane)

    found = hand_over(case)

    assert found is not None
    assert found.start == found.commit == solved


def test_lane_that_is_not_closed_yet_hands_over_what_was_handed_in(case: QueueCase) -> None:
    """A worker that was silent for too long may still be at its end when the next begins."""
    work = case.work(1, {"broken": ""})
    case.queue.submit(work)
    case.drain()

    found = hand_over(case)

    assert found is not None
    assert (found.commit, found.kept_in) == (work.commit, "")


def test_work_that_nobody_handed_in_is_not_gone_on_with(case: QueueCase) -> None:
    lane = case.lane(1)
    case.work(1, {"draft.txt": "x\n"}, lane=lane)
    assert close(case, lane)

    assert hand_over(case) is None


def test_lane_of_the_attempt_between_is_what_is_gone_on_with(case: QueueCase) -> None:
    lane = case.lane(1)
    case.queue.submit(case.work(1, {"broken": ""}, lane=lane))
    case.drain()
    close(case, lane)
    first = hand_over(case)
    assert first is not None
    second = make_lane(case.repository, name="t1-2", base=case.queue.landed, start=first.start)
    case.work(1, {"more.txt": "x\n"}, lane=second)
    tip = case.repo.rev(second.branch)
    kept = close(case, second)

    third = hand_over(case, attempt=3)

    assert third is not None
    assert (third.commit, third.kept_in) == (tip, kept)


def test_work_all_of_which_landed_otherwise_is_not_handed_over(case: QueueCase) -> None:
    lane = case.lane(1)
    case.repo.commit({"broken": ""}, "breaks", at=lane.path)
    case.queue.submit(case.submission(1, lane))
    case.drain()
    case.repo.git("commit", "-q", "--allow-empty", "-m", "theirs")
    case.repo.commit({"broken": ""}, "a person broke it all by themselves")
    case.queue.recover()

    assert hand_over(case) is None
