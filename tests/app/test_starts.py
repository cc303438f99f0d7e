"""A worker that does not come up is ended, its task given back; nobody is started without end."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from modules.app.lead_events import event_line
from modules.app.run import Run
from modules.records.errors import PersonFault
from modules.records.events import AnyEvent, CrewHeld, TaskChanged, WorkerChanged
from modules.records.exits import Exit
from modules.records.tasks import TaskDraft, TaskStatus
from tests.app.runs import until_quiet, with_run
from tests.scenarios.programs import assert_nothing_left, make_repository, post

pytestmark = pytest.mark.slow

SILENT = (sys.executable, "-c", "import sys; sys.stderr.write('not yet'); sys.stdin.read()")
"""A program that lives and never says hello."""
DYING = (sys.executable, "-c", "raise SystemExit('no such module')")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_environment: Path) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("start_timeout_seconds = 0.4\n")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def starts(events: Sequence[AnyEvent]) -> int:
    """Returns how many workers' processes were started."""
    return sum(
        isinstance(event, WorkerChanged) and event.state == "starting" and event.until is not None
        for event in events
    )


def test_worker_that_stays_silent_is_ended_by_its_deadline_and_its_task_given_back(
    repository: Path,
) -> None:
    seen: list[AnyEvent] = []

    async def story(run: Run) -> None:
        run.house.events.listen(seen.append)
        async with run.at_work():
            await until_quiet(run)
            task = run.house.board.task(1)
        assert (task.status, task.failures) == (TaskStatus.FAILED, 2)
        assert "did not say hello within 0.4 s" in task.reason
        (log,) = sorted((repository / ".team" / "sessions").glob("t1-1*.log"))
        assert log.name in seen_reasons(seen)[0]
        assert log.read_text() == "not yet"

    post(repository, TaskDraft(subject="look", attempts_allowed=2))
    with_run(repository, story, worker_argv=SILENT)

    assert starts(seen) == 2
    assert len(set(seen_reasons(seen))) == len(seen_reasons(seen)) == 2
    assert_nothing_left(repository)


def seen_reasons(events: Sequence[AnyEvent]) -> list[str]:
    """Returns why the task went back or was given up, as often as that was told."""
    return [
        event.reason
        for event in events
        if isinstance(event, TaskChanged) and event.status in ("pending", "failed") and event.reason
    ]


def test_worker_whose_log_can_not_be_opened_fails_its_attempt_and_not_the_run(
    repository: Path,
) -> None:
    (repository / ".team" / "sessions" / "t1-1-look.log").mkdir(parents=True)

    async def story(run: Run) -> None:
        async with run.at_work():
            await until_quiet(run)
            task = run.house.board.task(1)
        assert (task.status, task.failures) == (TaskStatus.FAILED, 1)
        assert "could not be started: [Errno 21] Is a directory" in task.reason

    post(repository, TaskDraft(subject="look", attempts_allowed=1))
    with_run(repository, story, worker_argv=SILENT)

    assert_nothing_left(repository)


def test_machine_on_which_nobody_comes_up_ends_a_run_that_has_no_person(repository: Path) -> None:
    seen: list[AnyEvent] = []

    async def story(run: Run) -> None:
        run.house.events.listen(seen.append)
        with pytest.raises(PersonFault) as caught:
            async with run.at_work():
                await until_quiet(run)
        assert caught.value.exit_code is Exit.FAILED
        assert "5 workers in a row did not come up" in caught.value.line
        assert "no such module" in next(repository.glob(".team/sessions/*.log")).read_text()

    post(repository, *(TaskDraft(subject=f"look {number}") for number in range(20)))
    with_run(repository, story, worker_argv=DYING)

    assert 5 <= starts(seen) <= 7
    assert_nothing_left(repository)


def test_machine_on_which_nobody_comes_up_holds_the_crew_until_the_person_has_looked(
    repository: Path,
) -> None:
    seen: list[AnyEvent] = []

    async def story(run: Run) -> None:
        run.house.events.listen(seen.append)
        async with run.at_work():
            while run.house.board.next_start() is None or not held(seen):
                await run.house.events.stirred()
            while run.supervisor.is_busy:
                await run.house.events.stirred()
            begun = starts(seen)
            await asyncio.sleep(0)
            assert not run.supervisor.is_busy
            assert starts(seen) == begun <= 7

    post(repository, *(TaskDraft(subject=f"look {number}") for number in range(20)))
    with_run(repository, story, worker_argv=DYING, has_person=True)

    (event,) = held(seen)
    assert event_line(event).startswith("the crew rests until the person lets it go on: 5 workers")
    assert_nothing_left(repository)


def held(events: Sequence[AnyEvent]) -> list[CrewHeld]:
    return [event for event in events if isinstance(event, CrewHeld)]
