"""Tests of modules/team/merge_queue.py and lander.py."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from modules.git.lanes import CloseAction, close_lane, make_lane
from modules.git.refs import delete_ref, read_refs
from modules.records.errors import ModelFault, PersonFault
from modules.records.merges import CheckOutcome, Entry, EntryStatus
from modules.store.locks import held
from modules.team.intake import QueueRefusal
from modules.team.queue_view import alarm_lines, flake_line, queue_json, read_entries, read_queue
from tests.repos import NOW, make_repo
from tests.team.queue_case import CHECK, QueueCase, make_case

pytestmark = pytest.mark.slow


@pytest.fixture
def case(tmp_path: Path) -> QueueCase:
    return make_case(tmp_path)


def test_land_when_the_check_passes_then_the_exact_commit_is_landed_and_followed(
    case: QueueCase,
) -> None:
    submitted = case.submit(1, {"x.txt": "x\n"})

    entry = case.land()

    assert entry is not None
    assert submitted.status is EntryStatus.QUEUED
    assert entry.status is EntryStatus.MERGED
    assert entry.landed_as == case.repo.rev("main") == case.queue.landed
    assert entry.receipt is not None
    assert entry.receipt.tree == case.repo.rev("main^{tree}")
    assert (entry.receipt.outcome, entry.receipt.exit_code) == (CheckOutcome.PASSED, 0)
    assert (case.repo.root / "x.txt").read_text() == "x\n"
    assert case.repo.git("status", "--porcelain") == ""
    assert case.changed == [(1, "queued"), (1, "checking"), (1, "merged")]
    assert case.land() is None
    assert case.queue.has_landed(submitted.submission.commit)


def test_land_then_the_commit_keeps_its_author_and_tells_task_and_entry(case: QueueCase) -> None:
    lane = case.lane(1)
    case.repo.git("config", "user.name", "Worker")
    submission = case.work(1, {"x.txt": "x\n"}, lane=lane)
    case.queue.submit(msgspec.structs.replace(submission, summary="What was done."))

    case.land()

    assert case.repo.git("log", "-1", "--format=%an|%cn|%B", "main") == (
        "Worker|Ada|task 1\n\nWhat was done.\n\nTask: 1\nEntry: 1"
    )
    assert case.repo.git("log", "-1", "--format=%(trailers:key=Task,valueonly)", "main") == "1"


def test_queue_json_then_has_the_keys_of_the_contract(case: QueueCase) -> None:
    case.submit(1, {"x.txt": "x\n"})
    case.land()
    (entry,) = read_entries(case.repository.paths)

    shown = queue_json(entry, {})

    assert entry == case.queue.entry(1)
    assert list(shown) == [
        "task",
        "branch",
        "commit",
        "base",
        "status",
        "files",
        "receipt",
        "landed_as",
        "proven_as",
        "flaky",
    ]
    assert isinstance(shown["receipt"], dict)
    assert list(shown["receipt"]) == ["tree", "command", "outcome", "exit_code", "seconds"]


def test_queue_view_when_a_check_failed_and_then_passed_then_names_and_counts_it(
    tmp_path: Path,
) -> None:
    flag = tmp_path / "flag"
    check = f"test -e {flag} || {{ touch {flag}; echo 'FAILED t.py::test_now_and_then'; exit 1; }}"
    case = make_case(tmp_path, check=check)
    for task in (1, 2):
        flag.unlink(missing_ok=True)
        case.submit(task, {f"{task}.txt": "x\n"})
        assert case.drain() == ["merged"]

    state = read_queue(case.repository.paths)

    assert flake_line(state) == "Failed and then passed: 't.py::test_now_and_then' 2 times."
    shown = [queue_json(entry, state.flakes)["flaky"] for entry in state.entries.values()]
    assert shown == 2 * [{"t.py::test_now_and_then": 2}]
    assert alarm_lines(state) == []


def test_land_when_three_are_disjoint_then_each_stands_on_the_one_before(case: QueueCase) -> None:
    for task in (1, 2, 3):
        case.submit(task, {f"{task}.txt": "x\n"})

    statuses = case.drain()

    assert statuses == ["merged"] * 3
    assert case.repo.git("log", "--format=%s", "main").split("\n") == [
        "task 3",
        "task 2",
        "task 1",
        "first commit",
    ]


def test_land_when_one_is_red_then_only_that_one_fails(case: QueueCase) -> None:
    case.submit(1, {"x.txt": "x\n"})
    case.submit(2, {"broken": "b\n"})
    case.submit(3, {"z.txt": "z\n"})

    statuses = case.drain()

    assert statuses == ["merged", "failed", "merged"]
    failed = case.queue.entry(2)
    assert failed.reason == (
        f"The check {CHECK!r} failed (exit code 1). It ran on top of what landed meanwhile "
        f"('task 1'); to have that in the lane: `git merge {case.queue.entry(1).landed_as[:12]}`."
    )
    assert failed.receipt is not None
    assert (case.repo.root / failed.receipt.log).read_text().startswith(f"$ {CHECK}")
    assert "broken" not in case.files()


def test_land_when_two_are_green_alone_but_not_together_then_the_second_fails(
    tmp_path: Path,
) -> None:
    """llm-d/llm-d-router#2257, vshulcz/deja-vu#3433, vllm-project/semantic-router#2578."""
    case = make_case(tmp_path, check="test ! -e renamed || test ! -e caller")
    case.submit(1, {"renamed": "1\n"})
    case.submit(2, {"caller": "2\n"})

    statuses = case.drain()

    assert statuses == ["merged", "failed"]
    assert case.files() == ["a.txt", "b.txt", "renamed"]
    assert "on top of what landed meanwhile ('task 1')" in case.queue.entry(2).reason


