"""The worker's end of the pipe to its lead."""

import asyncio
from itertools import count
from typing import TypeVar

import msgspec

from modules.records.protocol import (
    AnyLeadMessage,
    AnyWorkerMessage,
    Assigned,
    Close,
    Done,
    Keep,
    Kept,
    Next,
    Open,
    Replied,
    Run,
    Think,
    TurnOver,
)
from modules.records.record import to_json

AnswerT = TypeVar("AnswerT", Replied, Kept, Next)


class LeadGone(Exception):
    """The lead closed the pipe."""


class LeadLine:
    """The worker's end of the pipe: numbered questions, each awaiting its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = count(1)
        self._open: dict[int, asyncio.Future[AnyLeadMessage]] = {}
        self._is_deaf = False
        """True once nobody listens any more: no answer would ever come."""
        self._decoder = msgspec.json.Decoder(AnyLeadMessage)

    def send(self, message: AnyWorkerMessage) -> None:
        """Sends a message that wants no answer."""
        self._writer.write(to_json(message) + b"\n")

    def next_number(self) -> int:
        """Returns the number of the next question."""
        return next(self._numbers)

    async def receive(self) -> AnyLeadMessage:
        """Returns the next message; raises LeadGone at the pipe's end."""
        line = await self._reader.readline()
        if not line:
            raise LeadGone
        return self._decoder.decode(line)

    async def listen(self) -> None:
        """Hands answers to whoever waits for them; ends only by raising LeadGone."""
        try:
            while True:
                message = await self.receive()
                if not isinstance(message, Assigned):
                    self._open.pop(message.seq).set_result(message)
        finally:
            self._is_deaf = True

    async def ask_gate(self, question: Open | Close) -> Run | Done:
        """Asks about a call."""
        answer = await self._ask(question.seq, question)
        if not isinstance(answer, Run | Done):
            raise TypeError(f"The lead answered {question!r} with {answer!r}.")
        return answer

    async def ask(self, question: Think | Keep | TurnOver, answer_type: type[AnswerT]) -> AnswerT:
        """Asks about the conversation."""
        answer = await self._ask(question.seq, question)
        if not isinstance(answer, answer_type):
            raise TypeError(f"The lead answered {question!r} with {answer!r}.")
        return answer

    async def _ask(self, seq: int, question: AnyWorkerMessage) -> AnyLeadMessage:
        if self._is_deaf:
            raise LeadGone
        future: asyncio.Future[AnyLeadMessage] = asyncio.get_running_loop().create_future()
        self._open[seq] = future
        self.send(question)
        return await future
