"""What another shell is shown of a crew, whose lead may be dead."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from modules.app.cli_board import list_tasks
from modules.app.cli_crew import team_json
from modules.app.opening import open_repository_at
from modules.records.crew import CrewView, WorkerState, WorkerView
from modules.records.tasks import TaskDraft
from modules.store.files import write_atomically
from modules.store.locks import LeadLock
from modules.store.paths import Paths
from modules.team.task_board import TaskBoard
from tests.scenarios.programs import make_repository, post

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
UNTIL = AT + timedelta(minutes=10)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Returns a repository whose only task is at work, by a process that lives."""
    made = make_repository(tmp_path / "sample", {"README.md": "a sample\n"})
    post(made, TaskDraft(subject="look"))
    paths = Paths(made)
    board = TaskBoard(paths, clock=lambda: AT)
    assert board.claim(worker="w1", role="", lease=timedelta(seconds=60)) is not None
    worker = WorkerView(
        name="w1",
        role="qa",
        state=WorkerState.WAITING,
        task=1,
        pid=os.getpid(),
        since=AT,
        until=UNTIL,
        doing="the lead's answer",
    )
    crew = CrewView(lead_pid=os.getpid(), workers=(worker,))
    write_atomically(paths.crew, msgspec.json.encode(crew))
    return made


def test_worker_of_a_living_lead_is_shown_with_since_and_until(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = LeadLock(Paths(repository).lead_lock)
    lock.acquire()
    try:
        shown = team_json(open_repository_at(repository))
        list_tasks(repo=repository, as_json=False)
    finally:
        lock.release()

    assert shown["lead"] == {"pid": os.getpid()}
    assert shown["workers"] == [
        {
            "name": "w1",
            "role": "qa",
            "state": "waiting",
            "task": 1,
            "pid": os.getpid(),
            "since": AT.isoformat(),
            "until": UNTIL.isoformat(),
            "doing": "the lead's answer",
            "tools": None,
            "mode": None,
        }
    ]
    assert capsys.readouterr().out == "task 1 [in_progress] look · w1, attempt 1\n"


def test_dead_leads_worker_is_not_shown_though_its_pid_belongs_to_somebody_again(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = team_json(open_repository_at(repository))
    list_tasks(repo=repository, as_json=False)

    assert (shown["lead"], shown["workers"]) == (None, [])
    assert shown["board"] == {"in_progress": 1}
    assert capsys.readouterr().out == (
        "task 1 [in_progress] look · w1, attempt 1 · Nobody is at it: the lead that ran it has "
        "ended. The next run takes it up.\n"
    )
