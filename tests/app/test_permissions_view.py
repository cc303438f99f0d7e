"""Whoever asks what an agent may do is shown its mode, its tools and its rules with their files."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from modules.app.cli_options import RunOptions
from modules.app.lead_wiring import join_lead
from modules.app.permissions_view import permission_lines
from modules.app.run import Run
from modules.app.wiring import join_run
from modules.records.decisions import Mode
from tests.scenarios.programs import make_repository, make_script

SETTINGS = """\
[permissions]
allow = ["Bash(pytest *)"]
deny = ["Write(secrets/**)"]

[roles.qa]
tools = ["read_file", "bash"]
allow = ["Bash(pytest -q)"]
deny = ["Bash(git push *)"]

[roles.careful]
plan = true
"""


@pytest.fixture
def repository(tmp_path: Path, own_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(SETTINGS)
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def shown(repository: Path, name: str) -> list[str]:
    spec = make_script(repository.parent, [{"agent": "*", "turns": [{"say": "Unused."}]}])

    async def look() -> list[str]:
        run = join_run(repository, RunOptions(model=spec), has_person=True)
        lead = join_lead(run)
        run.house.permissions.remember("Bash(make)")
        run.crew.spawn(name="ann", role="qa", model="", tools=("bash",), mode=Mode.DEFAULT)
        try:
            return lines_of(run, name)
        finally:
            lead.close()

    return asyncio.run(look())


def lines_of(run: Run, name: str) -> list[str]:
    written = StringIO()
    console = Console(file=written, width=200)
    for one in permission_lines(run, name):
        console.print(one, markup=False)
    folder = str(run.house.environment.user_folder)
    return [" ".join(line.replace(folder, "~").split()) for line in written.getvalue().splitlines()]


GENERAL = ["denied Write(secrets/**) ~/settings.toml"]
ALLOWED = ["allowed Bash(make) session", "allowed Bash(pytest *) ~/settings.toml"]
OF_ROLE = [
    "rule from",
    *GENERAL,
    "denied Bash(git push *) ~/settings.toml, role qa",
    *ALLOWED,
    "allowed only as far as Bash(pytest -q) ~/settings.toml, role qa",
]


@pytest.mark.parametrize("name", ["", "lead"])
def test_lead_is_shown_where_nobody_is_named(repository: Path, name: str) -> None:
    lines = shown(repository, name)

    assert lines == ["lead: auto mode, without a sandbox", "rule from", *GENERAL, *ALLOWED]


def test_role_is_shown_with_what_it_leaves_a_worker(repository: Path) -> None:
    assert shown(repository, "qa") == [
        "a worker to come, qa: auto mode, without a sandbox",
        "only these tools beside the crew's: read_file, bash",
        *OF_ROLE,
    ]


def test_teammate_is_shown_with_what_it_was_given_of_its_role(repository: Path) -> None:
    assert shown(repository, "ann") == [
        "ann, qa: default mode, without a sandbox",
        "only these tools beside the crew's: bash",
        *OF_ROLE,
    ]


def test_role_that_plans_first_begins_in_plan_mode(repository: Path) -> None:
    assert shown(repository, "careful")[0].startswith("a worker to come, careful: plan mode")


def test_name_nobody_has_is_answered_with_those_there_are(repository: Path) -> None:
    assert shown(repository, "bob") == [
        "There is no agent and no role 'bob'; there are lead, ann, qa, careful."
    ]
