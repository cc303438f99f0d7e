"""What holds for a worker's attempt because of what its teammate was given, whoever leads."""

import asyncio
from pathlib import Path

import pytest

from modules.app.mode_command import ModeCommand
from modules.app.run import Run
from modules.records.decisions import Mode
from modules.records.events import CallDenied, CallEnded
from modules.records.tasks import TaskDraft, TaskStatus
from tests.app.runs import until_quiet, with_run
from tests.scenarios.programs import (
    assert_nothing_left,
    bash,
    calls,
    lanes_in,
    make_repository,
    post,
    processes_in,
    skip_without,
    submit,
    tasks,
    worker,
    write,
)

pytestmark = pytest.mark.slow

NOTHING = submit(no_changes_reason="There is nothing to change.")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def role_settings(home: Path, text: str) -> None:
    settings = home / "crewyard" / "settings.toml"
    settings.parent.mkdir()
    settings.write_text(text)


def test_teammate_has_the_tools_that_it_and_its_role_have(
    repository: Path, own_environment: Path
) -> None:
    role_settings(own_environment, '[roles.qa]\ntools = ["read_file", "grep"]\n')
    script = [
        worker(
            "look",
            calls({"read_file": {"path": "README.md"}}),
            calls({"grep": {"pattern": "a"}}, expect="a sample"),
            calls(write("sneaked.txt", "x"), expect="There is no tool 'grep'"),
            calls(NOTHING, expect="There is no tool 'write_file'"),
        )
    ]

    async def story(run: Run) -> None:
        tools = ("read_file", "write_file")
        run.crew.spawn(name="ann", role="qa", model="", tools=tools, mode=None)
        async with run.at_work():
            await until_quiet(run)

    post(repository, TaskDraft(subject="look", assignee="ann"))
    with_run(repository, story, script=script)

    assert [task["status"] for task in tasks(repository)] == ["completed"], tasks(repository)
    assert_nothing_left(repository)


def test_teammate_in_a_lower_mode_than_the_lead_is_held_to_it(repository: Path) -> None:
    script = [
        worker("look", calls(write("a.txt", "x")), calls(NOTHING, expect="plan mode only reads"))
    ]

    async def story(run: Run) -> None:
        run.crew.spawn(name="ann", role="", model="", tools=(), mode=Mode.PLAN)
        async with run.at_work():
            await until_quiet(run)

    post(repository, TaskDraft(subject="look", assignee="ann"))
    with_run(repository, story, script=script, mode="yolo")

    assert [task["status"] for task in tasks(repository)] == ["completed"], tasks(repository)


def test_mode_lowered_in_the_lead_holds_for_a_running_workers_next_call(repository: Path) -> None:
    script = [
        worker(
            "look",
            calls({"read_file": {"path": "README.md"}}),
            calls(write("a.txt", "x"), expect="a sample"),
            calls(NOTHING, expect="plan mode only reads"),
        )
    ]
    denied: list[CallDenied] = []
    on_disk: list[Path] = []

    async def story(run: Run) -> None:
        mode = ModeCommand(run.house, note=lambda record: None)

        def lower(event: object) -> None:
            if isinstance(event, CallEnded) and event.tool == "read_file":
                list(mode.lines("plan"))
            if isinstance(event, CallDenied):
                denied.append(event)
                on_disk.extend(run.house.paths.lanes.glob("*/a.txt"))

        run.house.events.listen(lower)
        async with run.at_work():
            await until_quiet(run)

    post(repository, TaskDraft(subject="look"))
    with_run(repository, story, script=script, mode="yolo")

    assert [(event.tool, event.agent) for event in denied] == [("write_file", "w1")]
    assert on_disk == []
    assert [task["status"] for task in tasks(repository)] == ["completed"], tasks(repository)


def test_mode_raised_in_the_lead_reaches_a_running_worker_only_when_it_is_for_all(
    repository: Path,
) -> None:
    wrote = {"write_file": {"path": "a.txt", "content": "x"}}
    script = [
        worker(
            "look",
            calls({"read_file": {"path": "README.md"}}),
            calls(wrote, expect="a sample"),
            calls(wrote, expect="default mode asks about that"),
            calls(NOTHING, expect="Wrote|Created"),
        )
    ]
    on_disk: list[bool] = []

    async def story(run: Run) -> None:
        mode = ModeCommand(run.house, note=lambda record: None)

        def change(event: object) -> None:
            if isinstance(event, CallEnded) and event.tool == "read_file":
                list(mode.lines("acceptEdits"))
            if isinstance(event, CallDenied):
                on_disk.append(any(run.house.paths.lanes.glob("*/a.txt")))
                list(mode.lines("acceptEdits all"))
            if isinstance(event, CallEnded) and event.tool == "write_file":
                on_disk.append(any(run.house.paths.lanes.glob("*/a.txt")))
                (next(run.house.paths.lanes.glob("*/a.txt"))).unlink()

        run.house.events.listen(change)
        async with run.at_work():
            await until_quiet(run)

    post(repository, TaskDraft(subject="look"))
    with_run(repository, story, script=script, mode="default")

    assert on_disk == [False, True]
    assert [task["status"] for task in tasks(repository)] == ["completed"], tasks(repository)


@pytest.mark.parametrize("sandbox", ["bwrap", "landlock"])
def test_worker_reads_all_of_a_long_message_inside_its_jail(
    repository: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    skip_without(sandbox)
    monkeypatch.setenv("CREWYARD_SANDBOX", sandbox)
    script = [
        worker(
            "look",
            calls(bash("ls .. ../../.team/outputs; cat $TMPDIR/mail/*"), expect="of 9007 charac"),
            calls(NOTHING, expect="(?s)x{5000}.*THE END"),
        )
    ]

    async def story(run: Run) -> None:
        run.crew.spawn(name="ann", role="qa", model="", tools=(), mode=None)
        run.crew.send_mail(agent="lead", to="role:qa", body="x" * 9_000 + "THE END")
        async with run.at_work():
            await until_quiet(run)

    post(repository, TaskDraft(subject="look", assignee="ann"))
    with_run(repository, story, script=script)

    assert [task["status"] for task in tasks(repository)] == ["completed"], tasks(repository)


def test_teammate_that_is_shut_down_is_gone_with_its_commands_and_its_task_is_back(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    script = [worker("look", calls(bash("trap '' TERM; setsid sleep 60 & sleep 60")))]

    async def story(run: Run) -> None:
        run.crew.spawn(name="ann", role="", model="", tools=(), mode=None)
        async with run.at_work():
            while sum("sleep" in line for line in at_work_in(repository)) < 2:
                await asyncio.sleep(0.05)
            await run.crew.shut_down("ann")

            assert at_work_in(repository) == []
            assert run.crew.workers() == []
            assert run.house.board.task(1).status is TaskStatus.PENDING

    post(repository, TaskDraft(subject="look", assignee="ann"))
    with_run(repository, story, script=script, mode="yolo")

    assert_nothing_left(repository)


def at_work_in(repository: Path) -> list[str]:
    """Returns the commands that run in a lane."""
    pids = [pid for lane in lanes_in(repository) for pid in processes_in(lane)]
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids]
