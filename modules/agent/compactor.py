"""Compacts one agent's conversation when it gets too long; modules.context.compaction decides how.

1. Before a request that would pass the limit, after one that the provider refused as too long, and
   when somebody asks. The PreCompact hooks come first. Their no means: not compacted. A request
   that was refused stays refused then; any other is made as it is.
2. Each stronger way is taken only where the one before made too little room. What was made is on
   disk before it is used; until then the conversation is the old one.
3. The summary is asked of the agent's own model, in requests of their own that are paid for like
   any other, in as many pieces as its window wants. Where none can be had, the outputs of old steps
   are left out where that is enough for now, else the old steps without a summary; the person is
   told. A spent budget or a refused key ends the turn, as it would anyway.
4. A compaction is useless when it finds nothing to leave out, or the next request is past the limit
   again. After two in a row none is tried until the conversation passes the window itself.
5. A window that proves smaller than it was taken for is remembered as that small.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from modules.context.compaction import (
    CUTS,
    Window,
    last_steps,
    memory_message,
    remembered,
    shortened,
    shortened_memory,
    without_old_outputs,
)
from modules.context.prompts import summary_prompt, summary_question
from modules.context.session import Session
from modules.context.token_count import head_tokens, history_tokens, message_tokens
from modules.context.transcript import pieces, transcript
from modules.records.errors import ContextOverflow, CrewyardError, PersonFault
from modules.records.exits import Exit
from modules.records.messages import Message, ModelReply, ModelRequest, said
from modules.records.record import Record
from modules.records.session_records import Compacted, CompactionStep, CompactionTrigger, Memory

ASKED_STEPS = 2
"""Steps that stay whole at most where somebody asks for a compaction."""
_AIM = 0.6  # share of the limit that a compaction should get below
_TAIL_SHARE, _WORDS_SHARE = 0.25, 0.25  # of that aim
_MOST_SUMMARY_TOKENS = 4_000
_MOST_SCALE = 3.0
"""A count of more times the estimate makes room be sought, but ends no turn."""
_USELESS = 2
_HALVINGS = 3
_SMALLEST_PIECE_TOKENS = 200
_SUMMARY: CompactionStep = "summary"
_NO_SUMMARY: CompactionStep = "no_summary"


class CompactionNeeds(Protocol):
    """What a compaction asks of what is around the agent."""

    standing: frozenset[str]
    """Names of the tools whose newest result stands."""

    async def objection(self, trigger: CompactionTrigger, focus: str) -> tuple[str, str]:
        """Returns why hooks say no, empty when they don't, and what they want to be kept."""
        ...

    def lay_by(self, name: str, text: str) -> str:
        """Keeps a text where the agent can read it, and says where that is."""
        ...

    def facts(self) -> str:
        """Returns how the crew stands now, for the agent."""
        ...

    def told(self, compacted: Compacted) -> None:
        """Takes in that the conversation was compacted."""
        ...

    def warn(self, text: str) -> None:
        """Takes in what the person should know."""
        ...


class _Room(Record):
    """How much there is room for, in estimated tokens of messages alone."""

    head: int
    scale: float
    """The provider's count for one estimated token."""
    limit: int
    """Past it a conversation is compacted."""
    most: int
    """Past it a request can't be made."""

    @property
    def aim(self) -> int:
        return int(self.limit * _AIM)

    def told(self, tokens: int) -> int:
        """Returns an estimate of messages as the provider would count the request."""
        return int((self.head + tokens) * self.scale)


class _Draft(Record):
    """What a conversation may become."""

    memory: Memory | None
    facts: str
    messages: tuple[Message, ...]
    step: CompactionStep

    @property
    def tokens(self) -> int:
        begin = [] if self.memory is None else [memory_message(self.memory, self.facts)]
        return history_tokens([*begin, *self.messages])


