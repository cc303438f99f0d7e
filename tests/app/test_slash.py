"""What the slash commands show, on a real run whose crew is not at work."""

import asyncio
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from modules.app.cli_options import RunOptions
from modules.app.compact_command import CompactCommand
from modules.app.lead_wiring import join_lead
from modules.app.run import Run
from modules.app.slash import Shown, slash_answer, slash_commands
from modules.app.wiring import join_run
from modules.records.tasks import TaskDraft
from tests.scenarios.programs import make_repository, make_script


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def shown_by(repository: Path, command: str, prepare: Callable[[Run], None]) -> list[str]:
    spec = make_script(repository.parent, [{"agent": "*", "turns": [{"say": "Unused."}]}])

    async def look() -> list[str]:
        run = join_run(repository, RunOptions(model=spec), has_person=True)
        prepare(run)
        compaction = CompactCommand(join_lead(run), is_at_turn=lambda: True, wake=lambda: None)
        commands = slash_commands(
            run, lambda: "You are the lead.\nBe brief.", lambda _: None, compaction
        )
        return text_of(slash_answer(commands, command))

    return asyncio.run(look())


def text_of(shown: Iterable[Shown]) -> list[str]:
    console = Console(file=StringIO(), width=100)
    for one in shown:
        console.print(one, markup=False)
    written = console.file
    assert isinstance(written, StringIO)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def nothing(run: Run) -> None:
    """Prepares nothing."""


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("/board", "The board is empty."),
        ("/team", "No worker is there; they start with the work."),
        ("/queue", "The merge queue is empty."),
        ("/inbox", "Nothing waits."),
        ("/pause", "The crew rests after this step; /resume lets it go on."),
        ("/pause nobody", "There is no worker 'nobody'."),
        ("/resume", "The crew goes on."),
        ("/compact", "The lead's conversation is compacted before its next request."),
        ("/mcp", "No MCP server is configured (.mcp.json)."),
        ("/prompt", "You are the lead."),
        ("/nonsense", "There is no command /nonsense."),
    ],
)
def test_command_on_an_empty_run_says_so(command: str, line: str, repository: Path) -> None:
    assert shown_by(repository, command, nothing)[0] == line


def test_help_lists_every_command_and_no_other(repository: Path) -> None:
    lines = shown_by(repository, "/help", nothing)

    named = [line.split()[0] for line in lines if line.startswith("/")]
    assert named == [
        "/board",
        "/compact",
        "/context",
        "/help",
        "/inbox",
        "/mcp",
        "/mode",
        "/pause",
        "/permissions",
        "/prompt",
        "/queue",
        "/resume",
        "/team",
    ]
    assert any(line.startswith("exit") for line in lines)


def test_board_is_a_table_with_what_each_task_waits_for(repository: Path) -> None:
    def prepare(run: Run) -> None:
        board = run.house.board
        board.add(TaskDraft(subject="漢字 \x1b[31m [bold]"), by="person")
        board.add(TaskDraft(subject="second", after=(1,)), by="person")
        board.cancel(1, reason="Not wanted. Really.", by="person")

    assert shown_by(repository, "/board", prepare) == [
        "   task                  status     by",
        r"1  漢字 \x1b[31m [bold]  cancelled      Not wanted",
        "2  second                blocked        It waits for task 1, which is cancelled",
    ]


def test_inbox_shows_mail_and_open_questions(repository: Path) -> None:
    def prepare(run: Run) -> None:
        run.house.mailbox.send(sender="w1", to=["lead"], body="I am stuck.")

    assert "I am stuck." in "\n".join(shown_by(repository, "/inbox", prepare))
