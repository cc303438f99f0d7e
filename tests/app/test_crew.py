"""What the lead may ask of its crew, on a real run whose crew is not at work."""

from pathlib import Path

import pytest

from modules.app.run import Run
from modules.records.decisions import Mode
from modules.records.errors import ModelFault
from tests.app.runs import with_run
from tests.scenarios.programs import make_repository
from tools.team import worker_line


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
