"""/mode shows the mode and changes it; raising to yolo wants a second word."""

import asyncio
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from modules.app.cli_options import RunOptions
from modules.app.lead_wiring import join_lead
from modules.app.mode_command import ModeCommand
from modules.app.run import Run
from modules.app.wiring import join_run
from modules.records.decisions import Mode
from modules.records.errors import PersonFault
from modules.records.events import AnyEvent, ModeChanged
from modules.records.session_records import AnySessionRecord, ModeSet
from modules.store.journal import Journal
from tests.scenarios.programs import make_repository, make_script


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def with_mode(repository: Path, mode: str, look: Callable[[Run], None]) -> None:
    spec = make_script(repository.parent, [{"agent": "*", "turns": [{"say": "Unused."}]}])

    async def run() -> None:
        look(join_run(repository, RunOptions(model=spec, mode=mode), has_person=True))

    asyncio.run(run())


def text_of(shown: Iterable[str | Table]) -> str:
    written = StringIO()
    console = Console(file=written, width=1_000)
    for one in shown:
        console.print(one, markup=False)
    return "\n".join(" ".join(line.split()) for line in written.getvalue().splitlines())


def refuse(record: AnySessionRecord) -> None:
    raise PersonFault("The journal can't be written: No space left.", hint="Make room.")


@pytest.mark.parametrize(
    ("words", "mode", "said"),
    [
        ("", Mode.AUTO, "* auto"),
        ("auto", Mode.AUTO, "The mode is auto already."),
        ("PLAN", Mode.PLAN, ""),
        ("acceptedits", Mode.ACCEPT_EDITS, ""),
        ("yolo", Mode.AUTO, "Type /mode yolo yes if you want that."),
        ("yolo all", Mode.AUTO, "Type /mode yolo all yes if you want that."),
        ("yolo yes", Mode.YOLO, ""),
        ("yolo all yes", Mode.YOLO, ""),
        ("next", Mode.ACCEPT_EDITS, ""),
        ("next next", Mode.AUTO, "'next next' is no mode"),
        ("fast", Mode.AUTO, "There is no mode 'fast'; there are plan, default, auto,"),
        ("plan quickly", Mode.AUTO, "'plan quickly' is no mode"),
    ],
)
def test_words_set_the_mode_or_say_why_not(
    repository: Path, words: str, mode: Mode, said: str
) -> None:
    def look(run: Run) -> None:
        text = text_of(ModeCommand(run.house, note=lambda record: None).lines(words))

        assert run.house.permissions.mode is mode
        assert said in text if said else not text

    with_mode(repository, "auto", look)


@pytest.mark.parametrize(
    ("mode", "following"),
    [(Mode.PLAN, Mode.DEFAULT), (Mode.ACCEPT_EDITS, Mode.PLAN), (Mode.YOLO, Mode.PLAN)],
)
def test_next_mode_is_never_yolo(repository: Path, mode: Mode, following: Mode) -> None:
    def look(run: Run) -> None:
        list(ModeCommand(run.house, note=lambda record: None).lines("next"))

        assert run.house.permissions.mode is following

    with_mode(repository, mode, look)


def test_warning_of_yolo_says_whether_a_sandbox_keeps_workers_in(repository: Path) -> None:
    def look(run: Run) -> None:
        warning = text_of(ModeCommand(run.house, note=lambda record: None).lines("yolo"))

        assert "there is no sandbox, so what workers run has all your rights" in warning

    with_mode(repository, "auto", look)


def test_change_is_in_the_leads_journal_and_told(repository: Path) -> None:
    def look(run: Run) -> None:
        heard: list[AnyEvent] = []
        run.house.events.listen(heard.append)
        lead = join_lead(run)
        list(ModeCommand(run.house, lead.note).lines("yolo all yes"))
        lead.close()
        (path,) = run.house.paths.sessions.glob("lead-*.jsonl")
        kept: list[AnySessionRecord] = []
        Journal(path, AnySessionRecord, apply=kept.append).catch_up()

        (told,) = heard
        assert isinstance(told, ModeChanged)
        assert kept[1:] == [ModeSet(at=told.at, mode=Mode.YOLO, before=Mode.PLAN, for_all=True)]

    with_mode(repository, "plan", look)


@pytest.mark.parametrize("words", ["plan", "plan all"])
def test_mode_is_not_raised_but_is_lowered_where_the_journal_can_not_be_written(
    repository: Path, words: str
) -> None:
    def look(run: Run) -> None:
        command = ModeCommand(run.house, note=refuse)
        raised, after_raising = text_of(command.lines("yolo yes")), run.house.permissions.mode
        lowered, after_lowering = text_of(command.lines(words)), run.house.permissions.mode

        assert raised.endswith("So the mode stays auto.")
        assert "No space left" in lowered
        assert (after_raising, after_lowering) == (Mode.AUTO, Mode.PLAN)

    with_mode(repository, "auto", look)
