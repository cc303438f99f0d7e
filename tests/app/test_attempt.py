"""What holds for a worker's attempt because of what its teammate was given, whoever leads."""

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from modules.app.cli_crew import team_json
from modules.app.mode_command import ModeCommand
from modules.app.opening import open_repository_at
from modules.app.run import Run
from modules.records.decisions import Mode
from modules.records.events import (
    AnyEvent,
    CallDenied,
    CallEnded,
    Noticed,
    QuestionAsked,
    WorkerChanged,
)
from modules.records.tasks import TaskDraft, TaskStatus
from modules.store.paths import Paths
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

LONG_OUTPUT = (
    'import json; text = "x\\n" * 40_000 + "in the middle" + "\\nx" * 40_000; '
    'print(json.dumps({"hookSpecificOutput": {"updatedToolOutput": text}}))'
)
ASKED = "touch made && ls && rm made"
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


def test_worker_that_waits_for_the_person_keeps_its_task_and_does_what_is_allowed(
    repository: Path, own_environment: Path
) -> None:
    """PRM-03: the worker is named with its command, and its lease is kept alive as it waits."""
    role_settings(own_environment, 'lease_seconds = 6.0\n[permissions]\nask = ["Bash(touch *)"]\n')
    script = [worker("make it", calls(bash(ASKED)), calls(NOTHING, expect="made$"))]
    asked: list[tuple[str, str, str]] = []

    async def story(run: Run) -> None:
        async def answer() -> None:
            while not (pending := run.house.questions.pending()):
                await run.house.events.stirred()
            asked.extend((one.agent, one.tool, one.text) for one in pending)
            begun = run.house.board.task(1).lease_until
            assert begun is not None
            while (run.house.board.task(1).lease_until or begun) < begun + timedelta(seconds=3):
                await asyncio.sleep(0.05)
            run.house.questions.answer(pending[0].question_id, "yes")

        async with run.at_work():
            await answer()
            await until_quiet(run)

    post(repository, TaskDraft(subject="make it"))
    with_run(repository, story, script=script, has_person=True)

    assert asked == [("w1", "bash", ASKED)]
    (task,) = tasks(repository)
    assert (task["status"], task["attempt"]) == ("completed", 1), task


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


