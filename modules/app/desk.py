"""What the lead does for one worker's agent: its model, its gate, its hand-in.

Once the claim has ended (the worker was taken for lost, the task was cancelled) every question is
answered with the end, and what the worker still says is kept beside the task's results.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from modules.agent.brain import LocalBrain
from modules.agent.loop import TurnEnd
from modules.agent.tool_pool import Cleared, ToolPool
from modules.app.hand_in import HandIn
from modules.app.remote_subagents import RemoteSubAgents
from modules.app.run_hooks import MOST_STOP_BLOCKS
from modules.app.worker_pids import host_pid
from modules.records.crew import WorkerState
from modules.records.errors import ModelFault
from modules.records.mail import MailSent
from modules.records.messages import Message, ModelReply, StopReason, Text, ToolCall, said
from modules.records.protocol import Assigned, Via
from modules.records.tasks import Claim, TaskStatus
from modules.records.tooling import Place, ToolResult
from modules.safety.fence import Fence
from modules.team.broker import WorkerBroken
from modules.team.mailbox import Mailbox, mail_text
from modules.team.member import Member
from modules.team.task_board import TaskBoard
from tools.subagent import SubagentInput

NUDGE = (
    "Your turn ended, but the task is not handed in. Commit your work and call submit_work; if the "
    "task needs no change, call it with no_changes_reason."
)
NUDGES = 2
LONG_MAIL = "mail"
"""Folder, in a worker's temporary one, where it finds the whole of long messages."""
SILENT = "The worker ended without handing work in."
STALE = "This attempt has ended; the task is no longer yours. What you brought is kept for review."
_ENDED = ModelReply(
    message=Message(role="assistant", blocks=()), stop=StopReason.END_TURN, means_silence=True
)


