"""A run that takes over from a dead lead."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from modules.app.run import Run
from modules.records.crew import CrewView, WorkerState, WorkerView
from modules.records.decisions import Mode
from modules.records.tasks import TaskDraft, TaskStatus
from modules.store.files import write_atomically
from modules.team.board_rules import current_claim
from tests.app.runs import with_run
from tests.scenarios.programs import make_repository, make_script


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def leave_attempt(run: Run, worker: str) -> None:
    """Leaves an attempt at work, as a killed lead does."""
    run.house.board.add(TaskDraft(subject="look", attempts_allowed=1), by="person")
    task = run.house.board.claim(worker=worker, role="", lease=timedelta(seconds=60))
    assert task is not None
    (run.house.paths.lanes / "t1").mkdir(parents=True)
    run.house.board.bind_lane(current_claim(task), lane="t1", branch="wt/t1", base="HEAD")


def leave_crew(run: Run, view: WorkerView) -> None:
    """Leaves what a killed lead wrote of its only worker."""
    write_atomically(
        run.house.paths.crew, msgspec.json.encode(CrewView(lead_pid=1, workers=(view,)))
    )


def test_attempt_of_a_teammate_nobody_knows_any_more_is_given_back(repository: Path) -> None:
    async def story(run: Run) -> None:
        leave_attempt(run, "ann")
        leave_crew(
            run,
            WorkerView(name="ann", role="", state=WorkerState.IDLE, since=datetime.now(UTC)),
        )
        async with run.at_work():
            task = run.house.board.task(1)
            assert (task.status, task.reason) == (
                TaskStatus.PENDING,
                "The lead that ran this attempt ended.",
            )

    with_run(repository, story)


def test_attempt_of_a_teammate_goes_on_within_the_bounds_it_had(repository: Path) -> None:
    script = make_script(repository.parent / "ann", [{"agent": "*", "turns": [{"say": "Hm."}]}])
    view = WorkerView(
        name="ann",
        role="qa",
        state=WorkerState.WORKING,
        task=1,
        since=datetime.now(UTC),
        is_named=True,
        model=script,
        tools=("read_file",),
        mode=Mode.PLAN,
    )

    async def story(run: Run) -> None:
        leave_attempt(run, "ann")
        leave_crew(run, view)
        async with run.at_work():
            (ann,) = run.crew.workers()
            assert ann == msgspec.structs.replace(view, state=ann.state, since=ann.since)

    with_run(repository, story)