def test_land_when_two_change_one_line_then_the_second_is_handed_back(case: QueueCase) -> None:
    case.submit(1, {"a.txt": "one\nFIRST\nthree\n"})
    case.submit(2, {"a.txt": "one\nSECOND\nthree\n"})
    branch = case.repo.rev("wt/t2-1")

    statuses = case.drain()

    assert statuses == ["merged", "conflicted"]
    entry = case.queue.entry(2)
    (conflict,) = entry.conflicts
    assert (conflict.path, conflict.kind, conflict.landed_by) == (
        "a.txt",
        "contents",
        ("task 1",),
    )
    assert "FIRST\n=======\nSECOND" in conflict.hunk
    assert f"git merge {case.queue.landed[:12]}" in entry.reason
    assert case.repo.rev("wt/t2-1") == branch
    assert "<<<<<<<" in case.repo.git("show", "refs/crewyard/conflicts/2:a.txt")
    assert case.repo.git("status", "--porcelain") == ""


def test_land_when_a_conflict_was_resolved_by_merging_then_lands(case: QueueCase) -> None:
    case.submit(1, {"a.txt": "one\nFIRST\nthree\n"})
    lane = case.lane(2)
    case.queue.submit(case.work(2, {"a.txt": "one\nSECOND\nthree\n"}, lane=lane))
    case.drain()
    case.repo.git("merge", case.queue.landed, at=lane.path, accept=(1,))
    resolved = case.work(2, {"a.txt": "one\nBOTH\nthree\n"}, lane=lane)

    case.queue.submit(resolved)

    assert case.drain() == ["merged"]
    assert (case.repo.root / "a.txt").read_text() == "one\nBOTH\nthree\n"


def test_land_when_both_append_to_a_union_file_then_both_land(tmp_path: Path) -> None:
    files = {".gitattributes": "LOG merge=union\n", "LOG": "0\n"}
    case = QueueCase(make_repo(tmp_path, files=files))
    case.submit(1, {"LOG": "0\n1\n"})
    case.submit(2, {"LOG": "0\n2\n"})

    assert case.drain() == ["merged", "merged"]
    assert (case.repo.root / "LOG").read_text() == "0\n1\n2\n"


def test_land_when_the_task_has_a_check_of_its_own_then_both_must_pass(case: QueueCase) -> None:
    lane = case.lane(1)
    case.work(1, {"x.txt": "x\n"}, lane=lane)
    case.queue.submit(case.submission(1, lane, check="test -e missing"))
    case.land()
    good = case.lane(2)
    case.work(2, {"y.txt": "y\n"}, lane=good)
    case.queue.submit(case.submission(2, good, check="test -e y.txt"))
    case.land()

    first, second = case.queue.entries()
    assert first.reason == "The check 'test -e missing' failed (exit code 1)."
    assert second.receipt is not None
    assert second.receipt.command == f"{CHECK} && test -e y.txt"


