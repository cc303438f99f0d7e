"""What answers a question: typed, after it was seen, and nothing pasted."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from modules.app.person_answers import answer_in, question_lines, reminder, why_no_answer
from modules.app.questions import OpenQuestion
from modules.app.terminal import Line

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture
def permission() -> Iterator[OpenQuestion]:
    loop = asyncio.new_event_loop()
    yield OpenQuestion(
        question_id="q1",
        agent="w1",
        tool="bash",
        text="ls \x1b[8m-l\nrm x",
        why="it looks around",
        rule_offered="Bash(ls *)",
        asked_at=AT,
        answer=loop.create_future(),
    )
    loop.close()


@pytest.fixture
def narrow(permission: OpenQuestion) -> OpenQuestion:
    return replace(permission, rule_offered="")


@pytest.fixture
def in_words(permission: OpenQuestion) -> OpenQuestion:
    return replace(permission, is_in_words=True, text="Which one?", rule_offered="")


def line(text: str, *, is_pasted: bool = False, topic: str = "q1") -> Line:
    return Line(text=text, is_pasted=is_pasted, topic=topic)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("y", "yes"),
        (" YES ", "yes"),
        ("n", "no"),
        ("No", "no"),
        ("a", "always"),
        ("always", "always"),
    ],
)
def test_typed_letter_answers(text: str, answer: str, permission: OpenQuestion) -> None:
    assert answer_in(line(text), permission) == answer
    assert why_no_answer(line("hello"), permission) == ""


@pytest.mark.parametrize("text", ["", "ye", "yes please", "y\ny", "ok", "1", "/y"])
def test_other_words_answer_nothing(text: str, permission: OpenQuestion) -> None:
    assert answer_in(line(text), permission) == ""
    assert why_no_answer(line(text), permission) == ""


def test_pasted_or_early_letter_is_refused_with_the_reason(permission: OpenQuestion) -> None:
    pasted, early = line("y", is_pasted=True), line("y", topic="")

    assert answer_in(pasted, permission) == answer_in(early, permission) == ""
    assert "pasted" in why_no_answer(pasted, permission)
    assert "before this question" in why_no_answer(early, permission)


def test_always_needs_something_to_remember(narrow: OpenQuestion) -> None:
    assert answer_in(line("a"), narrow) == ""
    assert "y or n" in why_no_answer(line("a"), narrow)
    assert "a =" not in "\n".join(question_lines(narrow, until=AT))


def test_question_in_words_takes_any_line_begun_after_it(in_words: OpenQuestion) -> None:
    assert answer_in(line(" the first\nof them ", is_pasted=True), in_words) == "the first\nof them"
    assert answer_in(line("the first", topic=""), in_words) == ""


def test_question_shows_all_of_what_is_wanted(permission: OpenQuestion) -> None:
    lines = list(question_lines(permission, until=AT))

    assert lines[:4] == [
        "? w1 wants to use bash:",
        r"    ls \x1b[8m-l",
        "    rm x",
        "  why you are asked: it looks around",
    ]
    assert lines[4].startswith("  y = yes, n = no, a = always Bash(ls *). Without an answer by ")
    assert lines[4].endswith(" it is denied.")


def test_reminder_is_one_row(permission: OpenQuestion, in_words: OpenQuestion) -> None:
    assert reminder(permission, waiting=2) == r"? w1: y/n/a (2 more wait)  bash ls \x1b[8m-l"
    assert reminder(in_words, waiting=0) == "? w1 waits for your words"
