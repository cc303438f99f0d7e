"""A worker's process: the agent loop with its model and its gate at the other end of a pipe.

It holds no key, imports no vendor SDK, and ends, with its children, when its lead is gone.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modules.agent.limits import Limits
from modules.agent.loop import TurnEnd, run_turn
from modules.agent.noted_brain import NotedBrain
from modules.agent.schema import read_input
from modules.agent.subagent import run_subagent
from modules.app.lead_line import LeadGone, LeadLine
from modules.records.errors import ModelFault
from modules.records.messages import Message, ModelReply, ToolCall
from modules.records.protocol import (
    LONGEST_LINE_BYTES,
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
    Think,
    TurnOver,
    Via,
)
from modules.records.tooling import Tool, ToolResult
from modules.safety.fence import Fence
from tools.catalog import LANE_TOOLS
from tools.lane_context import LaneContext
from tools.subagent import MOST_AT_ONCE, SUBAGENT_TOOL, SubagentInput


class RemoteBrain:
    """The worker's model: the lead keeps the conversation and asks."""

    def __init__(self, line: LeadLine, via: Via = ()) -> None:
        self._line = line
        self._via = via

    async def reply(self, incoming: Message) -> ModelReply:
        """Returns the model's answer to the conversation and `incoming`."""
        question = Think(seq=self._line.next_number(), incoming=incoming, via=self._via)
        return (await self._line.ask(question, Replied)).reply

    async def keep(self, incoming: Message) -> None:
        """Adds `incoming` to the conversation."""
        question = Keep(seq=self._line.next_number(), incoming=incoming, via=self._via)
        await self._line.ask(question, Kept)


class RemoteHands:
    """The worker's tools: the lead's gate decides, the lane's tools run here."""

    def __init__(
        self,
        line: LeadLine,
        tools: Mapping[str, Tool[Any, LaneContext]],
        context: LaneContext,
        via: Via = (),
    ) -> None:
        self._line = line
        self._tools = tools
        self._context = context
        self._via = via
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)

    async def run(self, call: ToolCall) -> ToolResult:
        """Takes one call through the lead's gate; of sub-agents so many at once as may be."""
        if call.name == SUBAGENT_TOOL.name:
            async with self._slots:
                return await self._run(call)
        return await self._run(call)

    async def _run(self, call: ToolCall) -> ToolResult:
        opening = Open(seq=self._line.next_number(), call=call, via=self._via)
        answer = await self._line.ask_gate(opening)
        if isinstance(answer, Done):
            return answer.result
        result = await self._run_here(answer.call)
        closing = Close(
            seq=self._line.next_number(), call_id=call.call_id, result=result, via=self._via
        )
        closed = await self._line.ask_gate(closing)
        if not isinstance(closed, Done):
            raise TypeError(f"The lead answered {closing!r} with {closed!r}.")
        return closed.result

    def overlaps(self, call: ToolCall) -> bool:
        """Returns whether the call may run beside others of the same answer."""
        tool = SUBAGENT_TOOL if call.name == SUBAGENT_TOOL.name else self._tools.get(call.name)
        return tool is not None and tool.overlaps

    def waits(self, call: ToolCall) -> bool:
        """Returns whether the same call again is no loop."""
        tool = self._tools.get(call.name)
        return tool is not None and tool.waits

    async def _run_here(self, call: ToolCall) -> ToolResult:
        try:
            if call.name == SUBAGENT_TOOL.name:
                given = read_input(call.name, SUBAGENT_TOOL.input, call.input)
                return await SUBAGENT_TOOL.run(given, RemoteDelegate(self, call.call_id))
            tool = self._tools[call.name]
            return await tool.run(read_input(call.name, tool.input, call.input), self._context)
        except ModelFault as error:
            return ToolResult(text=str(error), is_error=True)

    async def run_subagent(self, call_id: str, given: SubagentInput) -> ToolResult:
        """Runs the sub-agent that a cleared call asked for."""
        line, via = self._line, (*self._via, call_id)
        context = self._context.afresh()
        brain = NotedBrain(RemoteBrain(line, via), context.background.endings)

        async def after(end: TurnEnd) -> Message | None:
            return await _turn_over(line, end, via)

        try:
            hands = RemoteHands(line, self._tools, context, via)
            return await run_subagent(brain, hands, given.prompt, after=after)
        finally:
            await context.background.stop_all()


@dataclass(frozen=True, slots=True)
class RemoteDelegate:
    """Runs the sub-agent of one cleared call."""

    hands: RemoteHands
    call_id: str

    async def run_subagent(self, given: SubagentInput) -> ToolResult:
        """Runs it to its end and returns its last words."""
        return await self.hands.run_subagent(self.call_id, given)


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
        opening = await _turn_over(line, end, ())


async def _turn_over(line: LeadLine, end: TurnEnd, via: Via) -> Message | None:
    """Tells the lead of a turn's end and returns what begins the next one."""
    failure = end.failure or end.awaits
    over = TurnOver(seq=line.next_number(), text=end.text, failure=failure, via=via)
    return (await line.ask(over, Next)).opening


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