def test_land_then_the_log_of_each_check_is_told_of_before_its_entry_ends(
    case: QueueCase,
) -> None:
    case.submit(1, {"broken": "x\n"})

    (entry,) = case.drained()

    assert entry.receipt is not None
    assert case.repo.root / entry.receipt.log in case.logs
    assert sorted(case.logs) == sorted(case.repository.paths.checks.iterdir())


def test_land_when_no_check_is_set_then_nothing_lands(tmp_path: Path) -> None:
    case = make_case(tmp_path, check=" ")
    lane = case.lane(1)
    case.work(1, {"x.txt": "x\n"}, lane=lane)
    case.queue.submit(case.submission(1, lane, check="true"))

    assert case.land() is None
    assert "No check is set" in case.queue.pause_reason
    assert case.queue.entry(1).status is EntryStatus.QUEUED
    assert case.files() == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("echo no tests ran in 0.01s; exit 5", "found no tests"),
        ("echo Ran 0 tests", "found no tests"),
        ("nosuchcommand", "could not run"),
        ("echo x >> a.txt", "it changed tracked files: 'a.txt'"),
    ],
)
def test_land_when_the_check_proves_nothing_anywhere_then_the_entry_waits(
    tmp_path: Path, check: str, words: str
) -> None:
    case = make_case(tmp_path, check=check)
    case.submit(1, {"x.txt": "x\n"})

    first, second = case.land(), case.land()

    assert first is not None
    assert (first.status, second) == (EntryStatus.QUEUED, None)
    assert words in first.reason
    assert words in case.queue.pause_reason
    assert case.files() == ["a.txt", "b.txt"]


def test_land_when_a_waiting_entry_is_retried_or_restarted_then_it_is_tried_again(
    tmp_path: Path,
) -> None:
    flag = tmp_path / "flag"
    case = make_case(tmp_path, check=f"test -e {flag} || exit 127")
    case.submit(1, {"x.txt": "x\n"})
    case.land()
    case.queue.retry(1)
    tried_again = case.land()
    flag.touch()
    not_yet = case.land()
    case.restart()
    restarted = case.land()

    assert tried_again is not None
    assert tried_again.status is EntryStatus.QUEUED
    assert not_yet is None
    assert restarted is not None
    assert restarted.status is EntryStatus.MERGED


def test_land_when_only_the_entry_makes_the_check_prove_nothing_then_it_fails(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path, check="test ! -e no_runner || exit 127")
    case.submit(1, {"no_runner": "x\n"})
    case.submit(2, {"y.txt": "y\n"})

    assert case.drain() == ["failed", "merged"]
    assert case.queue.pause_reason == ""


def test_land_when_one_entry_waits_then_another_that_mends_the_check_lands(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path, check="test -e tests.txt || { echo no tests ran in 0s; exit 5; }")
    case.submit(1, {"x.txt": "x\n"})
    first = case.land()
    case.submit(2, {"tests.txt": "t\n"})

    assert first is not None
    assert first.status is EntryStatus.QUEUED
    assert case.drain() == ["merged", "merged"]


def test_land_when_the_check_tree_can_not_be_made_then_the_entry_waits(case: QueueCase) -> None:
    case.submit(1, {"x.txt": "x\n"})
    (case.repo.root / ".worktrees" / "check-1").write_text("in the way\n")
    admin = case.repo.root / ".git" / "worktrees"
    admin.rename(admin.with_name("elsewhere"))
    admin.write_text("in the way\n")

    entry = case.land()
    pause = case.queue.pause_reason
    admin.unlink()
    admin.with_name("elsewhere").rename(admin)
    case.queue.retry(1)

    assert entry is not None
    assert entry.status is EntryStatus.QUEUED
    assert "could not run" in pause
    assert case.drain() == ["merged"]


