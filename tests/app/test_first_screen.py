"""The first lines tell where the console works, and what is not as one would expect."""

import asyncio
from pathlib import Path

import pytest

from modules.app.cli_options import RunOptions
from modules.app.first_screen import first_lines
from modules.app.wiring import join_run
from modules.records.tasks import TaskDraft
from tests.scenarios.programs import make_repository, make_script


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def lines_of(repository: Path, *, check: str, unused: str = "") -> list[tuple[str, str]]:
    spec = make_script(repository.parent, [{"agent": "*", "turns": [{"say": "Unused."}]}])

    async def look() -> list[tuple[str, str]]:
        run = join_run(repository, RunOptions(model=spec, check=check), has_person=True)
        run.house.board.add(TaskDraft(subject="left over"), by="person")
        return list(first_lines(run, unused=unused))

    return asyncio.run(look())


def test_first_lines_name_repository_model_check_and_what_is_left_over(repository: Path) -> None:
    lines = [text for text, _ in lines_of(repository, check="make it")]

    assert lines[0].startswith("Crewyard in sample on main at ")
    assert lines[1] == f"  model    scripted:{repository.parent}/script.yaml"
    assert lines[2] == "  check    make it"
    assert lines[4] == "  board    1 pending"
    assert "/help" in lines[5]


def test_what_is_off_or_missing_stands_out(repository: Path) -> None:
    lines = dict(lines_of(repository, check="", unused="team.toml: not used"))

    (sandbox,) = [text for text in lines if "sandbox" in text]
    (check,) = [text for text in lines if "  check" in text]
    assert "CREWYARD_SANDBOX=off" in sandbox
    assert lines[sandbox] == "bold red"
    assert "no work can land" in check
    assert lines[check] == lines["  trust    team.toml: not used"] == "yellow"