@pytest.mark.parametrize("sandbox", ["bwrap", "landlock"])
def test_worker_reads_all_of_a_long_result_of_the_lead_inside_its_jail(
    repository: Path, own_environment: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    skip_without(sandbox)
    monkeypatch.setenv("CREWYARD_SANDBOX", sandbox)
    hook = {"matcher": "list_dir", "command": f"{sys.executable} -c '{LONG_OUTPUT}'"}
    hooks = own_environment / "crewyard" / "hooks.json"
    hooks.parent.mkdir(exist_ok=True)
    hooks.write_text(json.dumps({"hooks": {"PostToolUse": [hook]}}))
    place = f"{Paths(repository).temporary}/t1-1-look/outputs"
    script = [
        worker(
            "look",
            calls({"list_dir": {"path": "."}}),
            calls(bash("cat ../../.team/outputs/*"), expect=f"the whole text is in {place}/"),
            calls(bash(f"grep -o 'in the [^x]*' {place}/*"), expect="No such file|denied"),
            calls({"grep": {"pattern": "^in the ", "path": place}}, expect="in the middle"),
            calls({"glob": {"pattern": "*.txt", "path": place}}, expect=":40001:in the middle"),
            calls(NOTHING, expect=r"\.txt"),
        )
    ]

    async def story(run: Run) -> None:
        async with run.at_work():
            await until_quiet(run)

    post(repository, TaskDraft(subject="look"))
    with_run(repository, story, script=script)

    assert [task["status"] for task in tasks(repository)] == ["completed"], tasks(repository)


def test_link_a_worker_plants_leads_no_output_of_its_command_with_the_network_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without("bwrap")
    monkeypatch.setenv("CREWYARD_SANDBOX", "bwrap")
    outside = tmp_path / "outside"
    outside.mkdir()
    long = "head -c 40000 /dev/zero | tr '\\0' x; echo; echo THE END"
    script = [
        worker(
            "look",
            calls({"bash_with_network": {"command": long, "reason": "a look"}}),
            calls(
                bash("tail -1 $TMPDIR/outputs/*"), expect="the whole text is in .*/tmp/t1-1-look/"
            ),
            calls(
                bash(f"rm -r $TMPDIR/outputs; ln -s {outside} $TMPDIR/outputs"), expect="^THE END"
            ),
            calls({"bash_with_network": {"command": long, "reason": "a look"}}),
            calls(NOTHING, expect="could not be laid beside you"),
        )
    ]

    async def story(run: Run) -> None:
        async def say_yes() -> None:
            while True:
                for question in run.house.questions.pending():
                    run.house.questions.answer(question.question_id, "yes")
                await run.house.events.stirred()

        async with run.at_work():
            yes = asyncio.create_task(say_yes())
            await until_quiet(run)
            yes.cancel()

    post(repository, TaskDraft(subject="look"))
    with_run(repository, story, script=script, has_person=True)

    assert list(outside.iterdir()) == []
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
            task = run.house.board.task(1)
            assert task.status is TaskStatus.PENDING
            assert task.reason.startswith("ann was shut down.")

    post(repository, TaskDraft(subject="look", assignee="ann"))
    with_run(repository, story, script=script, mode="yolo")

    assert_nothing_left(repository)


def at_work_in(repository: Path) -> list[str]:
    """Returns the commands that run in a lane."""
    pids = [pid for lane in lanes_in(repository) for pid in processes_in(lane)]
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids]


def test_worker_is_shown_with_what_it_waits_for_and_until_when(
    repository: Path, own_environment: Path
) -> None:
    role_settings(own_environment, "ask_timeout_seconds = 300.0\n")
    script = [
        worker(
            "look",
            calls({"ask_user": {"question": "Which?"}}),
            {"error": {"status": 429, "retry_after": 0.3}},
            calls({"ask_lead": {"question": "How?"}}, expect="This one"),
            calls(NOTHING, expect="Like so"),
        )
    ]
    waits: list[tuple[str, float | None]] = []
    in_file: list[tuple[str, bool]] = []

    async def story(run: Run) -> None:
        loop = asyncio.get_running_loop()
        run.crew.has_lead = True

        def take(event: AnyEvent) -> None:
            if isinstance(event, WorkerChanged) and event.state == "waiting":
                limit = None if event.until is None else (event.until - event.at).total_seconds()
                waits.append((event.why, limit))
                loop.call_soon(look)
            if isinstance(event, QuestionAsked):
                loop.call_later(0.1, run.house.questions.answer, event.question_id, "This one.")
            if isinstance(event, Noticed) and event.text == "w1 waits for the lead: How?":
                loop.call_later(0.1, answer)

        def answer() -> None:
            run.crew.send_mail(agent="lead", to="w1", body="Like so.")

        def look() -> None:
            (shown,) = json.loads(json.dumps(team_json(open_repository_at(repository))))["workers"]
            in_file.append((shown["doing"], shown["until"] > shown["since"]))

        run.house.events.listen(take)
        async with run.at_work():
            await until_quiet(run)

    post(repository, TaskDraft(subject="look"))
    with_run(repository, story, script=script, has_person=True)

    assert [task["status"] for task in tasks(repository)] == ["completed"], tasks(repository)
    assert [why for why, _ in waits] == [
        "a person's answer",
        "its model's provider",
        "the lead's answer",
    ]
    limits = [limit for _, limit in waits if limit is not None]
    assert [round(limit) for limit in limits] == [300, 0, 300]
    assert in_file == [(why, True) for why, _ in waits]