def test_land_when_a_gate_does_its_worst_then_the_next_entry_lands(tmp_path: Path) -> None:
    """gastownhall/gastown#3604, eltmon/overdeck#627."""
    case = make_case(tmp_path, check="if test -e gate.sh; then . ./gate.sh; fi", timeout_seconds=3)
    case.submit(1, {"gate.sh": "echo x > litter; mkdir d; chmod 000 d; echo y >> a.txt; exit 1\n"})
    case.submit(2, {"gate.sh": "sleep 300 & sleep 300\n"})
    case.submit(3, {"gate.sh": "kill -9 $$\n"})
    case.submit(4, {"gate.sh": 'rm -rf "$PWD"\n'})
    case.submit(5, {"gate.sh": "git init -q in; git commit -q --allow-empty -m x; exit 1\n"})
    case.submit(6, {"good.txt": "good\n"})

    case.drain()

    assert [str(e.status) for e in case.queue.entries()] == ["failed"] * 5 + ["merged"]
    assert case.files() == ["a.txt", "b.txt", "good.txt"]
    case.submit(7, {"next.txt": "next\n"})
    assert case.drain() == ["merged"]
    tree = case.repo.root / ".worktrees" / "check-1"
    assert sorted(p.name for p in tree.iterdir()) == [
        ".git",
        "a.txt",
        "b.txt",
        "good.txt",
        "next.txt",
    ]


def test_land_when_the_source_changes_within_a_second_then_the_new_code_is_checked(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path, files={"m.py": "X = 1\n", "t.py": "import m; assert m.X < 9\n"})
    case = QueueCase(repo, check="python3 t.py")
    case.submit(1, {"m.py": "X = 8\n"})
    case.submit(2, {"n.txt": "n\n"})
    case.drain()
    case.submit(3, {"m.py": "X = 9\n"})

    assert case.drain() == ["failed"]


def test_submit_when_the_worker_commits_afterwards_then_the_pinned_commit_lands(
    case: QueueCase,
) -> None:
    lane = case.lane(1)
    entry = case.queue.submit(case.work(1, {"x.txt": "x\n"}, lane=lane))
    late = case.repo.commit({"late.txt": "late\n"}, "late", at=lane.path)

    case.drain()
    closed = close_lane(
        case.repository,
        lane,
        action=CloseAction.REMOVE,
        is_landed=case.queue.has_landed,
        now=NOW,
    )

    assert case.files() == ["a.txt", "b.txt", "x.txt"]
    assert closed.kept
    assert case.repo.rev(lane.branch) == late != entry.submission.commit


def test_submit_when_lane_and_branch_go_before_landing_then_it_lands(case: QueueCase) -> None:
    """gastownhall/gastown#2028."""
    lane = case.lane(1)
    case.queue.submit(case.work(1, {"x.txt": "x\n"}, lane=lane))
    case.repo.git("worktree", "remove", "--force", str(lane.path))
    case.repo.git("branch", "-q", "-D", lane.branch)
    case.repo.git("reflog", "expire", "--expire=now", "--all")
    case.repo.git("gc", "-q", "--prune=now")

    assert case.drain() == ["merged"]


def test_land_when_the_pinned_commit_is_gone_then_it_fails_loudly(case: QueueCase) -> None:
    entry = case.submit(1, {"x.txt": "x\n"})
    delete_ref(case.repository.git, "refs/crewyard/entries/1", old=entry.submission.commit)
    case.submit(2, {"y.txt": "y\n"})

    assert case.drain() == ["failed", "merged"]
    assert "is gone" in case.queue.entry(1).reason


@pytest.mark.parametrize("name", ["nowhere", "1" * 40, "main", ""])
def test_submit_when_the_commit_does_not_exist_then_it_is_refused(
    case: QueueCase, name: str
) -> None:
    submission = msgspec.structs.replace(case.work(1, {"x.txt": "x\n"}), commit=name)

    with pytest.raises(ModelFault, match="There is no commit"):
        case.queue.submit(submission)

    assert case.queue.entries() == []
    assert read_refs(case.repository.git, "refs/crewyard/entries/") == {}


