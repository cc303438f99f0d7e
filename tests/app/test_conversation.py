"""A person and the lead in conversation, on a real run whose crew is not at work."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from modules.app.cli_options import RunOptions
from modules.app.conversation import Conversation
from modules.app.lead_wiring import join_lead
from modules.app.run import Run
from modules.app.screen import Screen
from modules.app.terminal import End, Interrupt
from modules.app.wiring import join_run
from modules.records.events import AnyEvent, TextDelta
from modules.records.exits import Exit
from modules.records.tasks import TaskDraft
from tests.fakes.terminal import FakeTerminal
from tests.scenarios.programs import make_repository, make_script

pytestmark = pytest.mark.slow

Talk = Callable[[Run, FakeTerminal], Coroutine[Any, Any, None]]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def converse(
    repository: Path, turns: Sequence[dict[str, Any]], talk: Talk, *others: dict[str, Any]
) -> tuple[Exit, str]:
    """Holds a conversation while `talk` plays the person; returns how it ended and was seen."""
    spec = make_script(repository.parent, [{"agent": "lead", "turns": list(turns)}, *others])
    terminal = FakeTerminal(columns=100)

    async def run() -> Exit:
        joined = join_run(repository, RunOptions(model=spec), has_person=True)
        screen = Screen(terminal)
        lead = join_lead(joined)
        conversation = Conversation(joined, lead, terminal, screen)
        for listener in (screen.show, lead.take_event, conversation.take_event):
            joined.house.events.listen(listener)
        try:
            holding = asyncio.create_task(conversation.hold())
            await asyncio.sleep(0)
            playing = asyncio.create_task(talk(joined, terminal))
            await asyncio.wait({holding, playing}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
            playing.cancel()
            return await holding
        finally:
            lead.close()

    return asyncio.run(run()), terminal.text


def ctrl_c(at: float, *, has_text: bool = False) -> Interrupt:
    return Interrupt(at=at, has_text=has_text)


ASKS: dict[str, Any] = {"call": [{"ask_user": {"question": "Which one?"}}]}


def test_interrupted_lead_is_not_woken_by_news_until_the_person_speaks(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.say("first")
        await terminal.sees("? lead asks:")
        terminal.give(ctrl_c(10.0))
        await terminal.sees("(interrupted;")
        task = run.house.board.add(TaskDraft(subject="gone"), by="person")
        run.house.board.cancel(task.task_id, reason="not wanted", by="person")
        await asyncio.sleep(0.1)
        assert not terminal.view().is_busy
        terminal.say("second")
        await terminal.sees("Both came.")
        terminal.give(End())

    exit_code, text = converse(
        repository, [ASKS, {"expect": r"(?s)second.*not wanted", "say": "Both came."}], talk
    )

    assert exit_code is Exit.DONE
    assert text.index("> second") < text.index("Both came.")


def test_mail_the_lead_has_answered_to_is_read_whatever_becomes_of_its_turn(
    repository: Path,
) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        run.house.mailbox.send(sender="w1", to=["lead"], body="I am stuck.")
        terminal.say("first")
        await terminal.sees("? lead asks:")
        assert run.house.mailbox.unread("lead") == []
        terminal.give(ctrl_c(10.0))
        await terminal.sees("(interrupted;")
        terminal.say("second")
        await terminal.sees("Not twice.")
        terminal.give(End())

    exit_code, _ = converse(
        repository,
        [
            {**ASKS, "expect": "I am stuck"},
            {"expect": r"\A(?!(?s:.*)I am stuck)", "say": "Not twice."},
        ],
        talk,
    )

    assert exit_code is Exit.DONE


def test_news_wakes_a_lead_that_was_not_interrupted(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        task = run.house.board.add(TaskDraft(subject="gone"), by="person")
        run.house.board.cancel(task.task_id, reason="not wanted", by="person")
        await terminal.sees("I heard.")
        terminal.give(End())

    exit_code, _ = converse(repository, [{"expect": "not wanted", "say": "I heard."}], talk)

    assert exit_code is Exit.DONE


def test_question_in_words_is_answered_by_the_next_line(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.say("go")
        await terminal.sees("Which one?")
        assert terminal.view().asks == "? lead waits for your words"
        terminal.say("/team")
        await terminal.sees("No worker is there")
        terminal.say("the second\none", is_pasted=True)
        await terminal.sees("As you say.")
        terminal.give(End())

    exit_code, _ = converse(
        repository, [ASKS, {"expect": "the second\none", "say": "As you say."}], talk
    )

    assert exit_code is Exit.DONE


def test_ctrl_c_says_no_to_the_worker_that_is_shown_and_leaves_the_others(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        def ask(agent: str) -> "asyncio.Task[tuple[str, str]]":
            asking = run.house.questions.ask_permission(
                agent=agent, tool="bash", text="curl x", why="", rule_offered=""
            )
            return asyncio.create_task(asking)

        first, second = ask("w1"), ask("w2")
        await terminal.sees("? w1 wants to use bash")
        assert "w2" not in terminal.text
        terminal.give(ctrl_c(5.0, has_text=True))
        await wait_until(lambda: terminal.is_cleared)
        assert not first.done()
        terminal.give(ctrl_c(10.0))
        assert (await first)[0] == "no"
        await terminal.sees("? w2 wants to use bash")
        terminal.say("y")
        assert (await second)[0] == "yes"
        terminal.give(End())

    assert converse(repository, [{"say": "Unused."}], talk)[0] is Exit.DONE


def test_ctrl_c_alone_twice_leaves_and_with_text_takes_it_back(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.give(ctrl_c(10.0, has_text=True))
        terminal.give(ctrl_c(20.0))
        terminal.give(ctrl_c(21.5))
        await terminal.sees("Ctrl-C twice within a second")
        assert terminal.is_cleared
        terminal.give(ctrl_c(22.0))
        await asyncio.Event().wait()

    exit_code, text = converse(repository, [{"say": "Unused."}], talk)

    assert exit_code is Exit.INTERRUPTED
    assert text.count("Ctrl-C twice") == 2


def test_commands_and_leaving_words_are_words_when_pasted(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.say("exit", is_pasted=True)
        await terminal.sees("I heard exit.")
        terminal.say("/help", is_pasted=True)
        await terminal.sees("I heard help.")
        terminal.say("/nothing")
        await terminal.sees("There is no command /nothing.")
        terminal.say("/quit")
        await asyncio.Event().wait()

    turns = [
        {"expect": "exit$", "say": "I heard exit."},
        {"expect": "/help$", "say": "I heard help."},
    ]

    assert converse(repository, turns, talk)[0] is Exit.DONE


def test_what_is_said_during_a_turn_comes_as_one_in_the_next(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.say("first")
        await wait_until(lambda: terminal.view().is_busy)
        terminal.say("second")
        terminal.say("third\nfourth", is_pasted=True)
        await terminal.sees("All of it.")
        terminal.give(End())

    turns: list[dict[str, Any]] = [
        {"say": "One.", "delay_seconds": 0.3},
        {"expect": "second\n\nthird\nfourth$", "say": "All of it."},
    ]

    assert converse(repository, turns, talk)[0] is Exit.DONE


def test_turn_that_ends_in_failure_says_why(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.say("go")
        await terminal.sees("times in a row with the same input")
        terminal.give(End())

    again: dict[str, Any] = {"call": [{"board_list": {}}]}

    assert converse(repository, [again] * 7, talk)[0] is Exit.DONE


def test_bug_in_a_turn_ends_the_conversation(repository: Path) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        def fail(event: AnyEvent) -> None:
            if isinstance(event, TextDelta):
                raise ZeroDivisionError

        run.house.events.listen(fail)
        terminal.say("go")
        await asyncio.Event().wait()

    with pytest.raises(ZeroDivisionError):
        converse(repository, [{"say": "Words."}], talk)


def test_mode_is_shown_and_changed_by_what_is_typed_and_not_by_what_is_pasted(
    repository: Path,
) -> None:
    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.say("/mode yolo yes", is_pasted=True)
        await terminal.sees("I heard it.")
        assert terminal.view().status.startswith("auto mode")
        terminal.say("/mode plan")
        await terminal.sees("the mode is plan now, for every agent's next call")
        assert terminal.view().status.startswith("plan mode")
        terminal.give(End())

    assert converse(repository, [{"say": "I heard it."}], talk)[0] is Exit.DONE


async def wait_until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.01)


def test_status_tells_calls_at_once_and_what_runs_in_the_background(repository: Path) -> None:
    look = {"subagent": {"prompt": "look"}}
    serve = {"background_run": {"command": "sleep 60"}}

    async def talk(run: Run, terminal: FakeTerminal) -> None:
        terminal.say("go")
        async with asyncio.timeout(20):
            while "the lead runs subagent (2 at once)" not in terminal.view().status:
                await run.house.events.stirred()
        assert "1 in the background" in terminal.view().status
        await terminal.sees("Looked.")
        terminal.give(End())

    exit_code, _ = converse(
        repository,
        [{"call": [serve, look, look]}, {"say": "Looked."}],
        talk,
        {"agent": "lead/explore-*", "turns": [{"delay_seconds": 0.5, "say": "Seen."}]},
    )

    assert exit_code is Exit.DONE
