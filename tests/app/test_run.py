"""A run that takes over from a dead lead."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from modules.app.run import Run
from modules.records.crew import CrewView, WorkerState, WorkerView
from modules.records.decisions import Mode
from modules.records.events import AnyEvent, Noticed, TaskStuck
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
    lane = f"t{task.task_id}"
    (run.house.paths.lanes / lane).mkdir(parents=True)
    run.house.board.bind_lane(current_claim(task), lane=lane, branch=f"wt/{lane}", base="HEAD")


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


def test_second_attempt_that_a_dead_lead_left_to_one_worker_is_given_back(
    repository: Path,
) -> None:
    async def story(run: Run) -> None:
        leave_attempt(run, "w1")
        leave_attempt(run, "w1")
        async with run.at_work():
            assert [worker.task for worker in run.crew.workers()] == [1]
            task = run.house.board.task(2)
            assert (task.status, task.reason) == (
                TaskStatus.PENDING,
                "The lead that ran this attempt ended.",
            )

    with_run(repository, story)


def test_teammate_that_tasks_wait_for_is_there_again_in_the_next_run(repository: Path) -> None:
    async def first(run: Run) -> None:
        async with run.at_work():
            run.supervisor.pause(None)
            for name in ("ann", "bob", "eve"):
                run.crew.spawn(name=name, role="qa", model="", tools=("read_file",), mode=Mode.PLAN)
                run.house.board.add(TaskDraft(subject=f"for {name}", assignee=name), by="lead")
            await run.crew.shut_down("eve")
            run.house.board.cancel(2, reason="not wanted", by="person")

    async def second(run: Run) -> None:
        seen: list[AnyEvent] = []
        run.house.events.listen(seen.append)
        run.supervisor.pause(None)
        async with run.at_work():
            await asyncio.sleep(0)
            (ann,) = run.crew.workers()
            bounds = (ann.role, ann.tools, ann.mode)
            assert (ann.name, bounds) == ("ann", ("qa", ("read_file",), Mode.PLAN))
        stuck = [event.task for event in seen if isinstance(event, TaskStuck)]
        assert stuck == [3]

    with_run(repository, first)
    with_run(repository, second)


def test_crew_whose_file_can_not_be_written_works_on_and_that_is_told_once(
    repository: Path,
) -> None:
    notices: list[str] = []

    async def story(run: Run) -> None:
        crew = run.house.paths.crew
        run.house.events.listen(
            lambda event: notices.append(event.text) if isinstance(event, Noticed) else None
        )
        async with run.at_work():
            crew.unlink(missing_ok=True)
            crew.mkdir()
            for name in ("ann", "bob"):
                run.crew.spawn(name=name, role="", model="", tools=(), mode=None)
                await run.crew.shut_down(name)

    with_run(repository, story)

    assert [text for text in notices if "crew.json can't be written" in text] == [
        f"{repository}/.team/crew.json can't be written: Is a directory. `crewyard team` shows no "
        "change of the crew until it can."
    ]