@pytest.mark.parametrize("name", ["HEAD:x.txt", "HEAD:folder"])
def test_submit_when_objects_are_missing_then_it_is_refused(case: QueueCase, name: str) -> None:
    """A check of it could never begin: git can't make its files."""
    submission = case.work(1, {"x.txt": "x\n", "folder/y.txt": "y\n"})
    object_id = case.repo.rev(name.replace("HEAD", submission.commit))
    (case.repository.common_dir / "objects" / object_id[:2] / object_id[2:]).unlink()

    with pytest.raises(ModelFault, match="missing or damaged"):
        case.queue.submit(submission)

    assert case.queue.entries() == []


def test_submit_when_nothing_would_change_then_it_ends_at_once_with_the_reason(
    case: QueueCase,
) -> None:
    empty = case.lane(1)
    cancelled = case.lane(2)
    case.repo.commit({"x.txt": "x\n"}, "x", at=cancelled.path)
    case.repo.git("rm", "-q", "x.txt", at=cancelled.path)
    case.repo.commit({}, "taken back", at=cancelled.path)
    merged = case.lane(3)
    case.work(3, {"m.txt": "m\n"}, lane=merged)
    case.repo.git("merge", "-q", "--ff-only", merged.branch)
    case.restart()
    squashed = case.lane(4)
    again = make_lane(case.repository, name="t5-1", base=case.queue.landed)
    case.queue.submit(case.work(4, {"s.txt": "s\n"}, lane=squashed))
    case.drain()
    case.work(5, {"s.txt": "s\n"}, lane=again)

    entries = [
        case.queue.submit(case.submission(task, lane))
        for task, lane in ((1, empty), (2, cancelled), (3, merged), (5, again))
    ]

    assert [(entry.status, entry.reason) for entry in entries] == [
        (
            EntryStatus.NO_CHANGES,
            "There is no commit on top of the one the branch was made from.",
        ),
        (EntryStatus.NO_CHANGES, "Its commits cancel each other out: no file differs."),
        (EntryStatus.NO_CHANGES, "Its commits have landed already."),
        (EntryStatus.NO_CHANGES, "All that it changes has landed already."),
    ]


def test_submit_when_only_a_mode_or_blanks_change_then_it_lands(case: QueueCase) -> None:
    lane = case.lane(1)
    (lane.path / "a.txt").chmod(0o755)
    (lane.path / "b.txt").write_text("b \n")
    case.queue.submit(case.work(1, {}, lane=lane))

    assert case.drain() == ["merged"]
    assert case.repo.git("ls-tree", "main", "a.txt").startswith("100755")


def test_submit_when_the_base_was_rewritten_then_it_is_refused(case: QueueCase) -> None:
    lane = case.lane(1)
    case.repo.git("commit", "-q", "--amend", "-m", "rewritten", at=lane.path)
    submission = case.work(1, {"x.txt": "x\n"}, lane=lane)

    with pytest.raises(ModelFault, match="no longer contains the commit it was made from"):
        case.queue.submit(submission)


def test_submit_when_it_holds_anothers_unlanded_work_then_it_is_refused(case: QueueCase) -> None:
    """gastownhall/gastown#3588."""
    theirs, merging, resetting = case.lane(1), case.lane(2), case.lane(3)
    case.work(1, {"theirs.txt": "x\n"}, lane=theirs)
    case.repo.commit({"mine.txt": "m\n"}, "mine", at=merging.path)
    case.repo.git("merge", "-q", "--no-edit", theirs.branch, at=merging.path)
    case.repo.git("reset", "-q", "--hard", theirs.branch, at=resetting.path)
    case.repo.commit({"mine.txt": "m\n"}, "mine", at=resetting.path)

    for task, lane in ((2, merging), (3, resetting)):
        with pytest.raises(ModelFault, match=r"contains work of 'wt/t1-1'"):
            case.queue.submit(case.submission(task, lane))
    case.queue.submit(case.submission(1, theirs))
    case.drain()
    late = case.queue.submit(case.submission(2, merging))

    assert late.status is EntryStatus.QUEUED
    assert case.drain() == ["merged"]
    assert case.files() == ["a.txt", "b.txt", "mine.txt", "theirs.txt"]


