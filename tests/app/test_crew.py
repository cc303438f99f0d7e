"""What the lead may ask of its crew, on a real run whose crew is not at work."""

from pathlib import Path

import pytest

from modules.app.run import Run
from modules.records.decisions import Mode
from modules.records.errors import ModelFault
from modules.records.events import TaskChanged
from modules.records.tasks import TaskDraft, TaskStatus
from modules.records.tooling import ToolResult
from tests.app.runs import until_quiet, with_run
from tests.scenarios.programs import calls, make_repository, submit, worker
from tools.crew_context import CrewContext
from tools.team import Assign, assign_task, worker_line


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def spawn(
    run: Run, name: str = "ann", *, tools: tuple[str, ...] = (), mode: Mode | None = None
) -> None:
    run.crew.spawn(name=name, role="qa", model="", tools=tools, mode=mode)


def test_teammate_is_shown_with_the_tools_and_the_mode_it_was_given(repository: Path) -> None:
    async def story(run: Run) -> None:
        spawn(run, tools=("read_file", "grep"), mode=Mode.PLAN)
        spawn(run, "bob")
        since = f" since {run.crew.workers()[0].since.astimezone():%H:%M:%S}"

        assert [worker_line(worker) for worker in run.crew.workers()] == [
            f"ann · idle{since} · role qa · mode plan · tools read_file, grep",
            f"bob · idle{since} · role qa",
        ]

    with_run(repository, story)


@pytest.mark.parametrize("lead", list(Mode))
def test_mode_above_the_leads_is_refused_with_those_there_are(repository: Path, lead: Mode) -> None:
    async def story(run: Run) -> None:
        run.house.permissions.set_mode(lead)
        for number, mode in enumerate(Mode):
            if mode.rank <= lead.rank:
                spawn(run, f"t{number}", mode=mode)
                continue
            with pytest.raises(ModelFault) as caught:
                spawn(run, f"t{number}", mode=mode)
            allowed = ", ".join(list(Mode)[: lead.rank + 1])
            assert str(caught.value) == (
                f"The mode {mode} is above the lead's, which is {lead}; choose of: {allowed}."
            )

        assert len(run.crew.workers()) == lead.rank + 1

    with_run(repository, story, mode="yolo")


@pytest.mark.parametrize("tool", ["bsh", "spawn_teammate", "merge_integrate", "mcp__none__x"])
def test_tool_no_worker_can_have_is_refused_with_those_there_are(
    repository: Path, tool: str
) -> None:
    async def story(run: Run) -> None:
        with pytest.raises(ModelFault) as caught:
            spawn(run, tools=("bash", tool))

        assert str(caught.value).startswith(f"A worker can have no tool {tool!r}; there are ")
        assert ", bash, " in str(caught.value)
        assert run.crew.workers() == []

    with_run(repository, story)


@pytest.mark.parametrize("name", ["lead", "w1", "w12"])
def test_name_that_is_not_for_teammates_is_refused(repository: Path, name: str) -> None:
    async def story(run: Run) -> None:
        with pytest.raises(ModelFault, match="choose another"):
            spawn(run, name)

    with_run(repository, story)


async def assign(run: Run, name: str, task: str) -> ToolResult:
    """Assigns a task as the lead's model does."""
    context = CrewContext(agent="lead", crew=run.crew)
    return await assign_task(Assign(name=name, task=task), context)


def test_task_is_assigned_to_who_is_there_and_waits_for_who_is_busy(repository: Path) -> None:
    async def story(run: Run) -> None:
        nobody = await assign(run, "ann", "look")
        bob = run.supervisor.add_teammate("bob", "", "")
        absent = await assign(run, "ann", "look")
        free = await assign(run, "bob", "look\nAt all of it.\nSlowly.")
        bob.task = 1
        busy = await assign(run, "bob", "look again")

        assert [(result.text, result.is_error) for result in (nobody, absent, free, busy)] == [
            ("There is no worker 'ann'. Spawn one first.", True),
            ("There is no worker 'ann'. There are: bob.", True),
            ("Posted task 1 for bob.", False),
            ("Posted task 2 for bob, who is at task 1 and takes it afterwards.", False),
        ]
        drafts = [task.draft for task in run.house.board.tasks()]
        assert drafts == [
            TaskDraft(subject="look", description="At all of it.\nSlowly.", assignee="bob"),
            TaskDraft(subject="look again", assignee="bob"),
        ]

    with_run(repository, story)


@pytest.mark.slow
def test_tasks_assigned_to_a_busy_teammate_are_all_done_by_it_in_order(repository: Path) -> None:
    script = [
        worker(subject, calls(submit(no_changes_reason="Nothing."))) for subject in ("one", "two")
    ]
    taken: list[tuple[str, str]] = []

    async def story(run: Run) -> None:
        run.house.events.listen(
            lambda event: (
                taken.append((event.worker, event.subject))
                if isinstance(event, TaskChanged) and event.status == "in_progress"
                else None
            )
        )
        run.crew.spawn(name="ann", role="", model="", tools=(), mode=None)
        async with run.at_work():
            await assign(run, "ann", "one")
            await assign(run, "ann", "two")
            run.house.board.add(TaskDraft(subject="two"), by="person")
            await until_quiet(run)

        assert {task.status for task in run.house.board.tasks()} == {TaskStatus.COMPLETED}
        assert [subject for name, subject in dict.fromkeys(taken) if name == "ann"][:2] == [
            "one",
            "two",
        ]

    with_run(repository, story, script=script)
