"""Questions that only a person can answer: one place for every agent's, however deep.

1. Without a person the answer is no, at once, with a reason the model can act on.
2. With a person the question is shown with the asker's name and waits until it is answered or its
   time is up; then the answer is no.
3. A question that was withdrawn (its agent ended) is no longer shown.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from msgspec.structs import replace

from modules.app.event_bus import EventBus
from modules.app.wait_notes import WaitNotes
from modules.records.decisions import (
    Answer,
    Behavior,
    Decision,
    PathSubject,
    ShellSubject,
    Subject,
    UrlSubject,
)
from modules.records.events import QuestionAsked
from modules.records.messages import ToolCall

_MOST_CHARACTERS = 4_000
"""Of one input of a call that is shown to the person."""
NOBODY_THERE = "it needs a person's yes and none is there to ask; find a way that needs none"


@dataclass(slots=True)
class OpenQuestion:
    """A question that waits for the person."""

    question_id: str
    agent: str
    tool: str
    text: str
    why: str
    rule_offered: str
    asked_at: datetime
    answer: "asyncio.Future[str]" = field(repr=False)
    """Gets `yes`, `always`, `no`, or free words for a question in words."""
    is_in_words: bool = False


class QuestionDesk:
    """All open questions of a run."""

    def __init__(
        self, events: EventBus, waits: WaitNotes, *, has_person: bool, timeout_seconds: float
    ) -> None:
        self._events = events
        self._waits = waits
        self.has_person = has_person
        """False where nobody is there to answer."""
        self._timeout_seconds = timeout_seconds
        self._numbers = count(1)
        self._open: dict[str, OpenQuestion] = {}

    def pending(self) -> list[OpenQuestion]:
        """Returns the open questions, oldest first."""
        return list(self._open.values())

    def answer(self, question_id: str, words: str) -> None:
        """Answers an open question; does nothing when it is no longer open."""
        question = self._open.get(question_id)
        if question is not None and not question.answer.done():
            question.answer.set_result(words)

    async def ask_permission(
        self, *, agent: str, tool: str, text: str, why: str, rule_offered: str
    ) -> tuple[Answer, str]:
        """Returns the person's answer and, for a no, the reason."""
        if not self.has_person:
            return Answer.NO, NOBODY_THERE
        words = await self._ask(agent, tool, text, why, rule_offered, is_in_words=False)
        if words is None:
            return Answer.NO, f"nobody answered within {self._timeout_seconds:.0f} s"
        answer = Answer(words)
        return answer, "the person said no" if answer is Answer.NO else ""

    async def ask_in_words(self, *, agent: str, question: str) -> str:
        """Returns what the person answered."""
        if not self.has_person:
            return "Nobody is there to answer. Decide yourself, and say what you assumed."
        words = await self._ask(agent, "ask_user", question, "", "", is_in_words=True)
        return words or "The person did not answer in time. Decide yourself, and say so."

    async def _ask(
        self,
        agent: str,
        tool: str,
        text: str,
        why: str,
        rule_offered: str,
        *,
        is_in_words: bool,
    ) -> str | None:
        question = OpenQuestion(
            question_id=f"q{next(self._numbers)}",
            agent=agent,
            tool=tool,
            text=text,
            why=why,
            rule_offered=rule_offered,
            asked_at=self._events.clock(),
            answer=asyncio.get_running_loop().create_future(),
            is_in_words=is_in_words,
        )
        self._open[question.question_id] = question
        self._events.emit(
            QuestionAsked(
                at=question.asked_at,
                agent=agent,
                question_id=question.question_id,
                tool=tool,
                text=text,
                why=why,
            )
        )
        limit = self._timeout_seconds
        try:
            with self._waits.waiting(agent, "a person's answer", at_most_seconds=limit):
                return await asyncio.wait_for(question.answer, limit)
        except TimeoutError:
            return None
        finally:
            self._open.pop(question.question_id, None)


class PersonAsker:
    """Answers for one agent's gate by asking the person."""

    def __init__(
        self,
        questions: QuestionDesk,
        *,
        agent: str,
        offer: Callable[[ToolCall, Subject, Decision], str],
        remember: Callable[[str], None],
    ) -> None:
        self._questions = questions
        self._agent = agent
        self._offer = offer
        self._remember = remember

    async def ask(self, call: ToolCall, subject: Subject, decision: Decision) -> Decision:
        """Returns the decision with ask turned into allow or deny."""
        rule = self._offer(call, subject, decision)
        answer, reason = await self._questions.ask_permission(
            agent=self._agent,
            tool=call.name,
            text=asked_text(call, subject),
            why=decision.why,
            rule_offered=rule,
        )
        if answer is Answer.NO:
            why = f"{decision.why}; {reason}" if decision.why else reason
            return replace(decision, behavior=Behavior.DENY, source="person", why=why)
        if answer is Answer.ALWAYS and rule:
            self._remember(rule)
        return replace(decision, behavior=Behavior.ALLOW, source="person", rule=rule)


def asked_text(call: ToolCall, subject: Subject) -> str:
    """Returns all a person must see to judge a call, control characters made visible."""
    if isinstance(subject, ShellSubject) and subject.reason:
        # On one line, so that it passes for nothing this program says.
        reason = _visible(_input_text(" ".join(subject.reason.split())))
        return f"{shown_subject(subject)}\n(the worker's reason: {reason})"
    if isinstance(subject, ShellSubject | UrlSubject):
        return shown_subject(subject)
    first = shown_subject(subject) if isinstance(subject, PathSubject) else ""
    shown = {name: value for name, value in call.input.items() if value != first.split(" ", 1)[-1]}
    given = "\n".join(f"{name}: {_input_text(value)}" for name, value in shown.items())
    return _visible("\n".join(part for part in (first, given) if part)) or shown_subject(subject)


def _input_text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS]}\n… {len(text) - _MOST_CHARACTERS} characters more"


def shown_subject(subject: Subject) -> str:
    """Returns the exact command, path or address, control characters made visible."""
    match subject:
        case ShellSubject(command=command):
            text = command
        case PathSubject(path=path, op=op):
            text = f"{op} {path}"
        case UrlSubject(url=url):
            text = url
        case _:
            text = subject.text
    return _visible(text)


def _visible(text: str) -> str:
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode()
        for sign in text
    )