def test_land_when_one_is_stacked_on_another_that_landed_then_only_its_own_lines_come(
    case: QueueCase,
) -> None:
    """Joined as they are the two conflict: what they stand on landed as another commit."""
    below, above = case.lane(1), case.lane(2)
    case.work(1, {"a.txt": "one\nBELOW\nthree\n", "below.txt": "b\n"}, lane=below)
    case.repo.git("reset", "-q", "--hard", below.branch, at=above.path)
    case.repo.commit({"a.txt": "one\nABOVE\nthree\n"}, "above", at=above.path)
    with pytest.raises(ModelFault, match="Wait until it has"):
        case.queue.submit(case.submission(2, above))
    case.queue.submit(case.submission(1, below))
    assert case.drain() == ["merged"]

    case.queue.submit(case.submission(2, above))

    assert case.drain() == ["merged"]
    assert case.repo.git("show", "main:a.txt") == "one\nABOVE\nthree"
    assert case.repo.git("diff", "--name-only", "main^", "main") == "a.txt"
    assert case.repo.git("log", "--format=%s", "main").split("\n")[:2] == ["task 2", "task 1"]


def test_submit_when_what_it_is_stacked_on_was_taken_out_then_it_still_may_not_land(
    case: QueueCase,
) -> None:
    below, above = case.lane(1), case.lane(2)
    entry = case.queue.submit(case.work(1, {"below.txt": "b\n"}, lane=below))
    case.repo.git("reset", "-q", "--hard", below.branch, at=above.path)
    case.repo.commit({"above.txt": "a\n"}, "above", at=above.path)
    case.queue.reject(entry.entry_id, "not this")

    with pytest.raises(ModelFault, match=r"contains work of 'wt/t1-1' that has not landed"):
        case.queue.submit(case.submission(2, above))
    case.repo.git("rebase", "-q", "--onto", case.queue.landed, below.branch, at=above.path)
    case.queue.submit(case.submission(2, above))

    assert case.drain() == ["merged"]
    assert case.files() == ["a.txt", "above.txt", "b.txt"]


def test_submit_when_a_second_attempt_builds_on_the_first_then_it_is_taken(
    case: QueueCase,
) -> None:
    first = case.lane(1)
    case.work(1, {"first.txt": "x\n"}, lane=first)
    second = make_lane(case.repository, name="t1-2", base=case.queue.landed)
    case.repo.git("merge", "-q", first.branch, at=second.path)

    entry = case.queue.submit(case.work(1, {"second.txt": "x\n"}, lane=second))

    assert entry.status is EntryStatus.QUEUED


def test_submit_when_a_stale_tree_lies_on_a_newer_base_then_it_is_refused(
    case: QueueCase,
) -> None:
    lane = case.lane(2)
    case.submit(1, {"a.txt": "one\nLANDED\nthree\n"})
    case.drain()
    (lane.path / "mine.txt").write_text("m\n")
    case.repo.git("reset", "-q", "--soft", case.queue.landed, at=lane.path)
    submission = case.work(2, {}, lane=lane)

    with pytest.raises(ModelFault, match=r"how they were before others' work landed: 'a.txt'"):
        case.queue.submit(submission)


@pytest.mark.parametrize("path", [".team/board.jsonl", "sub/.worktrees/x", ".TEAM/x"])
def test_submit_when_it_touches_our_own_files_then_it_is_refused(
    case: QueueCase, path: str
) -> None:
    """andyzengmath/quantum-loop#9."""
    board = case.repository.paths.board
    board.write_text("live\n")
    lane = case.lane(1)
    file = lane.path / path
    file.parent.mkdir(parents=True)
    file.write_text("old\n")
    case.repo.git("add", "-A", "-f", at=lane.path)
    submission = case.work(1, {"x.txt": "x\n"}, lane=lane)

    with pytest.raises(ModelFault, match="belong to git or to the crew"):
        case.queue.submit(submission)

    assert board.read_text() == "live\n"


def test_submit_when_paths_differ_only_in_case_then_it_is_refused(case: QueueCase) -> None:
    submission = case.work(1, {"A.txt": "x\n"})

    with pytest.raises(ModelFault, match="ignores case"):
        case.queue.submit(submission)


