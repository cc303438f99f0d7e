"""Tests of modules/team/lander.py, chain.py, candidates.py and probes.py: several at once."""

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.git.refs import ENTRIES
from modules.records.merges import CheckOutcome, EntryStatus
from modules.records.queue_records import EntrySubmitted
from modules.team.intake import QueueRefusal
from modules.team.probe_pace import Limits
from modules.team.queue_view import unproven
from tests.repos import NOW, make_repo
from tests.team.lander_case import FAILED, PASSED, LanderCase, Names, shown, until
from tests.team.queue_case import QueueCase, make_case
from tools.merge import entry_line

pytestmark = pytest.mark.slow

MERGED, EJECTED, QUEUED = EntryStatus.MERGED, EntryStatus.FAILED, EntryStatus.QUEUED
SERIAL = Limits(lanes=1, chunk=1)
BATCH = Limits(lanes=1)


@pytest.fixture
def case(tmp_path: Path) -> QueueCase:
    return make_case(tmp_path)


def test_land_when_three_are_good_then_each_prefix_is_checked_once_and_at_the_same_time(
    case: QueueCase,
) -> None:
    queue = LanderCase(case, cores=3)
    queue.submit("1", "2", "3")

    async def land() -> list[tuple[int, str]]:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: len(queue.prover.under_way()) == 3)
        queue.prover.let_go()
        return await draining

    ended = asyncio.run(land())

    assert ended == [(1, "merged"), (2, "merged"), (3, "merged")]
    assert queue.prover.ran == [["1"], ["1", "2"], ["1", "2", "3"]]
    assert case.repo.git("log", "--format=%s", "main").split("\n") == [
        "task 3",
        "task 2",
        "task 1",
        "first commit",
    ]
    for entry in queue.log.entries():
        assert entry.receipt is not None
        assert case.repo.rev(f"{entry.landed_as}^{{tree}}") == entry.receipt.tree
    assert queue.entry(3).landed_as == case.repo.rev("main") == case.queue.landed


def test_land_when_the_middle_one_is_red_then_the_last_is_checked_anew_without_it(
    case: QueueCase,
) -> None:
    queue = LanderCase(case, cores=3)
    queue.submit("1", "broken", "3")

    queue.drained()

    assert queue.statuses() == [MERGED, EJECTED, MERGED]
    assert ["1", "3"] in queue.prover.ran
    assert queue.entry(2).receipt is not None
    assert case.files() == ["1", "3", "a.txt", "b.txt"]


