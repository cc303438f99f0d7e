"""A role that no settings describe is told to who posts the task, and once to the crew's person."""

import json
from pathlib import Path

import pytest

from modules.app.cli import main
from modules.app.run import Run
from modules.records.events import AnyEvent, Noticed
from modules.records.tasks import TaskDraft
from tests.app.runs import with_run
from tests.scenarios.programs import make_repository
from tools.board import PostTask, post_task
from tools.crew_context import CrewContext

TOLD = (
    "No settings describe the role 'bakend'; they describe: backend. Who takes a task of that role "
    "has default settings."
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_environment: Path) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[roles.backend]\nprompt = "Be quick."\n')
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def test_lead_that_posts_a_task_is_told_and_the_person_once(repository: Path) -> None:
    notices: list[str] = []

    def note(event: AnyEvent) -> None:
        if isinstance(event, Noticed):
            notices.append(event.text)

    async def story(run: Run) -> None:
        context = CrewContext(agent="lead", crew=run.crew)
        run.house.events.listen(note)
        results = [
            await post_task(PostTask(subject=role, claim_role=role), context)
            for role in ("backend", "bakend", "bakend")
        ]

        assert [result.text for result in results] == [
            "Posted task 1: backend",
            f"Posted task 2: bakend\n{TOLD}",
            f"Posted task 3: bakend\n{TOLD}",
        ]
        run.house.board.add(TaskDraft(subject="more", role="bakend"), by="person")
        assert notices == [TOLD]

    with_run(repository, story)


def test_person_who_adds_a_task_is_told_on_stderr_and_stdout_stays_one_document(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add = ("task", "add", "look", "--repo", str(repository), "--json", "--role")

    assert main([*add, "backend"]) == 0
    known = capsys.readouterr()
    assert main([*add, "bakend"]) == 0
    unknown = capsys.readouterr()

    assert (json.loads(known.out)["role"], known.err) == ("backend", "")
    assert json.loads(unknown.out)["role"] == "bakend"
    assert unknown.err == f"crewyard: {TOLD}\n"


def test_role_that_cannot_be_looked_up_is_said_and_the_task_stands(
    repository: Path, own_environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_environment / "crewyard" / "settings.toml").write_text("roles = 1\n")

    code = main(["task", "add", "look", "--repo", str(repository), "--role", "bakend"])

    told = capsys.readouterr()
    assert code == 0
    assert told.out.startswith("task 1 [pending] look")
    assert told.err.startswith("crewyard: The task is on the board. Its role was not looked up: ")
