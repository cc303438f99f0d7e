"""The lead as an agent: its conversation, its turns, and the events that wake it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from modules.agent.brain import LocalBrain
from modules.agent.limits import Limits
from modules.agent.loop import Brain, TurnEnd, run_turn
from modules.agent.noted_brain import NotedBrain
from modules.agent.tool_pool import ToolPool
from modules.app.lead_events import event_line, events_message
from modules.app.run_hooks import MOST_STOP_BLOCKS, stop_fields
from modules.context.session import Session
from modules.records.errors import PersonFault
from modules.records.events import AnyEvent, Noticed
from modules.records.exits import Exit
from modules.records.messages import Message, ModelReply, said
from modules.records.session_records import AnySessionRecord
from modules.safety.hook_matching import HookEvent
from modules.safety.hook_verdict import HookOutcome
from modules.team.mailbox import Mailbox, mail_text
from tools.background_commands import BackgroundCommands

LEAD = "lead"


AskHooks = Callable[[HookEvent, Mapping[str, Any]], Awaitable[HookOutcome]]


class FirstAnswer:
    """The brain of one turn; calls `then` once the model has answered what the turn began with.

    A turn may be broken off long after that, and what was read by then is read.
    """

    def __init__(self, brain: Brain, *, then: Callable[[], None]) -> None:
        self._brain = brain
        self._then = then
        self._has_answered = False

    async def reply(self, incoming: Message) -> ModelReply:
        """Adds `incoming` to the conversation and returns the model's answer."""
        reply = await self._brain.reply(incoming)
        if not self._has_answered:
            self._has_answered = True
            self._then()
        return reply

    async def keep(self, incoming: Message) -> None:
        """Adds `incoming` to the conversation without asking the model."""
        await self._brain.keep(incoming)


class LeadAgent:
    """One conversation with the person, woken by the crew.

    Turns are taken one at a time; what is said or happens meanwhile waits for the next.
    """

    def __init__(
        self,
        *,
        session: Session,
        brain: LocalBrain,
        pool: ToolPool,
        mailbox: Mailbox,
        background: BackgroundCommands,
        opening: Callable[[], str],
        ask_hooks: AskHooks,
    ) -> None:
        self._session = session
        self.compactor = brain.compactor
        """Keeps the conversation short enough."""
        self._brain = NotedBrain(brain, background.endings)
        self._pool = pool
        self._mailbox = mailbox
        self._background = background
        self._opening = opening
        self._ask_hooks = ask_hooks
        self._lines: list[str] = []
        self._news = asyncio.Event()
        self.last_text = ""
        """The last words of the lead."""
        self.awaits = ""
        """What a scripted lead waits for."""

    def take_event(self, event: AnyEvent) -> None:
        """Takes in an event of the run; one the lead is told wakes it."""
        line = event_line(event)
        if line:
            self._lines.append(line)
        if line or isinstance(event, Noticed):  # mail to the lead is noticed
            self._news.set()

    @property
    def in_background(self) -> int:
        """How many commands the lead has in the background."""
        return self._background.running

    @property
    def has_news(self) -> bool:
        """True while something waits to be told to the lead."""
        return bool(self._lines) or bool(self._mailbox.unread(LEAD)) or self._background.has_endings

    async def news(self) -> None:
        """Returns when something waits to be told to the lead."""
        while not self.has_news:
            self._news.clear()
            await self._news.wait()

    async def turn(self, words: str = "") -> TurnEnd:
        """Takes one turn with what the person says and what has happened since the last.

        Raises PersonFault when a hook refuses what the person says.
        """
        context = await self._admit(words)
        letters = self._mailbox.unread(LEAD)
        mail = mail_text(letters, kept_in=self._mailbox.folder)
        lines, self._lines = self._lines, []
        first = "" if self._session.messages else self._opening()
        ended = self._background.endings()
        parts = (first, words, context, events_message(lines, mail), ended)
        opening = "\n\n".join(part for part in parts if part)
        brain = FirstAnswer(self._brain, then=lambda: self._mailbox.mark_read(letters))
        end = await run_turn(brain, self._pool, said(opening), Limits())
        end = await self._until_it_may_stop(end)
        self.last_text = end.text or self.last_text
        self.awaits = end.awaits
        return end

    async def _admit(self, words: str) -> str:
        """Lets the hooks see what the person says; returns what they add for the model."""
        if not words:
            return ""
        outcome = await self._ask_hooks(HookEvent.USER_PROMPT_SUBMIT, {"prompt": words})
        if outcome.behavior == "deny":
            raise PersonFault(
                f"A UserPromptSubmit hook refuses it: {outcome.why}",
                hint="Say it otherwise, or take the hook out of its file.",
                exit_code=Exit.FAILED,
            )
        return outcome.context

    async def _until_it_may_stop(self, end: TurnEnd) -> TurnEnd:
        """Takes further turns as long as a Stop hook wants them, within bounds."""
        for blocks in range(MOST_STOP_BLOCKS):
            if end.failure or end.awaits:
                return end
            fields = stop_fields(end.text, is_again=blocks > 0)
            outcome = await self._ask_hooks(HookEvent.STOP, fields)
            if outcome.behavior != "deny":
                return end
            again = said(f"A Stop hook sends you back to work: {outcome.why}")
            end = await run_turn(self._brain, self._pool, again, Limits())
        return end

    async def compact(self) -> TurnEnd:
        """Takes no turn, but makes the conversation shorter where that is wished for."""
        await self.compactor.fulfil_wish()
        return TurnEnd()

    def note(self, record: AnySessionRecord) -> None:
        """Writes what is no message to the conversation's journal."""
        self._session.record(record)

    def close(self) -> None:
        """Closes the conversation's journal."""
        self._session.close()