def test_land_when_two_are_good_alone_but_not_together_then_the_second_is_ejected(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.prover.outcome = lambda names: FAILED if {"1", "2"} <= names else PASSED
    queue.submit("1", "2", "3")

    queue.drained()

    assert queue.statuses() == [MERGED, EJECTED, MERGED]


def test_land_when_a_longer_prefix_passes_then_it_clears_a_shorter_one_that_failed(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.prover.outcome = lambda names: ("t::x",) if shown(names) == ["1"] else PASSED
    queue.submit("1", "2")

    queue.drained()

    assert queue.statuses() == [MERGED, MERGED]
    assert queue.prover.ran.count(["1"]) == 1
    assert queue.log.state.flakes == {"t::x": 1}
    assert queue.entry(1).reason.startswith(
        "Flaky: 't::x' (time 1) failed, then passed; see .team/"
    )
    receipt = queue.entry(1).receipt
    assert receipt is not None
    assert receipt.tree == case.repo.rev("main^{tree}")


def test_land_when_a_red_one_passes_the_second_time_then_it_lands_and_the_flake_is_counted(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    ends = iter([FAILED, PASSED, PASSED])
    queue.prover.outcome = lambda names: next(ends)
    queue.submit("1")

    queue.drained()

    assert queue.statuses() == [MERGED]
    assert queue.prover.ran == [["1"], [], ["1"]] or queue.prover.ran == [["1"], ["1"], []]
    assert sum(queue.log.state.flakes.values()) == 1


def test_land_when_a_longer_prefix_fails_in_the_same_test_then_no_third_run_is_needed(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.prover.outcome = lambda names: ("t::x",) if "1" in names else PASSED
    queue.submit("1", "2")

    queue.drained()

    assert queue.statuses() == [EJECTED, MERGED]
    assert sorted(queue.prover.ran) == [[], ["1"], ["1", "2"], ["2"]]


def test_land_when_failures_name_different_tests_then_they_do_not_confirm_each_other(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    runs: list[list[str]] = []

    def outcome(names: Names) -> CheckOutcome | tuple[str, ...]:
        runs.append(shown(names))
        if shown(names) == ["1"]:
            return ("t::flaky",) if runs.count(["1"]) == 1 else PASSED
        return ("t::broken",) if "broken" in names else PASSED

    queue.prover.outcome = outcome
    queue.submit("1", "broken")

    queue.drained()

    assert queue.statuses() == [MERGED, EJECTED]


def test_land_when_one_of_a_batch_is_red_then_halving_finds_it_and_the_rest_lands(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path)
    queue = LanderCase(case, cores=1, limits=BATCH)
    queue.prover.cpu_seconds = 2.0
    queue.submit("1", "2", "3", "4", "broken", "6", "7", "8")

    queue.drained()

    assert queue.statuses() == [MERGED] * 4 + [EJECTED] + [MERGED] * 3
    assert queue.prover.most_at_once == 1
    assert len(queue.prover.ran) <= 9
    merged = [entry for entry in queue.log.entries() if entry.receipt and entry.landed_as]
    proofs = {entry.receipt.tree for entry in merged if entry.receipt}
    assert len(proofs) < len(merged)
    assert queue.prover.ran[0] == ["1", "2", "3", "4"]


def test_land_when_in_conflict_only_with_one_that_is_ejected_then_it_lands(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    case.submit(1, {"a.txt": "one\nFIRST\nthree\n", "broken": "x\n"})
    case.submit(2, {"a.txt": "one\nSECOND\nthree\n"})

    queue.drained()

    assert queue.statuses() == [EJECTED, MERGED]
    assert (case.repo.root / "a.txt").read_text() == "one\nSECOND\nthree\n"


def test_land_when_in_conflict_with_one_before_it_then_those_behind_do_not_wait(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    case.submit(1, {"a.txt": "one\nFIRST\nthree\n"})
    case.submit(2, {"a.txt": "one\nSECOND\nthree\n"})
    case.submit(3, {"3": "x\n"})

    ended = queue.drained()

    assert ended == [(1, "merged"), (3, "merged"), (2, "conflicted")]
    assert queue.entry(2).conflicts[0].landed_by == ("task 1",)


def test_land_when_a_first_check_hangs_then_a_longer_one_that_passed_lands_both(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.prover.holds = lambda names: shown(names) == ["1"]
    queue.submit("1", "2")

    ended = queue.drained()

    assert ended == [(1, "merged"), (2, "merged")]
    assert queue.prover.stopped == [["1"]]


def test_reject_when_its_check_runs_then_that_is_stopped_and_the_others_go_on(
    case: QueueCase,
) -> None:
    queue = LanderCase(case, cores=3)
    queue.submit("1", "2", "3")

    async def land() -> None:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: len(queue.prover.under_way()) == 3)
        case.queue.reject(2, "cancelled")
        queue.lander.stir()
        await until(lambda: ["1", "3"] in queue.prover.under_way())
        assert queue.prover.under_way() == [["1"], ["1", "3"]]
        queue.prover.let_go()
        await draining

    asyncio.run(land())

    assert queue.statuses() == [MERGED, EntryStatus.REJECTED, MERGED]
    assert queue.prover.stopped == [["1", "2"], ["1", "2", "3"]]
    assert queue.prover.ran.count(["1"]) == 1


def test_land_when_a_task_is_cancelled_during_its_check_then_it_is_stopped(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.submit("1", "2")
    cancelled: set[int] = set()
    case.may_land = lambda entry: "cancelled" if entry.entry_id in cancelled else None

    async def land() -> None:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: len(queue.prover.under_way()) == 2)
        cancelled.add(1)
        queue.lander.stir()
        await until(lambda: queue.prover.under_way() == [["2"]])
        queue.prover.let_go()
        await draining

    asyncio.run(land())

    assert queue.statuses() == [EntryStatus.REJECTED, MERGED]


def test_submit_when_an_urgent_one_comes_then_it_goes_behind_those_being_checked_only(
    case: QueueCase,
) -> None:
    queue = LanderCase(case, limits=SERIAL)
    queue.submit("1", "2")

    async def land() -> list[tuple[int, str]]:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: queue.prover.under_way() == [["1"]])
        case.queue.submit(replace(case.work(3, {"3": "x\n"}), priority=0))
        queue.lander.stir()
        queue.prover.let_go()
        return await draining

    ended = asyncio.run(land())

    assert [entry_id for entry_id, _ in ended] == [1, 3, 2]
    assert queue.prover.ran == [["1"], ["1", "3"], ["1", "2", "3"]]


def test_submit_when_a_lane_is_free_then_the_new_entry_is_checked_at_once(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.submit("1")

    async def land() -> list[tuple[int, str]]:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: queue.prover.under_way() == [["1"]])
        queue.submit("2")
        queue.lander.stir()
        await until(lambda: len(queue.prover.under_way()) == 2)
        queue.prover.let_go()
        return await draining

    assert asyncio.run(land()) == [(1, "merged"), (2, "merged")]


def test_land_when_a_check_keeps_all_cores_busy_then_only_one_runs_at_once(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.prover.cpu_seconds = 2.0
    queue.submit("1")
    queue.drained()
    queue.prover.most_at_once = 0
    queue.submit("2", "3", "4", "5")

    queue.drained()

    assert queue.prover.most_at_once == 1
    assert queue.statuses() == [MERGED] * 5


def test_land_when_an_equal_tree_passed_before_then_it_is_not_checked_again(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.submit("1", "2")

    async def land() -> None:
        queue.prover.holds = lambda names: shown(names) == ["1"]
        draining = asyncio.create_task(queue.drain())
        await until(lambda: queue.prover.under_way() == [["1"]])
        case.queue.reject(1, "not wanted")
        case.queue.reject(2, "not wanted")
        case.submit(3, {"1": "1\n", "2": "2\n"})
        queue.lander.stir()
        await draining

    asyncio.run(land())

    assert queue.statuses() == [EntryStatus.REJECTED, EntryStatus.REJECTED, MERGED]
    assert queue.prover.ran.count(["1", "2"]) == 1


def test_land_when_entries_have_checks_of_their_own_then_each_runs_on_all_that_hold_them(
    case: QueueCase,
) -> None:
    queue = LanderCase(case, cores=3)
    for task, own in ((1, "test -e 1"), (2, ""), (3, "test -e 3")):
        lane = case.lane(task)
        case.work(task, {str(task): "x\n"}, lane=lane)
        case.queue.submit(case.submission(task, lane, check=own))

    async def land() -> list[tuple[int, str]]:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: len(queue.prover.under_way()) == 3)
        queue.prover.let_go()
        return await draining

    asyncio.run(land())

    check = "test ! -e broken"
    assert queue.statuses() == [MERGED] * 3
    assert queue.prover.commands == [
        (check, "test -e 1"),
        (check, "test -e 1"),
        (check, "test -e 1", "test -e 3"),
    ]


def test_land_when_the_target_is_red_then_entries_keep_their_places_until_one_mends_it(
    tmp_path: Path,
) -> None:
    case = QueueCase(make_repo(tmp_path, files={"a.txt": "a\n", "b.txt": "b\n", "broken": "x\n"}))
    queue = LanderCase(case)
    queue.submit("1", "2")

    waiting = queue.drained()
    alarm, paused = queue.lander.alarm, queue.lander.pause_reason
    again = queue.drained()
    lane = case.lane(3)
    case.repo.git("rm", "-q", "broken", at=lane.path)
    case.queue.submit(case.work(3, {"3": "x\n"}, lane=lane))
    ended = queue.drained()

    assert waiting == [(1, "queued"), (2, "queued")]
    assert again == []
    assert "'main' itself does not pass" in alarm
    assert paused == alarm
    assert ended == [(3, "merged"), (1, "merged"), (2, "merged")]
    assert (queue.lander.alarm, queue.lander.pause_reason) == ("", "")
    assert case.repository.paths.queue.read_text().count('"record":"alarm"') == 1
    assert queue.prover.ran.count(["broken"]) == 2


def test_land_when_no_check_can_run_for_a_while_then_nobody_is_blamed_and_it_goes_on(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.submit("1")
    queue.drained()
    queue.submit("2", "3")
    queue.prover.outcome = lambda names: CheckOutcome.COULD_NOT_RUN

    waiting = queue.drained()
    paused, retry_seconds = queue.lander.pause_reason, queue.lander.retry_seconds
    queue.prover.outcome = lambda names: PASSED
    too_early = queue.drained()
    case.clock.now += timedelta(seconds=60)

    assert waiting == [(2, "queued"), (3, "queued")]
    assert "'main' itself does not pass" in paused
    assert retry_seconds is not None
    assert 0 < retry_seconds <= 30
    assert too_early == []
    assert queue.drained() == [(2, "merged"), (3, "merged")]
    assert (queue.lander.alarm, queue.lander.retry_seconds) == ("", None)
    assert sum(queue.log.state.flakes.values()) == 0


def test_land_when_a_check_can_not_run_once_then_the_entry_lands(case: QueueCase) -> None:
    queue = LanderCase(case, limits=SERIAL)
    ends = iter([PASSED, CheckOutcome.COULD_NOT_RUN, PASSED, PASSED])
    queue.prover.outcome = lambda names: next(ends)
    queue.submit("1")
    queue.drained()
    queue.submit("2")

    assert queue.drained() == [(2, "merged")]
    assert queue.prover.ran == [["1"], ["1", "2"], ["1"], ["1", "2"]]


def test_land_when_each_failure_names_another_test_then_the_third_counts(case: QueueCase) -> None:
    queue = LanderCase(case, limits=SERIAL)
    failures = iter("abc")
    queue.prover.outcome = lambda names: (next(failures),) if "1" in names else PASSED
    queue.submit("1")

    queue.drained()

    assert queue.statuses() == [EJECTED]
    assert queue.prover.ran.count(["1"]) == 3


def test_retry_when_others_are_being_checked_then_the_entry_is_run_anew(tmp_path: Path) -> None:
    case = QueueCase(make_repo(tmp_path, files={"a.txt": "a\n", "b.txt": "b\n", "broken": "x\n"}))
    queue = LanderCase(case)
    queue.submit("1", "2")

    async def land() -> list[EntryStatus]:
        queue.prover.holds = lambda names: "2" in names and "1" not in names
        first = await queue.lander.land_next()
        assert first is not None
        queue.prover.outcome = lambda names: PASSED
        case.queue.retry(first.entry_id)
        draining = asyncio.create_task(queue.drain())
        await until(lambda: queue.log.entries()[0].status is MERGED)
        queue.prover.let_go()
        await draining
        return queue.statuses()

    assert asyncio.run(land()) == [MERGED, MERGED]


def test_land_when_it_is_cancelled_in_a_landing_then_that_is_done_first(tmp_path: Path) -> None:
    case = make_case(tmp_path)
    case.submit(1, {"x.txt": "x\n"})
    landing, go_on = threading.Event(), threading.Event()

    def hold(name: str) -> None:
        if name == "record the landing":
            landing.set()
            assert go_on.wait(20)

    case.step = hold
    queue = case.new_queue()

    async def land() -> list[EntryStatus]:
        task = asyncio.create_task(queue.land_next())
        await asyncio.to_thread(landing.wait, 20)
        task.cancel()
        asyncio.get_running_loop().call_later(0.2, go_on.set)
        await asyncio.wait({task})
        return [entry.status for entry in queue.entries()]

    assert asyncio.run(land()) == [MERGED]


def test_land_when_the_target_failed_only_once_then_it_is_not_to_blame(case: QueueCase) -> None:
    queue = LanderCase(case)
    grounds = iter([FAILED, PASSED])
    queue.prover.outcome = lambda names: next(grounds) if not shown(names) else FAILED
    queue.submit("1")

    queue.drained()

    assert queue.statuses() == [EJECTED]


def test_land_when_the_target_was_proven_then_it_is_not_checked_before_blame(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    queue.submit("1")
    queue.drained()
    queue.submit("broken")

    queue.drained()

    assert queue.statuses() == [MERGED, EJECTED]
    assert queue.prover.ran == [["1"], ["1", "broken"], ["1", "broken"]]


def test_land_when_all_of_many_are_red_then_each_ends_and_the_next_good_one_lands(
    case: QueueCase,
) -> None:
    queue = LanderCase(case)
    for task in range(1, 11):
        case.submit(task, {f"bad/{task}": "x\n"})
    queue.submit("good")
    queue.prover.outcome = lambda names: (
        FAILED if any(name.startswith("bad/") for name in names) else PASSED
    )

    queue.drained()

    assert queue.statuses() == [EJECTED] * 10 + [MERGED]


def test_land_when_it_is_cancelled_then_all_checks_are_stopped(case: QueueCase) -> None:
    queue = LanderCase(case)
    queue.submit("1", "2")

    async def land() -> None:
        queue.prover.holds = lambda names: True
        draining = asyncio.create_task(queue.drain())
        await until(lambda: len(queue.prover.under_way()) == 2)
        draining.cancel()
        await asyncio.wait({draining})

    asyncio.run(land())
    queue.prover.let_go()

    assert queue.prover.stopped == [["1"], ["1", "2"]]
    assert not queue.lander.is_at_work
    assert queue.drained() == [(1, "merged"), (2, "merged")]


def test_reject_when_a_batch_with_it_is_landing_then_it_is_refused(tmp_path: Path) -> None:
    refused: list[str] = []

    def reject_while_landing(name: str) -> None:
        if name == "land" and not refused:
            for entry_id in (1, 2):
                with pytest.raises(QueueRefusal, match="is landing"):
                    made.new_queue().reject(entry_id, "too late")
                refused.append(name)

    made = make_case(tmp_path, step=reject_while_landing, cores=1)
    for task in range(1, 5):
        made.submit(task, {f"{task}": "x\n"})

    assert made.drain() == ["merged"] * 4
    assert refused == ["land", "land"]


def test_land_when_only_the_end_was_checked_then_each_entry_says_what_was_proven(
    case: QueueCase,
) -> None:
    """A commit in the middle may be red; whoever bisects has to know."""
    queue = LanderCase(case)
    queue.prover.outcome = lambda names: FAILED if shown(names) == ["1"] else PASSED
    queue.submit("1", "2")

    queue.drained()

    first, second = queue.log.entries()
    assert queue.prover.ran[:2] == [["1"], ["1", "2"]]
    assert (first.proven_as, second.proven_as) == (second.landed_as, second.landed_as)
    assert first.receipt is not None
    assert first.receipt.tree == case.repo.rev(f"{first.proven_as}^{{tree}}")
    assert unproven(queue.log.entries()) == [first.landed_as]
    assert f"proven together with {second.landed_as[:12]}" in entry_line(first)
    assert "proven" not in entry_line(second)


def test_land_when_each_commit_is_to_be_proven_then_no_red_one_is_in_the_history(
    case: QueueCase,
) -> None:
    queue = LanderCase(case, limits=Limits(lanes=2), proves_each=True)
    queue.prover.outcome = lambda names: FAILED if shown(names) == ["1"] else PASSED
    queue.submit("1", "2", "3")

    queue.drained()

    assert queue.statuses() == [EJECTED, MERGED, MERGED]
    for entry in queue.log.entries()[1:]:
        assert entry.receipt is not None
        assert entry.proven_as == entry.landed_as
        assert entry.receipt.tree == case.repo.rev(f"{entry.landed_as}^{{tree}}")
    assert unproven(queue.log.entries()) == []


def test_land_when_a_merge_would_change_what_its_entry_does_not_then_nothing_of_it_lands(
    case: QueueCase,
) -> None:
    """As where the base of a merge is a wrong one."""
    before = case.repo.rev("main")
    queue = LanderCase(case)
    work = case.work(1, {"x": "x\n"})
    case.repo.git("update-ref", f"{ENTRIES}1", work.commit)
    queue.log.note(
        EntrySubmitted(at=NOW, entry_id=1, target="main", submission=work, fork=work.commit)
    )

    ended = queue.drained()

    assert ended == [(1, "queued")]
    assert "would change ['x']" in queue.lander.pause_reason
    assert queue.prover.ran == []
    assert case.repo.rev("main") == case.queue.landed == before
