"""Questions to the person: whole, answered in time or a no, and a no at once without a person."""

import asyncio
from typing import Any

import pytest

from modules.app.event_bus import EventBus
from modules.app.questions import NOBODY_THERE, QuestionDesk, asked_text
from modules.app.wait_notes import WaitNotes
from modules.records.decisions import (
    Answer,
    PathSubject,
    Risk,
    ShellSubject,
    Subject,
    ToolSubject,
    UrlSubject,
)
from modules.records.events import AnyEvent, QuestionAsked
from modules.records.messages import ToolCall
from tests.fakes.clock import FakeClock


def desk(*, has_person: bool, seconds: float = 60.0) -> tuple[QuestionDesk, list[AnyEvent]]:
    events = EventBus(FakeClock())
    seen: list[AnyEvent] = []
    events.listen(seen.append)
    return QuestionDesk(
        events, WaitNotes(FakeClock()), has_person=has_person, timeout_seconds=seconds
    ), seen


async def ask(questions: QuestionDesk, agent: str = "w1") -> tuple[Answer, str]:
    return await questions.ask_permission(
        agent=agent, tool="bash", text="curl x", why="it talks", rule_offered=""
    )


def test_without_a_person_the_answer_is_no_at_once_and_nothing_is_asked() -> None:
    questions, seen = desk(has_person=False)

    assert asyncio.run(ask(questions)) == (Answer.NO, NOBODY_THERE)

    assert seen == []


def test_questions_wait_oldest_first_until_each_is_answered() -> None:
    questions, seen = desk(has_person=True)

    async def run() -> list[tuple[Answer, str]]:
        asking = [asyncio.create_task(ask(questions, agent)) for agent in ("w1", "w2")]
        await asyncio.sleep(0)
        assert [question.agent for question in questions.pending()] == ["w1", "w2"]
        for question, words in zip(questions.pending(), ("no", "yes"), strict=True):
            questions.answer(question.question_id, words)
            questions.answer(question.question_id, "always")
        return await asyncio.gather(*asking)

    assert asyncio.run(run()) == [(Answer.NO, "the person said no"), (Answer.YES, "")]
    assert [event.agent for event in seen if isinstance(event, QuestionAsked)] == ["w1", "w2"]
    assert questions.pending() == []


def test_question_nobody_answers_is_a_no_and_gone() -> None:
    questions, _ = desk(has_person=True, seconds=0.01)

    answer, why = asyncio.run(ask(questions))

    assert answer is Answer.NO
    assert "nobody answered" in why
    assert questions.pending() == []


def test_withdrawn_question_is_no_longer_shown() -> None:
    questions, _ = desk(has_person=True)

    async def run() -> None:
        asking = asyncio.create_task(ask(questions))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait({asking})

    asyncio.run(run())

    assert questions.pending() == []


@pytest.mark.parametrize(
    ("given", "subject", "shown"),
    [
        ({"command": "ls\x1b[8m"}, ShellSubject(command="ls\x1b[8m"), r"ls\x1b[8m"),
        ({"url": "http://x/\u202e"}, UrlSubject(url="http://x/\u202e"), r"http://x/\u202e"),
        (
            {"path": ".git/hooks/x", "content": "one\n\x07two"},
            PathSubject(path=".git/hooks/x", op="write"),
            "write .git/hooks/x\ncontent: one\n\\x07two",
        ),
        (
            {"to": "all", "amount": 3},
            ToolSubject(risk=Risk.DANGEROUS, text="mcp__bank__pay"),
            "to: all\namount: 3",
        ),
        ({}, ToolSubject(risk=Risk.DANGEROUS, text="mcp__bank__close"), "mcp__bank__close"),
    ],
    ids=["shell", "url", "path", "tool", "tool without input"],
)
def test_all_that_is_needed_to_judge_a_call_is_shown(
    given: dict[str, Any], subject: Subject, shown: str
) -> None:
    assert asked_text(ToolCall(call_id="c", name="t", input=given), subject) == shown


def test_long_input_says_how_much_is_left_out() -> None:
    call = ToolCall(call_id="c", name="t", input={"text": "x" * 5_000})

    shown = asked_text(call, ToolSubject(risk=Risk.DANGEROUS))

    assert shown.endswith("x\n… 1000 characters more")


def test_command_that_asks_for_the_network_is_shown_with_its_reason() -> None:
    subject = ShellSubject(command="pip install x", reason="the tests\nneed\x1b[2K x")

    text = asked_text(ToolCall(call_id="c", name="bash_with_network", input={}), subject)

    assert text == "pip install x\n(the worker's reason: the tests need\\x1b[2K x)"
