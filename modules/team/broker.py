"""The lead's end of one worker's pipe.

1. The worker speaks first (hello), within a limited time; it is told its assignment. One that
   does not, or ends before, has not come up.
2. Whatever it wants — its model, a call, its next turn — is a question to the desk, and the desk's
   answer goes back with the question's number. Questions are answered side by side.
3. A line that is not a message of the protocol, a message out of turn or too many questions at
   once ends the connection: the worker is broken.
4. When the pipe closes, every open question is cancelled.
"""

import asyncio
import contextlib
from typing import Protocol, assert_never

import msgspec

from modules.records.errors import CrewyardError
from modules.records.messages import Message, ModelReply, ToolCall
from modules.records.protocol import (
    AnyLeadMessage,
    AnyWorkerMessage,
    Assigned,
    Beat,
    Close,
    Done,
    Hello,
    Keep,
    Kept,
    Next,
    Open,
    Replied,
    Run,
    Think,
    TurnOver,
    Via,
)
from modules.records.record import to_json
from modules.records.tooling import ToolResult

MOST_OPEN_QUESTIONS = 64
Question = Think | Keep | Open | Close | TurnOver


class Desk(Protocol):
    """What the lead does for the agent of one attempt, and for its sub-agents (`via`)."""

    def greet(self, pid: int) -> Assigned:
        """Returns the assignment of the worker that came up."""
        ...

    def heard(self) -> None:
        """Notes that the worker lives."""
        ...

    async def think(self, incoming: Message, via: Via) -> ModelReply:
        """Returns the model's answer."""
        ...

    async def keep(self, incoming: Message, via: Via) -> None:
        """Adds a message to the conversation."""
        ...

    async def open(self, call: ToolCall, via: Via) -> ToolCall | ToolResult:
        """Returns the call as the worker may run it, or the result when it may not or need not."""
        ...

    async def close(self, call_id: str, result: ToolResult, via: Via) -> ToolResult:
        """Returns the result as the model is to see it."""
        ...

    async def turn_over(self, text: str, failure: str, via: Via) -> Message | None:
        """Returns what the worker should do next, None when it is done."""
        ...


class WorkerBroken(CrewyardError):
    """The worker said what no worker says; the message tells what."""


class WorkerNotUp(CrewyardError):
    """The worker never said hello; the message tells why that is not waited for any longer."""


class Broker:
    """Serves one worker until its pipe closes; `start_seconds` are left to it until its hello."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        desk: Desk,
        *,
        start_seconds: float,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._desk = desk
        self._start_seconds = start_seconds
        self._decoder = msgspec.json.Decoder(AnyWorkerMessage)
        self._greeted = asyncio.Event()
        self._open_questions = 0

    async def serve(self) -> None:
        """Answers the worker until its pipe closes.

        Raises WorkerNotUp, WorkerBroken, or what a question's answer raised; several of them as a
        group.
        """
        try:
            async with asyncio.TaskGroup() as questions:
                questions.create_task(self._watch_start())
                while message := await self._next_message():
                    self._take(message, questions)
                raise _PipeClosed
        except BaseExceptionGroup as group:
            _, troubles = group.split(_PipeClosed)
            if troubles is not None:
                raise _only(troubles) from None
        if not self._greeted.is_set():
            raise WorkerNotUp("The worker ended before it said hello.")

    async def _next_message(self) -> AnyWorkerMessage | None:
        try:
            line = await self._reader.readline()
        except ValueError as error:
            raise WorkerBroken(f"The worker said a line without an end: {error}.") from error
        if not line.endswith(b"\n"):
            return None  # the end, or what a worker killed in mid-line left
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise WorkerBroken(f"The worker said {line[:80]!r}: {error}.") from error

    async def _watch_start(self) -> None:
        # Two halves, since after a lead's own sleep the first is over before it reads what came.
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._greeted.wait(), self._start_seconds / 2)
        if not self._greeted.is_set():
            raise WorkerNotUp(f"The worker did not say hello within {self._start_seconds:g} s.")

    def _take(self, message: AnyWorkerMessage, questions: asyncio.TaskGroup) -> None:
        if isinstance(message, Hello) is self._greeted.is_set():
            raise WorkerBroken(f"The worker said {type(message).__name__} out of turn.")
        match message:
            case Hello(pid=pid):
                self._greeted.set()
                self._send(self._desk.greet(pid))
            case Beat():
                self._desk.heard()
            case Think() | Keep() | Open() | Close() | TurnOver():
                self._desk.heard()
                self._open_questions += 1
                if self._open_questions > MOST_OPEN_QUESTIONS:
                    raise WorkerBroken(f"The worker asked {self._open_questions} things at once.")
                questions.create_task(self._answer(message))
            case _:
                assert_never(message)

    async def _answer(self, message: Question) -> None:
        answer = await self._answer_to(message)
        self._open_questions -= 1
        self._send(answer)

    async def _answer_to(self, message: Question) -> AnyLeadMessage:
        match message:
            case Think(seq=seq, incoming=incoming, via=via):
                return Replied(seq=seq, reply=await self._desk.think(incoming, via))
            case Keep(seq=seq, incoming=incoming, via=via):
                await self._desk.keep(incoming, via)
                return Kept(seq=seq)
            case Open(seq=seq, call=call, via=via):
                opened = await self._desk.open(call, via)
                if isinstance(opened, ToolCall):
                    return Run(seq=seq, call=opened)
                return Done(seq=seq, result=opened)
            case Close(seq=seq, call_id=call_id, result=result, via=via):
                return Done(seq=seq, result=await self._desk.close(call_id, result, via))
            case TurnOver(seq=seq, text=text, failure=failure, via=via):
                return Next(seq=seq, opening=await self._desk.turn_over(text, failure, via))
            case _:
                assert_never(message)

    def _send(self, message: AnyLeadMessage) -> None:
        if not self._writer.is_closing():
            self._writer.write(to_json(message) + b"\n")


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Returns the one error of a group, or the group when it holds several."""
    return group.exceptions[0] if len(group.exceptions) == 1 else group


class _PipeClosed(Exception):
    """The worker's pipe closed: ends the group of open questions."""
