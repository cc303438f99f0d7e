"""The lead as an agent: its conversation, its turns, and the events that wake it."""

import asyncio
from collections.abc import Callable

from modules.agent.brain import LocalBrain
from modules.agent.limits import Limits
from modules.agent.loop import TurnEnd, run_turn
from modules.agent.tool_pool import ToolPool
from modules.app.lead_events import event_line, events_message
from modules.context.session import Session
from modules.records.events import AnyEvent, Noticed
from modules.records.messages import said
from modules.team.mailbox import Mailbox

LEAD = "lead"


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
        opening: Callable[[], str],
    ) -> None:
        self._session = session
        self._brain = brain
        self._pool = pool
        self._mailbox = mailbox
        self._opening = opening
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
    def has_news(self) -> bool:
        """True while something waits to be told to the lead."""
        return bool(self._lines) or bool(self._mailbox.unread(LEAD))

    async def news(self) -> None:
        """Returns when something waits to be told to the lead."""
        while not self.has_news:
            self._news.clear()
            await self._news.wait()

    async def turn(self, words: str = "") -> TurnEnd:
        """Takes one turn with what the person says and what has happened since the last."""
        letters = self._mailbox.unread(LEAD)
        lines, self._lines = self._lines, []
        first = "" if self._session.messages else self._opening()
        parts = (first, words, events_message(lines, letters))
        opening = "\n\n".join(part for part in parts if part)
        end = await run_turn(self._brain, self._pool, said(opening), Limits())
        self._mailbox.mark_read(letters)
        self.last_text = end.text or self.last_text
        self.awaits = end.awaits
        return end

    def close(self) -> None:
        """Closes the conversation's journal."""
        self._session.close()
