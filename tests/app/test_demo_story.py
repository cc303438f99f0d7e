"""The demo's story: who does what, each thing once, and a table that fits 80 columns."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from modules.app.demo_story import KILLED_TASK, Story, surprises
from modules.records.events import (
    CallDenied,
    CallStarted,
    EntryChanged,
    RunStarted,
    TaskChanged,
    TextDelta,
    WorkerChanged,
)

START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
COMMIT = "0123456789abcdef"
SUBJECTS = ("Add median", "Add spread", "Write a report", KILLED_TASK, "Add a command line")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def task(number: int, status: str, seconds: float = 0.0, **fields: Any) -> TaskChanged:
    return TaskChanged(
        at=at(seconds), task=number, subject=SUBJECTS[number - 1], status=status, **fields
    )


def entry(number: int, status: str, seconds: float, **fields: Any) -> EntryChanged:
    return EntryChanged(
        at=at(seconds), entry=number, task=number, status=status, commit=COMMIT, **fields
    )


def words(agent: str, text: str, seconds: float) -> TextDelta:
    return TextDelta(at=at(seconds), agent=agent, text=text)


def working(worker: str) -> WorkerChanged:
    return WorkerChanged(at=at(1), worker=worker, role="", state="working")


def report() -> dict[str, Any]:
    receipt = {"tree": "f" * 40, "outcome": "passed"}
    tasks = [
        {
            "id": number,
            "subject": subject,
            "worker": "w1",
            "attempt": 2 if subject == KILLED_TASK else 1,
            "status": "completed",
            "verified": True,
            "landed_as": COMMIT,
            "receipt": receipt,
        }
        for number, subject in enumerate(SUBJECTS, start=1)
    ]
    return {"tasks": tasks, "landed": [COMMIT] * 5, "exit_code": 0}


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def story(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> Story:
    monkeypatch.setenv("COLUMNS", "80")
    story = Story(stream, Path("/tmp/tally"))
    story.tell(RunStarted(at=START, target="main", target_commit=COMMIT, workers=3))
    return story


def told(stream: io.StringIO) -> list[str]:
    _, _, lines = stream.getvalue().partition("\n\n")
    return lines.splitlines()


def test_posts_are_one_line_and_words_are_quoted(story: Story, stream: io.StringIO) -> None:
    call = CallStarted(at=at(0.2), agent="lead", call_id="c", tool="board_post_task", text="x")
    for event in (
        words("lead", "Two tasks.\n", 0.1),
        call,
        task(1, "pending", 0.2),
        call,
        task(2, "pending", 0.2),
        task(1, "in_progress", 0.5, worker="w1", attempt=1),
        task(1, "in_progress", 0.6, worker="w1", attempt=1),
        words("w1", "I begin", 1.0),
        words("w1", " here.", 1.0),
        task(2, "in_progress", 1.25, worker="w2", attempt=1),
    ):
        story.tell(event)

    assert told(stream) == [
        "  0.2 lead  “Two tasks.”",
        "  0.5 lead  posts 1 Add median, 2 Add spread",
        "  0.5 w1    takes 1 Add median",
        "  1.2 w1    “I begin here.”",
        "  1.2 w2    takes 2 Add spread",
    ]


def test_queue_s_verdicts_say_who_gets_work_back_and_why(story: Story, stream: io.StringIO) -> None:
    reason = "It conflicts with what has landed in 'tally/numbers.py'. Run `git merge` in the lane."
    for event in (
        task(2, "in_progress", worker="w2", attempt=1),
        entry(2, "queued", 1),
        task(2, "in_review", 1, worker="w2", attempt=1),
        entry(2, "checking", 2),
        entry(2, "conflicted", 2, reason=reason),
        task(2, "in_progress", 2, worker="w2", attempt=1, reason=f"conflicted: {reason}"),
        entry(2, "queued", 3),
        entry(2, "merged", 4, landed_as=COMMIT),
        task(2, "completed", 4, worker="w2", attempt=1, landed_as=COMMIT),
    ):
        story.tell(event)

    assert told(stream) == [
        "  0.0 w2    takes 2 Add spread",
        "  1.0 w2    hands in 2 Add spread",
        "  2.0 queue 2 Add spread can't land, w2 gets it back: It conflicts with what has",
        "            landed in 'tally/numbers.py'",
        "  3.0 w2    hands in 2 Add spread",
        "  4.0 queue 2 Add spread: check passed, landed as 01234567",
    ]


def test_death_and_second_attempt_are_told_without_repeating_words(
    story: Story, stream: io.StringIO
) -> None:
    denied = {"call_id": "c", "tool": "bash", "why": "no network"}
    call = CallStarted(at=at(2), agent="w1", call_id="c", tool="bash", text="case x in sleep 60")
    story.tell(task(4, "in_progress", worker="w1", attempt=1))
    story.tell(words("w1", "I try.", 1))
    story.tell(CallDenied(at=at(1), agent="w1", **denied))
    assert story.is_to_be_killed(call)
    story.killed("w1")
    assert not story.is_to_be_killed(call)
    reason = "The worker died (SIGKILL). Its work is kept in refs/crewyard/salvage/x."
    story.tell(task(4, "pending", 3, worker="w1", attempt=1, reason=reason))
    story.tell(task(4, "in_progress", 4, worker="w3", attempt=2, reason=reason))
    story.tell(words("w3", "I try.", 5))
    story.tell(CallDenied(at=at(5), agent="w3", **denied))

    assert told(stream) == [
        "  0.0 w1    takes 4 Describe the functions",
        "  1.0 w1    “I try.”",
        "  1.0 gate  refuses a bash call of w1: no network",
        "  1.0 demo  kill -9 w1, in the middle of 4 Describe the functions",
        "  3.0 lead  4 Describe the functions goes back to the board: The worker died",
        "            (SIGKILL); its work is kept",
        "  4.0 w3    takes 4 Describe the functions, attempt 2",
    ]


def test_end_is_a_table_of_one_row_a_task_within_80_columns(
    story: Story, stream: io.StringIO
) -> None:
    story.tell(task(2, "in_progress", worker="w2", attempt=1))
    story.tell(entry(2, "conflicted", 1, reason="x"))

    story.end(report(), [], seconds=6.25, is_kept=False)

    lines = told(stream)
    rows = [line for line in lines if line[:1].isdigit() and "ffffffff" in line]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert max(map(len, lines)) <= 80
    assert "5 landings in 6.2 s" in stream.getvalue()
    assert "On the way: a conflict (task 2)." in stream.getvalue()
    assert "--dir DIR" in lines[-1]


def test_kept_repository_is_named(story: Story, stream: io.StringIO) -> None:
    story.end(report(), ["Something odd."], seconds=1.0, is_kept=True)

    assert "Surprise: Something odd." in stream.getvalue()
    assert "git -C /tmp/tally log --stat" in stream.getvalue()


def test_run_in_which_all_happened_holds_no_surprise(story: Story) -> None:
    for worker in ("w1", "w2", "w3"):
        story.tell(working(worker))
    story.tell(task(1, "in_progress", worker="w1", attempt=1))
    for status in ("conflicted", "failed", "merged"):
        story.tell(entry(1, status, 1))
    story.tell(CallDenied(at=at(1), agent="w1", call_id="c", tool="bash", why="no"))
    story.killed("w1")

    assert surprises(story, report(), {"git status": ""}) == []


def test_whatever_did_not_happen_is_a_surprise(story: Story) -> None:
    final = report()
    final["tasks"][0]["verified"] = False
    final["tasks"][3]["attempt"] = 1
    final["landed"].pop()
    final["exit_code"] = 3

    assert surprises(story, final, {"git status": " M a.py"}) == [
        "Nothing was conflicted.",
        "Nothing was failed.",
        "Nothing was denied.",
        "Nothing was merged.",
        "Only 0 workers were at work at once.",
        "No worker was killed.",
        "Task 1 is completed, verified: False.",
        "There are 5 tasks and 4 landings.",
        "The killed worker's task was not taken up again.",
        "The program's exit code was 3.",
        "git status:  M a.py",
    ]
