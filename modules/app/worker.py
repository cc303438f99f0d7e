"""A worker's process: the agent loop with its model and its gate at the other end of a pipe.

It holds no key, imports no vendor SDK, and ends, with its children, when its lead is gone.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from modules.agent.limits import Limits
from modules.agent.loop import run_turn
from modules.agent.noted_brain import NotedBrain
from modules.agent.schema import read_input
from modules.records.errors import ModelFault
from modules.records.messages import Message, ModelReply, ToolCall
from modules.records.protocol import (
    LONGEST_LINE_BYTES,
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
)
from modules.records.record import to_json
from modules.records.tooling import Tool, ToolResult
from modules.safety.fence import Fence
from tools.catalog import LANE_TOOLS
from tools.lane_context import LaneContext

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


class RemoteBrain:
    """The worker's model: the lead keeps the conversation and asks."""

    def __init__(self, line: LeadLine) -> None:
        self._line = line

    async def reply(self, incoming: Message) -> ModelReply:
        """Returns the model's answer to the conversation and `incoming`."""
        question = Think(seq=self._line.next_number(), incoming=incoming)
        return (await self._line.ask(question, Replied)).reply

    async def keep(self, incoming: Message) -> None:
        """Adds `incoming` to the conversation."""
        await self._line.ask(Keep(seq=self._line.next_number(), incoming=incoming), Kept)


class RemoteHands:
    """The worker's tools: the lead's gate decides, the lane's tools run here."""

    def __init__(
        self, line: LeadLine, tools: Mapping[str, Tool[Any, LaneContext]], context: LaneContext
    ) -> None:
        self._line = line
        self._tools = tools
        self._context = context

    async def run(self, call: ToolCall) -> ToolResult:
        """Takes one call through the lead's gate."""
        answer = await self._line.ask_gate(Open(seq=self._line.next_number(), call=call))
        if isinstance(answer, Done):
            return answer.result
        result = await self._run_here(answer.call)
        closing = Close(seq=self._line.next_number(), call_id=call.call_id, result=result)
        closed = await self._line.ask_gate(closing)
        if not isinstance(closed, Done):
            raise TypeError(f"The lead answered {closing!r} with {closed!r}.")
        return closed.result

    async def _run_here(self, call: ToolCall) -> ToolResult:
        tool = self._tools[call.name]
        try:
            return await tool.run(read_input(call.name, tool.input, call.input), self._context)
        except ModelFault as error:
            return ToolResult(text=str(error), is_error=True)


async def work(line: LeadLine) -> None:
    """Works on the attempt the lead assigns, turn by turn, until the lead says it is over."""
    line.send(Hello(pid=os.getpid()))
    assigned = await line.receive()
    if not isinstance(assigned, Assigned):
        raise LeadGone
    context = _lane_context(assigned)
    hands = RemoteHands(line, _tools_named(assigned.tools), context)
    brain = NotedBrain(RemoteBrain(line), context.background.endings)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(line.listen())
            tasks.create_task(_beat(line, assigned.beat_seconds))
            await _take_turns(line, brain, hands, assigned.opening)
            raise LeadGone
    except* LeadGone:
        pass  # the regular end: nothing is left to do, whoever said so
    finally:
        await context.background.stop_all()


async def _take_turns(
    line: LeadLine, brain: NotedBrain, hands: RemoteHands, opening: Message | None
) -> None:
    while opening is not None:
        end = await run_turn(brain, hands, opening, Limits())
        over = TurnOver(seq=line.next_number(), text=end.text, failure=end.failure or end.awaits)
        opening = (await line.ask(over, Next)).opening


async def _beat(line: LeadLine, seconds: float) -> None:
    while True:
        line.send(Beat())
        await asyncio.sleep(seconds)


def _tools_named(names: tuple[str, ...]) -> dict[str, Tool[Any, LaneContext]]:
    return {tool.name: tool for tool in LANE_TOOLS if tool.name in names}


def _lane_context(assigned: Assigned) -> LaneContext:
    root = Path(assigned.lane)
    return LaneContext(
        root=root,
        environment=assigned.environment,
        temporary=Path(assigned.temporary),
        fence=Fence(root),
        wrap=lambda argv: argv,  # this process is inside the sandbox already
    )


async def _connect(pipe_in: int, pipe_out: int) -> LeadLine:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe_in, "rb")
    )
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(pipe_out, "wb")
    )
    return LeadLine(reader, asyncio.StreamWriter(transport, protocol, None, loop))


async def _run(pipe_in: int, pipe_out: int) -> None:
    with contextlib.suppress(LeadGone):  # the lead may be gone before the first word
        await work(await _connect(pipe_in, pipe_out))


def main() -> int:
    """Runs a worker on this process's stdin and stdout and returns its exit code."""
    # The pipe is moved away from 0 and 1, so that no child or stray print can speak on it.
    pipe_in, pipe_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    asyncio.run(_run(pipe_in, pipe_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
