"""Whatever ends a run, or keeps it from beginning, its report is whole and tells what it was."""

import json
import os
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

import pytest

from modules.app.cli_options import RunOptions
from modules.app.cli_run import run_board_command, run_goal_command
from modules.app.demo import run_demo
from modules.records.exits import Exit
from modules.records.tasks import TaskDraft
from modules.store.locks import LeadLock
from modules.store.paths import Paths
from tests.scenarios.programs import (
    PASSING,
    assert_nothing_left,
    calls,
    make_repository,
    make_script,
    post,
    worker,
    writing,
)

pytestmark = pytest.mark.slow

REPORT = {"result", "tasks", "landed", "workers", "usage", "seconds", "exit_code", "error"}
POSTING = {"call": {"board_post_task": {"subject": "more"}}}
Command = Callable[[Path, RunOptions], int]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    made = make_repository(tmp_path / "sample", {"README.md": "a sample\n"})
    post(made, TaskDraft(subject="add it"))
    return made


def work(repository: Path, options: RunOptions) -> int:
    return run_board_command(repository, options, as_json=True)


def goal(repository: Path, options: RunOptions) -> int:
    return run_goal_command(repository, options, goal="add it", output_format="json")


def script(folder: Path, *lead: dict[str, Any], does: dict[str, Any] | None = None) -> str:
    """Returns the SPEC of a lead and of whoever works on the task."""
    worker_script = does or writing("add it", "it.txt", "it\n")
    return make_script(folder, [{"agent": "lead", "turns": list(lead) or [POSTING]}, worker_script])


@pytest.mark.parametrize(("command", "attempts"), [(work, 1), (goal, 0)])
def test_budget_that_is_spent_is_reported_with_all_that_was_done(
    command: Command,
    attempts: int,
    repository: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = script(
        tmp_path, {**POSTING, "usage": {"input_tokens": 7, "output_tokens": 3}}, {"say": "Done."}
    )

    code = command(repository, RunOptions(model=spec, check=PASSING, budget_tokens=1))

    report = reported(capsys, "The budget of the run is spent")
    assert code == report["exit_code"] == Exit.LIMIT
    assert report["tasks"][0]["attempt"] >= attempts
    assert {task["status"] for task in report["tasks"]} == {"pending"}
    assert report["usage"]["in"] > 0
    assert report["seconds"] > 0
    assert_nothing_left(repository)


def test_quota_of_the_leads_model_is_reported(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = script(tmp_path, {"error": {"status": 429, "retry_after": 4000}})

    code = goal(repository, RunOptions(model=spec, check=PASSING))

    report = reported(capsys, "The server asks to wait until")
    assert code == report["exit_code"] == Exit.LIMIT
    assert [task["subject"] for task in report["tasks"]] == ["add it"]
    assert_nothing_left(repository)


def test_lead_that_fails_is_reported(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = script(tmp_path, {"say": "Hm."}, {"expect": "what never comes", "say": "Done."})

    code = goal(repository, RunOptions(model=spec, check=PASSING, mode="yolo"))

    report = reported(capsys, "The lead stopped")
    assert code == report["exit_code"] == Exit.FAILED
    assert [task["status"] for task in report["tasks"]] == ["completed"]
    assert len(report["landed"]) == 1
    assert_nothing_left(repository)


@pytest.mark.parametrize("command", [work, goal])
def test_model_a_person_has_to_mend_in_mid_run_is_reported(
    command: Command, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = script(tmp_path, {"say": "I wait."})
    post(repository, TaskDraft(subject="other", model="openai:gpt-9"))

    code = command(repository, RunOptions(model=spec, check=PASSING))

    report = reported(capsys, "OPENAI_API_KEY")
    assert code == report["exit_code"] == Exit.USAGE
    assert [task["subject"] for task in report["tasks"]] == ["add it", "other"]
    assert report["tasks"][1]["status"] == "pending"
    assert_nothing_left(repository)


@pytest.mark.parametrize("command", [work, goal])
def test_hook_that_ends_the_run_is_reported(
    command: Command,
    repository: Path,
    tmp_path: Path,
    own_environment: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hook = {"hooks": [{"type": "command", "command": "echo not today >&2; exit 2"}]}
    home = own_environment / "crewyard"
    home.mkdir(exist_ok=True)
    (home / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))

    code = command(repository, RunOptions(model=script(tmp_path), check=PASSING))

    report = reported(capsys, "not today")
    assert code == report["exit_code"] == Exit.FAILED
    assert [task["status"] for task in report["tasks"]] == ["pending"]
    assert_nothing_left(repository)


@pytest.mark.parametrize("command", [work, goal])
def test_run_beside_another_lead_is_reported(
    command: Command, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = LeadLock(Paths(repository).lead_lock)
    lock.acquire()
    try:
        code = command(repository, RunOptions(model=script(tmp_path), check=PASSING))
    finally:
        lock.release()

    report = reported(capsys, str(os.getpid()))
    assert code == report["exit_code"] == Exit.USAGE


@pytest.mark.parametrize("command", [work, goal])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (RunOptions(model="scripted:/nowhere.yaml"), "/nowhere.yaml"),
        (RunOptions(model="scripted:/nowhere.yaml", target="mian"), "mian"),
        (RunOptions(model="scripted:/nowhere.yaml", mode="bold"), "bold"),
    ],
)
def test_run_that_cannot_begin_is_reported(
    command: Command,
    options: RunOptions,
    words: str,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = command(repository, options)

    report = reported(capsys, words)
    assert code == report["exit_code"] == Exit.USAGE
    assert (report["tasks"], report["landed"], report["workers"]) == ([], [], [])


def test_demo_that_cannot_begin_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine\n")

    code = run_demo(tmp_path, as_json=True)

    report = reported(capsys, "is not empty", more={"surprises"})
    assert code == report["exit_code"] == Exit.USAGE


def test_event_stream_ends_with_the_report_too(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = script(tmp_path, {"error": {"status": 429, "retry_after": 4000}})
    options = RunOptions(model=spec, check=PASSING)

    code = run_goal_command(repository, options, goal="x", output_format="stream-json")

    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last.pop("event") == "report"
    assert set(last) == REPORT
    assert code == last["exit_code"] == Exit.LIMIT


def test_person_reads_what_ended_the_run_and_where_the_tasks_stand(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    does = worker("add it", calls({"ask_user": {"question": "Which?"}}), {"say": "Hm."})
    options = RunOptions(model=script(tmp_path, does=does), check=PASSING, budget_tokens=1)

    code = run_board_command(repository, options, as_json=False)

    written = capsys.readouterr()
    assert code == Exit.LIMIT
    assert written.err.startswith("crewyard: The budget of the run is spent")
    assert written.out.splitlines()[-1] == "1 pending · 0 landed"


def reported(
    capsys: pytest.CaptureFixture[str], words: str, *, more: Set[str] = frozenset()
) -> dict[str, Any]:
    """Returns the one document on stdout, which tells the error as stderr does."""
    written = capsys.readouterr()
    report: dict[str, Any] = json.loads(written.out)
    assert set(report) == REPORT | more
    assert words in report["error"] == report["result"]
    assert f"crewyard: {report['error']}\n" in written.err
    return report
