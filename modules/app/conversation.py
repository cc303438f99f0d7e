"""A person and the lead in conversation, while the crew works.

1. What is sent while the lead is at a turn waits for its next one; several pieces go together.
2. What happens wakes the lead between turns. After a turn that was interrupted or failed it is not
   woken: it waits for the person's word.
3. What was pasted is words for the lead, never a command and never an answer of yes or no.
4. Questions to the person are shown one after another, the oldest first (person_answers.py).
5. Ctrl-C: twice within a second leaves; else, with nothing typed, it says no to the worker whose
   question is shown; else it cancels the lead's turn; else it takes back what was typed; else it
   says how to leave.
6. A turn that fails is told in one line, and the conversation goes on. A bug ends it.
"""

import asyncio
from datetime import timedelta

from modules.agent.loop import TurnEnd
from modules.app.compact_command import CompactCommand
from modules.app.house import House
from modules.app.lead_agent import LeadAgent
from modules.app.lead_wiring import lead_system_prompt
from modules.app.person_answers import answer_in, question_lines, reminder, why_no_answer
from modules.app.questions import OpenQuestion
from modules.app.run import Run
from modules.app.screen import LEAD, Screen
from modules.app.slash import slash_answer, slash_commands
from modules.app.terminal import End, Given, Interrupt, Line, Terminal, View
from modules.records.decisions import Answer
from modules.records.errors import CrewyardError, PersonFault
from modules.records.events import AnyEvent, CallEnded, CallStarted
from modules.records.exits import Exit
from modules.records.merges import FINAL_STATUSES
from modules.records.tasks import TaskStatus

LEAVING_WORDS = frozenset({"exit", "quit", "/exit", "/quit"})
TWICE_SECONDS = 1.0