class WorkerDesk:
    """Serves one attempt; see modules.team.broker.Desk for what is asked of it."""

    def __init__(
        self,
        *,
        member: Member,
        claim: Claim,
        board: TaskBoard,
        mailbox: Mailbox,
        brain: LocalBrain,
        pool: ToolPool,
        assigned: Assigned,
        lease: timedelta,
        subagents: RemoteSubAgents,
        hand_in: HandIn,
        mask: Callable[[str], str],
        on_greet: Callable[[], None],
        letters: list[MailSent],
        may_stop: Callable[[str, bool], Awaitable[str]],
        clash_letters: Callable[[], Awaitable[list[MailSent]]],
    ) -> None:
        self._member = member
        self._claim = claim
        self._board = board
        self._mailbox = mailbox
        self._brain = brain
        self._pool = pool
        self._assigned = assigned
        self._lease = lease
        self._subagents = subagents
        self._hand_in = hand_in
        self._mask = mask
        self._on_greet = on_greet
        self._letters = letters
        """Mail that was read at this task, by this attempt and earlier ones."""
        self._missed = list(letters)
        self._may_stop = may_stop
        """Takes the last words and whether it was asked before; returns what speaks against it."""
        self._clash_letters = clash_letters
        """Returns coming conflicts the worker was not told of."""
        self._stop_blocks = 0
        self._cleared: dict[Via, Cleared] = {}
        self._nudges = 0
        self._last_words = ""
        self._renewed_at = self._heard_at = asyncio.get_running_loop().time()
        self.failure = ""
        """Why the attempt ended without a hand-in; empty while it goes on."""

    def greet(self, pid: int) -> Assigned:
        """Returns the assignment; `pid` is the worker's own in its jail."""
        if self._member.pid is not None:
            self._member.pid = host_pid(self._member.pid, pid)
        self._heard_at = asyncio.get_running_loop().time()
        self._member.set_state(WorkerState.WORKING)
        self._on_greet()
        return self._assigned

    @property
    def silent_seconds(self) -> float:
        """How long nothing has been heard of the worker; nothing is expected before its hello."""
        if self._member.state is WorkerState.STARTING:
            return 0.0
        return asyncio.get_running_loop().time() - self._heard_at

    @property
    def pid(self) -> int | None:
        """The worker's process."""
        return self._member.pid

    def heard(self) -> None:
        """Notes a sign of life; renews the lease when a third of it has passed."""
        self._heard_at = asyncio.get_running_loop().time()
        if self._heard_at - self._renewed_at > self._lease.total_seconds() / 3:
            self._renewed_at = self._heard_at
            if self._is_current:
                self._board.renew(self._claim, self._lease)

    def lose_claim(self, reason: str) -> None:
        """Gives the task back while the worker is not heard; it may still bring something.

        Work that was handed in needs no worker until its review, and then its verdict, is there.
        """
        if self._is_current and not self._hand_in.is_handed_in:
            self._member.set_state(WorkerState.WAITING, doing="a sign of life")
            self._board.release(self._claim, reason=reason, is_failure=True, by="lead")

    async def think(self, incoming: Message, via: Via = ()) -> ModelReply:
        """Returns the model's answer; mail joins the conversation first.

        That is what is unread, and what earlier attempts at the task had read.
        """
        if self._is_stale:
            # The results in it were kept when they came, unless that was in time.
            if not self._hand_in.has_late:
                self._hand_in.keep_late(incoming.text)
            return _ENDED
        await self._until_resumed()
        if via:
            return await self._subagents.at(via).brain.reply(incoming)
        warnings = await self._clash_letters()
        unread = self._mailbox.unread(self._member.name)
        letters = [*self._missed, *unread]
        if letters or warnings:
            told = [self._laid_beside(letter) for letter in letters]
            kept_in = Path(self._assigned.temporary) / LONG_MAIL
            words = Text(text=mail_text([*told, *warnings], kept_in=kept_in))
            incoming = Message(role="user", blocks=(*incoming.blocks, words))
        reply = await self._brain.reply(incoming)
        self._missed = []
        if unread:
            self._mailbox.mark_read(unread)
            self._letters += unread
        return reply

    def _laid_beside(self, letter: MailSent) -> MailSent:
        """Puts the whole of a long message where the worker can read it, inside its jail."""
        if not letter.whole:
            return letter
        whole = self._mailbox.whole_text(letter)
        if whole is None:
            return _cut(letter, "They are kept for some days only.")
        try:
            # Through the fence: the worker may have put a link there.
            fence = Fence(Path(self._assigned.temporary))
            fence.write_bytes(f"{LONG_MAIL}/{letter.whole}", whole)
        except ModelFault as error:
            return _cut(letter, str(error))
        return letter

    async def _until_resumed(self) -> None:
        if not self._member.may_go.is_set():
            with self._member.waiting("/resume"):
                await self._member.may_go.wait()

    async def keep(self, incoming: Message, via: Via = ()) -> None:
        """Adds a message to the conversation."""
        brain = self._subagents.at(via).brain if via else self._brain
        await brain.keep(incoming)

    async def open(self, call: ToolCall, via: Via = ()) -> ToolCall | ToolResult:
        """Takes a call through the gate; the lead's tools run here, the lane's at the worker."""
        if self._is_stale:
            self._hand_in.keep_late(f"{call.name} {msgspec.json.encode(call.input).decode()}")
            return ToolResult(text=STALE, is_error=True, ends_turn=True)
        pool = self._pool_of(via)
        opened = await pool.open(call)
        if isinstance(opened, ToolResult):
            return opened
        if opened.tool.place is Place.LEAD:
            return await pool.close(opened, await pool.run_here(opened))
        if isinstance(opened.input, SubagentInput):
            self._subagents.begin((*via, call.call_id), opened.input)
        self._cleared[*via, call.call_id] = opened
        self._note_doing()
        return opened.call

    async def close(self, call_id: str, result: ToolResult, via: Via = ()) -> ToolResult:
        """Takes the result of a call that was opened here through the rest of the gate."""
        cleared = self._cleared.pop((*via, call_id), None)
        self._note_doing()
        if cleared is None:
            raise WorkerBroken(
                f"The worker gave a result of a call it was not told to run: {call_id!r}."
            )
        await self._subagents.end((*via, call_id))
        closed = await self._pool_of(via).close(cleared, result)
        if self._is_stale:
            self._hand_in.keep_late(closed.text)
        return closed

    def _pool_of(self, via: Via) -> ToolPool:
        return self._subagents.at(via).pool if via else self._pool

    async def turn_over(self, text: str, failure: str, via: Via = ()) -> Message | None:
        """Reminds a worker that forgot to hand in; ends the attempt when that does not help."""
        if self._is_stale:
            if text.strip():
                self._hand_in.keep_late(text)
            return None
        text, failure = self._mask(text), self._mask(failure)
        if via:
            return await self._subagents.at(via).after(TurnEnd(text=text, failure=failure))
        objection = "" if failure else await self._may_stop(text, self._stop_blocks > 0)
        if self._hand_in.is_over:
            return None
        if objection and self._stop_blocks < MOST_STOP_BLOCKS:
            self._stop_blocks += 1
            return said(f"A SubagentStop hook sends you back to work: {objection}")
        self._last_words = text or self._last_words
        if failure or self._nudges == NUDGES:
            self.failure = failure or self._last_words or SILENT
            return None
        self._nudges += 1
        return said(NUDGE)

    def _note_doing(self) -> None:
        if self._member.state is WorkerState.WORKING:
            self._member.doing = ", ".join(cleared.call.name for cleared in self._cleared.values())

    @property
    def is_cancelled(self) -> bool:
        """True once nobody wants the task any more."""
        status = self._board.task(self._claim.task).status
        return status is TaskStatus.CANCELLED and not self._is_current

    @property
    def _is_current(self) -> bool:
        return self._board.is_current(self._claim)

    @property
    def _is_stale(self) -> bool:
        return not (self._hand_in.is_over or self._is_current)


def _cut(letter: MailSent, why: str) -> MailSent:
    """Returns a long message of which only the head can be told."""
    left_out = letter.characters - len(letter.body)
    note = f"[{left_out} characters more could not be laid beside you: {why} Ask {letter.sender}.]"
    return replace(letter, body=f"{letter.body}\n{note}", whole="", characters=0)