def test_land_when_paths_are_odd_then_they_land(case: QueueCase) -> None:
    names = ["naïve café.py", "tab\there", "new\nline", "-n", "sub/--x"]
    case.submit(1, dict.fromkeys(names, "x\n"))

    assert case.drain() == ["merged"]
    assert set(names) <= set(case.files())
    assert (case.repo.root / "new\nline").read_text() == "x\n"


def test_submit_when_the_task_has_an_open_entry_then_the_newer_takes_its_place(
    case: QueueCase,
) -> None:
    lane = case.lane(1)
    case.queue.submit(case.work(1, {"x.txt": "1\n"}, lane=lane))
    case.queue.submit(case.work(1, {"x.txt": "2\n"}, lane=lane))

    statuses = case.drain()

    assert statuses == ["merged"]
    assert [(e.status, e.reason) for e in case.queue.entries()] == [
        (EntryStatus.REJECTED, "Entry 2 replaces it."),
        (EntryStatus.MERGED, ""),
    ]


def test_submit_when_the_same_commit_was_refused_then_it_is_refused_unchecked(
    case: QueueCase,
) -> None:
    """digitaldrywood/detent#1303."""
    lane = case.lane(1)
    submission = case.work(1, {"broken": "b\n"}, lane=lane)
    case.queue.submit(submission)
    case.drain()

    with pytest.raises(ModelFault, match="refused before"):
        case.queue.submit(submission)
    (lane.path / "broken").unlink()
    case.queue.submit(case.work(1, {"fixed": "f\n"}, lane=lane))

    assert case.drain() == ["merged"]


def test_land_when_the_task_was_cancelled_then_it_is_rejected_once(tmp_path: Path) -> None:
    """eltmon/overdeck#2734."""
    case = make_case(
        tmp_path,
        may_land=lambda entry: "Task 1 was cancelled." if entry.submission.task == 1 else None,
    )
    case.submit(1, {"x.txt": "x\n"})
    case.submit(2, {"y.txt": "y\n"})
    with case.repository.paths.queue.open("a") as journal:
        journal.write("{broken\n")

    case.restart()
    statuses = case.drain()
    case.restart()
    case.restart()

    assert statuses == ["rejected", "merged"]
    assert case.drain() == []
    assert case.queue.skipped_lines == 1
    assert case.queue.entry(1).reason == "Task 1 was cancelled."


def test_land_when_the_task_is_cancelled_during_its_check_then_it_does_not_land(
    tmp_path: Path,
) -> None:
    answers = iter([None, "Task 1 was cancelled."])
    case = make_case(tmp_path, may_land=lambda entry: next(answers))
    case.submit(1, {"x.txt": "x\n"})

    assert case.drain() == ["rejected"]
    assert case.files() == ["a.txt", "b.txt"]


def test_land_when_it_is_rejected_during_its_check_then_it_does_not_land(tmp_path: Path) -> None:
    def reject_before_landing(name: str) -> None:
        if name == "intend to land":
            made.new_queue().reject(1, "not wanted")

    made = make_case(tmp_path, step=reject_before_landing)
    made.submit(1, {"x.txt": "x\n"})

    assert made.drain() == ["rejected"]
    assert made.files() == ["a.txt", "b.txt"]


def test_reject_when_it_is_landing_then_it_is_refused(tmp_path: Path) -> None:
    refused: list[str] = []

    def reject_while_landing(name: str) -> None:
        if name == "land":
            with pytest.raises(QueueRefusal, match="is landing"):
                made.new_queue().reject(1, "too late")
            refused.append(name)

    made = make_case(tmp_path, step=reject_while_landing)
    made.submit(1, {"x.txt": "x\n"})

    assert made.drain() == ["merged"]
    assert refused == ["land"]


