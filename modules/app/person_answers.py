"""What a line of a person means while a question waits for them; pure.

1. y, n or a, alone on a line that was begun after the question was seen, answer a question of yes
   or no. Nothing pasted does.
2. `a` answers only where there is something narrow enough to remember.
3. A question in words is answered by any line that was begun after it was seen, pasted or not.
4. Everything else is for the lead, and the question goes on waiting.
"""

from collections.abc import Iterator
from datetime import datetime

from modules.app.questions import OpenQuestion
from modules.app.terminal import Line
from modules.app.visible_text import visible, visible_line
from modules.records.decisions import Answer

_ANSWERS = {
    "y": Answer.YES,
    "yes": Answer.YES,
    "n": Answer.NO,
    "no": Answer.NO,
    "a": Answer.ALWAYS,
    "always": Answer.ALWAYS,
}


def answer_in(line: Line, question: OpenQuestion) -> str:
    """Returns the answer a line gives to a question, empty when it gives none."""
    if line.topic != question.question_id:
        return ""
    words = line.text.strip()
    if question.is_in_words:
        return words
    answer = None if line.is_pasted else _ANSWERS.get(words.lower())
    if answer is None or (answer is Answer.ALWAYS and not question.rule_offered):
        return ""
    return answer


def why_no_answer(line: Line, question: OpenQuestion) -> str:
    """Returns why a line that looks like an answer is none, empty when it looks like none."""
    words = line.text.strip().lower()
    if question.is_in_words or words not in _ANSWERS:
        return ""
    if line.is_pasted:
        return "What is pasted answers no question; type y or n."
    if line.topic != question.question_id:
        return "That was typed before this question came; answer it again."
    return "There is nothing narrow enough to remember; y or n."


def question_lines(question: OpenQuestion, *, until: datetime) -> Iterator[str]:
    """Yields the whole question, for the person to judge it."""
    if question.is_in_words:
        yield f"? {question.agent} asks:"
        yield from (f"    {line}" for line in visible(question.text).splitlines())
    else:
        yield f"? {question.agent} wants to use {question.tool}:"
        yield from (f"    {line}" for line in visible(question.text).splitlines())
        if question.why:
            yield f"  why you are asked: {visible_line(question.why)}"
    end = f"Without an answer by {until.astimezone():%H:%M:%S} it is {_default(question)}."
    yield f"  {_how(question)} {end}"


def reminder(question: OpenQuestion, *, waiting: int) -> str:
    """Returns the question on one row, to stand by the line until it is answered."""
    more = f" ({waiting} more wait)" if waiting else ""
    if question.is_in_words:
        return f"? {question.agent} waits for your words{more}"
    keys = "y/n/a" if question.rule_offered else "y/n"
    what = f"{question.tool} {visible_line(question.text)}"
    return f"? {question.agent}: {keys}{more}  {what}"


def _how(question: OpenQuestion) -> str:
    if question.is_in_words:
        return "Answer in a line of your own."
    always = f", a = always {question.rule_offered}" if question.rule_offered else ""
    return f"y = yes, n = no{visible(always)}."


def _default(question: OpenQuestion) -> str:
    return "told to decide itself" if question.is_in_words else "denied"
