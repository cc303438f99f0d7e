"""Each change of a run is told once, in words for people."""

from datetime import UTC, datetime
from typing import Any

from modules.app.event_words import Teller, Told, Tone, first_sentence
from modules.records.decisions import Mode
from modules.records.events import (
    AnyEvent,
    CallDenied,
    CallEnded,
    CallStarted,
    ClashForeseen,
    CrewHeld,
    EntryChanged,
    ModeChanged,
    Noticed,
    RunStarted,
    Spent,
    TargetFails,
    TargetHeld,
    TaskChanged,
    TextDelta,
    WorkerChanged,
)
from modules.records.messages import Usage

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
COMMIT = "0123456789abcdef"


def task(status: str, **fields: Any) -> TaskChanged:
    return TaskChanged(at=AT, task=3, subject="Write it", status=status, **fields)


def entry(status: str, **fields: Any) -> EntryChanged:
    return EntryChanged(at=AT, entry=1, task=3, status=status, commit=COMMIT, **fields)


def clash(*tasks: int, files: tuple[str, ...], landed_by: tuple[int, ...] | None) -> ClashForeseen:
    return ClashForeseen(
        at=AT,
        tasks=tasks,
        workers=tuple(f"w{task}" for task in tasks),
        has_landed=landed_by is not None,
        landed_by=landed_by or (),
        files=files,
    )


def told(*events: AnyEvent) -> list[Told]:
    teller = Teller()
    return [line for event in events if (line := teller.tell(event)) is not None]


def test_life_of_a_task_is_told_once_a_step() -> None:
    work = {"worker": "w1", "attempt": 1}

    lines = told(
        task("pending"),
        task("in_progress", **work),
        task("in_progress", **work),
        entry("queued"),
        task("in_review", **work),
        entry("checking"),
        entry("conflicted", reason="It conflicts in 'a.py'. Run `git merge` in the lane."),
        task("in_progress", reason="conflicted: It conflicts in 'a.py'.", **work),
        entry("queued"),
        task("in_review", **work),
        entry("merged", landed_as=COMMIT),
        task("completed", landed_as=COMMIT, **work),
    )

    assert [line.text for line in lines] == [
        "task 3 is posted: Write it",
        "w1 takes task 3: Write it",
        "task 3 is in the merge queue: Write it",
        "task 3 is being checked",
        "task 3 can't land: It conflicts in 'a.py'",
        "task 3 is in the merge queue: Write it",
        "task 3 has landed as 01234567: Write it",
    ]
    assert [line.tone for line in lines[-3:]] == [Tone.BAD, Tone.QUIET, Tone.GOOD]


def test_attempt_that_ended_goes_back_and_is_taken_again() -> None:
    lines = told(
        task("in_progress", worker="w1", attempt=1),
        task("pending", worker="w1", attempt=1, reason="The worker died (SIGKILL). It is kept."),
        task("in_progress", worker="w1", attempt=2),
    )

    assert [line.text for line in lines] == [
        "w1 takes task 3: Write it",
        "task 3 goes back to the board: The worker died (SIGKILL)",
        "w1 takes task 3, attempt 2: Write it",
    ]


def test_landing_is_told_by_the_board_where_the_queue_said_nothing() -> None:
    lines = told(task("completed", landed_as=COMMIT), entry("merged", landed_as=COMMIT))

    assert [line.text for line in lines] == ["task 3 has landed as 01234567: Write it"]


def test_ends_without_a_landing_say_why() -> None:
    lines = told(
        task("completed", reason="It was there."),
        task("failed", reason="Three attempts."),
        task("blocked", reason="Task 2 failed."),
        task("parked", reason="No quota."),
        task("cancelled"),
        entry("rejected", reason="Not wanted."),
    )

    assert lines == [
        Told("task 3 is done without a change: It was there", Tone.GOOD),
        Told("task 3 is failed: Three attempts", Tone.BAD),
        Told("task 3 is blocked: Task 2 failed", Tone.BAD),
        Told("task 3 is parked: No quota", Tone.WARNING),
        Told("task 3 is cancelled", Tone.WARNING),
        Told("task 3: its work is rejected: Not wanted", Tone.BAD),
    ]