class Conversation:
    """The person's side of one run: what they give, and the lead's turns that come of it."""

    def __init__(self, run: Run, lead: LeadAgent, terminal: Terminal, screen: Screen) -> None:
        self._run = run
        self._house: House = run.house
        self._lead = lead
        self._terminal = terminal
        self._screen = screen
        self._said: list[str] = []
        self._wake = asyncio.Event()
        """Set where there may be something to say to the lead."""
        self._turn: asyncio.Task[TurnEnd] | None = None
        self._commands = slash_commands(
            run,
            lambda: lead_system_prompt(run.house),
            lead.note,
            CompactCommand(lead, is_at_turn=lambda: self._turn is not None, wake=self._wake.set),
        )
        self._is_on_hold = False
        self._calls: dict[str, str] = {}
        """The tools the lead runs now, by the calls' ids."""
        self._since = self._house.clock()
        """Since when the lead is at what it is at."""
        self._asked = ""
        """Id of the question that was shown last."""
        self._interrupted_at = -TWICE_SECONDS

    def take_event(self, event: AnyEvent) -> None:
        """Takes in an event of the run, after the screen."""
        if isinstance(event, CallStarted) and event.agent == LEAD:
            self._calls[event.call_id] = event.tool
            self._since = event.at if len(self._calls) == 1 else self._since
        if isinstance(event, CallEnded) and event.agent == LEAD:
            self._calls.pop(event.call_id, None)
            self._since = self._since if self._calls else event.at
        self._wake.set()
        self._show_question()
        self._terminal.redraw()

    async def hold(self) -> Exit:
        """Talks until the person leaves; returns the exit code."""
        self._terminal.view = self._view
        self._terminal.redraw()
        turns = asyncio.create_task(self._take_turns())
        given = asyncio.create_task(self._terminal.next())
        try:
            while True:
                await asyncio.wait({turns, given}, return_when=asyncio.FIRST_COMPLETED)
                if turns.done():
                    turns.result()
                exit_code = self._take(given.result())
                if exit_code is not None:
                    return exit_code
                given = asyncio.create_task(self._terminal.next())
        finally:
            given.cancel()
            turns.cancel()
            await asyncio.wait({turns})
            self._screen.end_row()

    def _take(self, given: Given) -> Exit | None:
        """Takes in what the person gave; returns the exit code when they leave."""
        match given:
            case End():
                return Exit.DONE
            case Interrupt():
                is_second = given.at - self._interrupted_at < TWICE_SECONDS
                self._interrupted_at = given.at
                if is_second:
                    return Exit.INTERRUPTED
                self._interrupt(given)
            case Line():
                if not given.is_pasted and given.text.strip().lower() in LEAVING_WORDS:
                    return Exit.DONE
                self._take_line(given)
        self._terminal.redraw()
        return None

    def _take_line(self, line: Line) -> None:
        words = line.text.strip()
        if not words:
            return
        self._screen.echo(words)
        if words.startswith("/") and not line.is_pasted and "\n" not in words:
            self._run_command(words)
            return
        question = self._question
        if question is not None:
            answer = answer_in(line, question)
            if answer:
                self._answer(question, answer)
                return
            refusal = why_no_answer(line, question)
            if refusal:
                self._screen.line(refusal, "yellow")
                return
        self._said.append(words)
        self._wake.set()
        if self._turn is not None:
            self._screen.line("(it waits for the lead's next turn)", "dim")

    def _run_command(self, words: str) -> None:
        for shown in slash_answer(self._commands, words):
            if isinstance(shown, str):
                self._screen.line(shown)
            else:
                self._screen.table(shown)

    def _interrupt(self, given: Interrupt) -> None:
        question = self._question
        if question is not None and question.agent != LEAD and not given.has_text:
            self._screen.line(f"(no to {question.agent})", "yellow")
            self._answer(question, "" if question.is_in_words else Answer.NO)
        elif self._turn is not None:
            # A second cancel would break into the end of what is being ended.
            if not self._turn.cancelling():
                self._turn.cancel()
        elif given.has_text:
            self._terminal.clear()
        else:
            self._screen.line("Ctrl-C twice within a second, exit or Ctrl-D ends the crew.", "dim")

    @property
    def _question(self) -> OpenQuestion | None:
        """The question that is shown: the oldest that has no answer."""
        pending = self._house.questions.pending()
        return next((question for question in pending if not question.answer.done()), None)

    def _answer(self, question: OpenQuestion, words: str) -> None:
        self._house.questions.answer(question.question_id, words)
        self._show_question()

    def _show_question(self) -> None:
        question = self._question
        if question is None or question.question_id == self._asked:
            return
        self._asked = question.question_id
        limit = timedelta(seconds=self._house.settings.ask_timeout_seconds)
        first, *rest = question_lines(question, until=question.asked_at + limit)
        self._screen.line(first, "bold yellow")
        self._screen.lines(rest, "yellow")

    async def _take_turns(self) -> None:
        while True:
            await self._something_to_say()
            said, self._said = self._said, []
            is_turn = bool(said) or not self._lead.compactor.is_wished
            if is_turn:
                self._is_on_hold = False
            self._since = self._house.clock()
            begun = self._lead.turn("\n\n".join(said)) if is_turn else self._lead.compact()
            self._turn = asyncio.create_task(begun)
            self._terminal.redraw()
            try:
                await asyncio.wait({self._turn})
            except asyncio.CancelledError:
                self._turn.cancel()
                await asyncio.wait({self._turn})
                raise
            turn, self._turn = self._turn, None
            self._calls.clear()
            self._tell_end(turn)

    async def _something_to_say(self) -> None:
        """Returns once the person has said something or the lead has news it may be woken with."""
        while True:
            self._wake.clear()
            is_woken = self._lead.has_news and not self._is_on_hold
            if self._said or is_woken or self._lead.compactor.is_wished:
                return
            await self._wake.wait()

    def _tell_end(self, turn: "asyncio.Task[TurnEnd]") -> None:
        self._screen.end_row()
        if turn.cancelled():
            self._is_on_hold = True
            self._screen.line("(interrupted; the crew goes on, the lead waits for you)", "yellow")
            return
        error = turn.exception()
        if isinstance(error, CrewyardError):
            self._is_on_hold = True
            told = error.line if isinstance(error, PersonFault) else str(error)
            self._screen.line(told, "red")
        elif error is not None:
            raise error
        elif turn.result().failure:
            self._is_on_hold = True
            self._screen.line(turn.result().failure, "red")
        self._terminal.redraw()

    def _view(self) -> View:
        question = self._question
        waiting = sum(not q.answer.done() for q in self._house.questions.pending()) - 1
        return View(
            making=self._screen.making,
            asks="" if question is None else reminder(question, waiting=waiting),
            status=self._status(),
            topic="" if question is None else question.question_id,
            is_busy=self._turn is not None,
        )

    def _status(self) -> str:
        house = self._house
        parts = [f"{house.permissions.mode} mode"]
        if self._turn is not None:
            tools = ", ".join(dict.fromkeys(self._calls.values()))
            times = f" ({len(self._calls)} at once)" if len(self._calls) > 1 else ""
            doing = f"the lead runs {tools}{times}" if tools else "the lead thinks"
            parts.append(f"{doing} since {self._since.astimezone():%H:%M:%S}")
        if self._lead.in_background:
            parts.append(f"{self._lead.in_background} in the background")
        workers = sum(worker.task is not None for worker in self._run.crew.workers())
        if workers:
            parts.append(f"{workers} at work")
        if self._run.supervisor.is_paused:
            parts.append("the crew is paused (/resume)")
        tasks = [task for task in house.board.tasks() if task.status is not TaskStatus.CANCELLED]
        if tasks:
            done = sum(task.status is TaskStatus.COMPLETED for task in tasks)
            parts.append(f"{done} of {len(tasks)} tasks done")
        queued = sum(entry.status not in FINAL_STATUSES for entry in self._run.crew.entries())
        if queued:
            parts.append(f"{queued} in the merge queue")
        if queued and house.queue.pause_reason:
            parts.append("which pauses (/queue)")
        if house.queue.hold_reason:
            parts.append(f"{house.queue.target} is held (/queue)")
        if house.budget.cost_usd:
            parts.append(f"${house.budget.cost_usd:.2f}")
        return " · ".join(parts)