class Compactor:
    """Keeps one conversation short enough for its model."""

    def __init__(
        self,
        session: Session,
        *,
        window_tokens: int,
        needs: CompactionNeeds,
        head: Callable[[], ModelRequest],
        ask: Callable[[ModelRequest], Awaitable[ModelReply]],
        clock: Callable[[], datetime],
    ) -> None:
        self._session = session
        self._window = Window(tokens=window_tokens)
        self._needs = needs
        self._head = head
        """Returns the request that is due."""
        self._ask = ask
        """Asks the agent's model for a summary, within the budget, and pays."""
        self._clock = clock
        self._wish: str | None = None
        self._useless = 0
        self._is_objected = False
        """True while hooks say no to what nobody asked for."""
        self._is_on_trial = False
        """True from a compaction to the next answer, which judges it."""

    @property
    def window(self) -> Window:
        """The model's context window, as far as it is known."""
        return self._window

    @property
    def tokens(self) -> int:
        """How many tokens the next request takes."""
        return self._session.tokens(self._head_tokens)

    @property
    def is_wished(self) -> bool:
        """True while somebody wants a compaction that was not tried yet."""
        return self._wish is not None

    def wish(self, focus: str) -> None:
        """Has the conversation compacted before the next request."""
        self._wish = focus

    async def before_request(self) -> None:
        """Compacts where that is wished for or due; raises ContextOverflow when nothing fits."""
        await self.fulfil_wish()
        if self.tokens <= self._window.limit:
            return
        if self._useless < _USELESS or self.tokens > self._window.tokens:
            await self.compact("auto")

    async def fulfil_wish(self) -> None:
        """Compacts where somebody wants it."""
        if self._wish is not None:
            focus, self._wish = self._wish, None
            await self.compact("manual", focus)

    async def after_refusal(self, refusal: ContextOverflow) -> None:
        """Compacts what the provider refused; raises the refusal where that is not done."""
        self._window = Window(tokens=min(self._window.tokens, self.tokens))
        if not await self.compact("overflow"):
            raise refusal

    def judge(self) -> None:
        """Takes in that a request was answered: it tells what the last compaction was worth."""
        if self._is_on_trial:
            self._is_on_trial = False
            is_useless = self.tokens > self._window.limit
            self._useless = self._useless + 1 if is_useless else 0

    async def compact(self, trigger: CompactionTrigger, focus: str = "") -> bool:
        """Returns whether the conversation is a shorter one now.

        Raises ContextOverflow when even the shortest does not fit.
        """
        objection, wanted = await self._needs.objection(trigger, focus)
        if objection:
            self._tell_objection(trigger, objection)
            return False
        self._is_objected = False
        focus = "\n".join(part for part in (focus, wanted) if part)
        before, room, old = self.tokens, self._room(), self._session.messages
        draft = await self._draft(trigger, focus, room)
        if draft.tokens >= history_tokens(old):
            self._useless += trigger == "auto"
            if trigger == "manual":
                self._needs.warn("There is nothing that a compaction could leave out now.")
            return False
        compacted = Compacted(
            at=self._clock(),
            trigger=trigger,
            step=draft.step,
            tokens_before=before,
            tokens_after=room.told(draft.tokens),
            memory=draft.memory,
            facts=draft.facts,
            # What was said meanwhile comes after it.
            messages=(*draft.messages, *self._session.messages[len(old) :]),
        )
        self._is_on_trial = True
        await self._session.compact(compacted)
        self._needs.told(compacted)
        return True

    def _tell_objection(self, trigger: CompactionTrigger, objection: str) -> None:
        """Tells the person of a no, once for a row of them that nobody asked for."""
        if trigger == "manual" or not self._is_objected:
            self._needs.warn(f"The conversation is not compacted: {objection}")
        self._is_objected = trigger != "manual"

    async def _draft(self, trigger: CompactionTrigger, focus: str, room: _Room) -> _Draft:
        """Returns the first draft that makes enough room, or the shortest."""
        memory, standing = self._session.memory, self._needs.standing
        whole = self._session.messages[0 if memory is None else 1 :]
        cleared = await asyncio.to_thread(
            without_old_outputs, whole, standing=standing, lay_by=self._needs.lay_by
        )
        draft = _Draft(
            memory=memory, facts=self._session.facts, messages=tuple(cleared), step="outputs"
        )
        is_shorter = cleared != list(whole)
        if trigger != "manual" and is_shorter and draft.tokens <= room.aim:
            return draft
        cut = self._cut_at(trigger, cleared, room)
        if not any(message.role == "assistant" for message in whole[:cut]):
            return await self._fitted(draft, room)
        try:
            summary, step = await self._summary(whole[:cut], focus, room), _SUMMARY
        except CrewyardError as error:
            if isinstance(error, PersonFault) and error.exit_code in (Exit.LIMIT, Exit.USAGE):
                raise
            if draft.tokens <= room.limit:
                self._needs.warn(f"No summary could be made: {error}")
                return draft
            self._needs.warn(
                f"No summary could be made, {cut} old messages are left out without one (the "
                f"session's journal has them): {error}"
            )
            summary, step = ("" if memory is None else memory.summary), _NO_SUMMARY
        shorter = remembered(
            memory,
            whole[:cut],
            cleared[cut:],
            summary=summary,
            standing=standing,
            room=int(room.aim * _WORDS_SHARE),
        )
        draft = _Draft(
            memory=shorter, facts=self._needs.facts(), messages=tuple(cleared[cut:]), step=step
        )
        return await self._fitted(draft, room)

    def _cut_at(self, trigger: CompactionTrigger, messages: Sequence[Message], room: _Room) -> int:
        """Returns where the messages begin that stay whole."""
        return last_steps(
            messages,
            room=int(room.aim * _TAIL_SHARE),
            most=ASKED_STEPS if trigger == "manual" else len(messages),
            size=[message_tokens(message) for message in messages],
        )

    async def _fitted(self, draft: _Draft, room: _Room) -> _Draft:
        """Returns the draft with its longest texts as short as they have to be."""
        short = draft
        for limit in CUTS:
            if short.tokens <= room.limit:
                return short
            short = await asyncio.to_thread(self._cut, draft, limit)
        if short.tokens > room.most:
            raise ContextOverflow(
                f"The conversation does not fit into the model's context window of "
                f"{self._window.tokens:,} tokens even when it is compacted: prompt and tools take "
                f"{room.told(0):,}, the shortest conversation {room.told(short.tokens):,} with "
                "them. Use a model with a larger window, or correct its context_tokens."
            )
        return short

    def _cut(self, draft: _Draft, limit: int) -> _Draft:
        lay_by, memory = self._needs.lay_by, draft.memory
        return replace(
            draft,
            memory=None if memory is None else shortened_memory(memory, limit, lay_by),
            messages=tuple(shortened(message, limit, lay_by) for message in draft.messages),
        )

    async def _summary(self, dropped: Sequence[Message], focus: str, room: _Room) -> str:
        """Returns the model's summary of what is left out."""
        memory = self._session.memory
        entries, so_far = transcript(memory, dropped), "" if memory is None else memory.summary
        most_tokens = min(_MOST_SUMMARY_TOKENS, self._window.tokens // 8)
        system = summary_prompt(most_tokens=most_tokens, focus=focus)
        taken = history_tokens([said(system)]) + 2 * most_tokens
        there_is = int(self._window.limit / min(room.scale, _MOST_SCALE))
        piece_room = max(there_is - taken, _SMALLEST_PIECE_TOKENS)
        for halving in range(_HALVINGS + 1):
            try:
                summary = so_far
                for piece in pieces(entries, room=piece_room):
                    summary = await self._sum_up(summary, piece, system, most_tokens)
            except ContextOverflow:
                if halving == _HALVINGS:
                    raise
                piece_room = max(piece_room // 2, _SMALLEST_PIECE_TOKENS)
            else:
                return summary
        raise AssertionError("the last halving returns or raises")

    async def _sum_up(self, so_far: str, piece: str, system: str, most_tokens: int) -> str:
        request = replace(
            self._head(),
            system=system,
            messages=(said(summary_question(so_far=so_far, piece=piece)),),
            tools=(),
            max_output_tokens=most_tokens * 2,
            is_summary=True,
        )
        reply = await self._ask(request)
        text = reply.message.text.strip()
        if not text:
            raise NoSummary("the model's answer was empty.")
        return text

    def _head_tokens(self) -> int:
        head = self._head()
        return head_tokens(head.system, head.tools)

    def _room(self) -> _Room:
        head = self._head_tokens()
        estimate = head + history_tokens(self._session.messages)
        scale = max(min(self.tokens, self._window.tokens) / max(estimate, 1), 1.0)
        return _Room(
            head=head,
            scale=scale,
            limit=int(self._window.limit / scale) - head,
            most=int(self._window.tokens / min(scale, _MOST_SCALE)) - head,
        )


class NoSummary(CrewyardError):
    """A model that was asked for a summary gave none."""
