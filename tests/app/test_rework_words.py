"""What a worker reads of work that came back."""

from pathlib import Path

from msgspec.structs import replace

from modules.app.rework_words import conflict_lines, handover_words
from modules.records.merges import (
    CheckOutcome,
    Conflict,
    Entry,
    EntryStatus,
    Receipt,
    Submission,
)
from modules.team.handover import Handover
from tests.repos import NOW

ENTRY = Entry(
    entry_id=7,
    submission=Submission(
        task=3,
        subject="s",
        attempt=1,
        generation=1,
        worker="w1",
        branch="wt/t3-1",
        commit="c" * 40,
        base="b" * 40,
        summary="",
        files=("a.py",),
    ),
    submitted_at=NOW,
    changed_at=NOW,
)
CONFLICTED = replace(
    ENTRY,
    status=EntryStatus.CONFLICTED,
    conflicts=(Conflict(path="a.py", kind="contents", hunk="<<<", landed_by=("add b",)),),
)
FAILED = replace(
    ENTRY,
    status=EntryStatus.FAILED,
    reason="1 test failed.",
    receipt=Receipt(
        tree="t", command="pytest", outcome=CheckOutcome.FAILED, exit_code=1, seconds=1, log="1.log"
    ),
)


WORK = ENTRY.submission


def words(folder: Path, handover: Handover) -> str:
    return handover_words(handover, landed_ref="refs/landed", root=folder)


def test_work_that_conflicts_is_told_with_places_markers_and_how_to_bring_it_in(
    tmp_path: Path,
) -> None:
    handover = Handover(WORK, CONFLICTED, "c" * 40, "", "refs/kept", has_uncommitted=True)

    assert words(tmp_path, handover).splitlines() == [
        "Attempt 1 (w1) handed in work for this task, entry 7 of the merge queue, and it came "
        "back.",
        "Your branch begins without it, for it conflicts with what has landed. To go on with it, "
        "run `git merge cccccccccccc` here and resolve; don't do it again.",
        "It conflicted with what had landed then:",
        "- a.py (contents), landed by: add b",
        "<<<",
        "The merge with its markers is refs/crewyard/conflicts/7.",
        "What was not committed is in refs/kept: `git diff cccccccccccc refs/kept`.",
    ]


def test_work_whose_check_failed_is_told_with_the_end_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "1.log").write_text("x" * 9_000 + "the end")
    handover = Handover(WORK, FAILED, "c" * 40, "d" * 40, "", has_uncommitted=False)

    told = words(tmp_path, handover).splitlines()

    assert told[1] == (
        "Your branch begins with that work, on top of what has landed: see `git log -p "
        "refs/landed..HEAD`. Go on with it; don't do it again."
    )
    assert told[2:4] == [
        "The check failed on the merged tree: 1 test failed.",
        "Command: pytest (exit code 1)",
    ]
    assert (len(told[4]), told[4][-7:]) == (4_000, "the end")


def test_places_of_many_conflicts_are_bounded() -> None:
    many = [Conflict(path=f"{n}.py", kind="contents", hunk="hunk") for n in range(30)]

    assert conflict_lines(many).count("hunk") == 10
    assert len(conflict_lines(many)) == 40


def test_work_whose_review_was_never_given_is_told_with_where_it_is(tmp_path: Path) -> None:
    handover = Handover(WORK, None, "c" * 40, "d" * 40, "", has_uncommitted=False)

    assert words(tmp_path, handover).splitlines() == [
        "Attempt 1 (w1) handed in work for this task, and ended before its review was given.",
        "Your branch begins with that work, on top of what has landed: see `git log -p "
        "refs/landed..HEAD`. Go on with it; don't do it again.",
    ]