def test_retry_when_it_failed_then_it_is_checked_again(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    case = make_case(tmp_path, check=f"test -e {flag}")
    case.submit(1, {"x.txt": "x\n"})
    case.drain()
    flag.touch()

    entry = case.queue.retry(1)

    assert entry.status is EntryStatus.QUEUED
    assert case.drain() == ["merged"]
    with pytest.raises(QueueRefusal, match="that is its end"):
        case.queue.retry(1)


def test_retry_when_there_is_no_such_entry_then_it_is_refused(case: QueueCase) -> None:
    for act in (case.queue.retry, case.queue.revert, lambda n: case.queue.reject(n, "")):
        with pytest.raises(QueueRefusal, match="There is no entry 7"):
            act(7)


def test_revert_when_more_landed_since_then_only_that_goes_and_it_can_land_again(
    case: QueueCase,
) -> None:
    lane = case.lane(1)
    case.queue.submit(case.work(1, {"x.txt": "x\n"}, lane=lane))
    case.submit(2, {"y.txt": "y\n"})
    case.drain()

    case.queue.revert(1)
    reverted = case.drain()
    files_after_revert = case.files()
    again = make_lane(case.repository, name="t3-1", base=case.queue.landed)
    case.queue.submit(case.work(3, {"x.txt": "x\n"}, lane=again))

    assert reverted == ["merged"]
    assert files_after_revert == ["a.txt", "b.txt", "y.txt"]
    assert case.drain() == ["merged"]
    assert case.files() == ["a.txt", "b.txt", "x.txt", "y.txt"]


def test_revert_when_others_built_on_it_then_it_is_refused(case: QueueCase) -> None:
    case.submit(1, {"x.txt": "1\n"})
    case.drain()
    case.submit(2, {"x.txt": "2\n"})
    case.drain()

    with pytest.raises(QueueRefusal, match=r"builds on entry 1 \('x.txt'\)"):
        case.queue.revert(1)


def test_land_when_priorities_differ_then_the_urgent_one_goes_first(case: QueueCase) -> None:
    case.submit(1, {"1.txt": "x\n"})
    urgent = msgspec.structs.replace(case.work(2, {"2.txt": "x\n"}), priority=0)
    case.queue.submit(urgent)

    first = case.land()

    assert isinstance(first, Entry)
    assert first.submission.task == 2


def test_land_when_another_process_holds_the_queue_then_it_says_so(case: QueueCase) -> None:
    case.submit(1, {"x.txt": "x\n"})

    with (
        held(case.repository.paths.queue_lock, what="it", timeout_seconds=1),
        pytest.raises(PersonFault, match="The merge queue is held by another process"),
    ):
        case.land()

    assert case.drain() == ["merged"]


def test_land_when_the_person_cleans_and_collects_then_nothing_is_lost(case: QueueCase) -> None:
    entry = case.submit(1, {"x.txt": "x\n"})
    case.repo.git("reflog", "expire", "--expire=now", "--all")
    case.repo.git("gc", "-q", "--prune=now")
    subprocess.run(["rm", "-rf", str(case.repo.root / ".worktrees")], check=True, timeout=10)

    assert case.drain() == ["merged"]
    assert case.repo.rev(entry.submission.commit) == entry.submission.commit


def test_submit_when_the_journal_was_lost_then_no_id_is_given_out_twice(case: QueueCase) -> None:
    case.submit(1, {"x.txt": "x\n"})
    case.repository.paths.queue.unlink()
    case.restart()

    entry = case.submit(2, {"y.txt": "y\n"})

    assert entry.entry_id == 2
    assert len(read_refs(case.repository.git, "refs/crewyard/entries/")) == 2


def test_land_when_the_target_is_another_branch_then_only_its_entries_land(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path)
    case.submit(1, {"x.txt": "x\n"})
    case.repo.git("branch", "other")
    other = QueueCase(case.repo)
    other.repository = case.repo.open(target="other")
    other.restart()

    assert other.drain() == []
    assert case.drain() == ["merged"]


def test_diff_then_shows_what_the_entry_changes(case: QueueCase) -> None:
    entry = case.submit(1, {"x.txt": "x\n"})
    before = case.queue.diff(entry.submission)
    case.drain()

    assert "+x" in before
    assert case.queue.diff(entry.submission) == before


def test_check_tree_then_it_is_no_lane_and_leaves_status_clean(case: QueueCase) -> None:
    case.submit(1, {"x.txt": "x\n"})
    case.drain()

    assert (case.repo.root / ".worktrees" / "check-1" / "x.txt").exists()
    assert case.repo.git("status", "--porcelain") == ""