def test_other_events_are_told_or_left_to_be_looked_up() -> None:
    call = {"agent": "w1", "call_id": "c-1", "tool": "bash"}

    lines = told(
        RunStarted(at=AT, target="main", target_commit=COMMIT, workers=3),
        CallStarted(at=AT, text="git status", **call),
        CallDenied(at=AT, why="no network", **call),
        TargetHeld(at=AT, target="main", landed=COMMIT, why="edits are in the way"),
        TargetFails(at=AT, target="main", landed=COMMIT, why="'main' itself fails."),
        clash(1, 2, 3, files=("a\nb.py", *"cdefg"), landed_by=None),
        clash(3, files=("a.py",), landed_by=(2,)),
        clash(3, 4, files=("a.py",), landed_by=()),
        CrewHeld(at=AT, why="Nobody comes up."),
        Noticed(at=AT, text="An odd thing."),
        WorkerChanged(at=AT, worker="w1", role="", state="working"),
        Spent(at=AT, agent="w1", usage=Usage(), cost_usd=None),
        TextDelta(at=AT, agent="lead", text="words"),
        entry("no_changes"),
    )

    assert [line.text for line in lines] == [
        "main is at 01234567",
        "w1: bash git status",
        "w1: bash was refused: no network",
        "main stays where it is: edits are in the way",
        "The queue blames no entry: 'main' itself fails.",
        r"task 1, task 2 and task 3 will conflict in 'a\nb.py', 'c', 'd', 'e', 'f' and 1 more",
        "task 3 conflicts with what has landed by task 2 in 'a.py'",
        "task 3 and task 4 conflict with what has landed in 'a.py'",
        "The crew rests until /resume: Nobody comes up.",
        "An odd thing.",
    ]


def test_call_that_never_started_is_told_with_who_what_and_why() -> None:
    call = {"agent": "lead", "tool": "board_post_task"}
    why = "The input of board_post_task does not fit: Object contains unknown field `role`."

    lines = told(
        CallEnded(at=AT, call_id="c-1", is_error=True, text=f"{why} Its fields are: …", **call)
    )

    assert lines == [Told(f"lead: board_post_task can't be run: {why[:-1]}", Tone.WARNING)]


def test_call_that_failed_is_told_and_one_that_succeeded_is_not() -> None:
    one = {"agent": "w1", "call_id": "c-1", "tool": "edit_file"}
    other = {"agent": "w2", "call_id": "c-1", "tool": "bash"}

    lines = told(
        CallStarted(at=AT, text="edit a.py", **one),
        CallStarted(at=AT, text="git status", **other),
        CallEnded(at=AT, is_error=True, text="old_text was not found. Read it.", **one),
        CallEnded(at=AT, is_error=False, text="clean", **other),
    )

    assert lines[2:] == [Told("w1: edit_file failed: old_text was not found", Tone.QUIET)]


def test_id_of_a_call_used_again_is_another_call() -> None:
    call = {"agent": "w1", "call_id": "c-1", "tool": "bash"}

    lines = told(
        CallStarted(at=AT, text="true", **call),
        CallEnded(at=AT, is_error=False, text="", **call),
        CallEnded(at=AT, is_error=True, text="There is no tool 'bash'.", **call),
    )

    assert lines[1:] == [Told("w1: bash can't be run: There is no tool 'bash'", Tone.WARNING)]


def test_change_of_mode_is_told_with_whom_it_reaches() -> None:
    def change(before: Mode, mode: Mode, *, for_all: bool = False) -> ModeChanged:
        return ModeChanged(at=AT, mode=mode, before=before, for_all=for_all)

    lines = told(
        change(Mode.AUTO, Mode.PLAN),
        change(Mode.PLAN, Mode.AUTO),
        change(Mode.AUTO, Mode.YOLO, for_all=True),
    )

    assert [line.text for line in lines] == [
        "the mode is plan now, for every agent's next call",
        "the mode is auto now, for the lead and workers that begin from now on",
        "the mode is yolo now, for every agent's next call",
    ]


def test_control_characters_of_a_worker_are_shown() -> None:
    (line,) = told(TaskChanged(at=AT, task=1, subject="a\x1b[2Jb\nc", status="pending"))

    assert line.text == r"task 1 is posted: a\x1b[2Jb"


def test_first_sentence_ends_at_a_full_stop_and_not_at_a_name() -> None:
    assert first_sentence("See 'a/b.py' now. Then go.\nMore") == "See 'a/b.py' now"
    assert first_sentence("") == ""
