"""A model and hands for the loop, both told beforehand what to do."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence

from modules.context.pairing import paired
from modules.records.messages import Block, Message, ModelReply, StopReason, Text, ToolCall
from modules.records.tooling import ToolResult


class FakeBrain:
    """Gives prepared replies and keeps the conversation as a session does."""

    def __init__(self, *replies: ModelReply) -> None:
        self._replies = iter(replies)
        self.messages: list[Message] = []

    async def reply(self, incoming: Message) -> ModelReply:
        """Returns the next reply; one too many is the test's mistake."""
        await self.keep(incoming)
        reply = next(self._replies)
        await self.keep(reply.message)
        return reply

    async def keep(self, incoming: Message) -> None:
        """Adds a message."""
        self.messages.extend(paired(self.messages, incoming))


class FakeHands:
    """Gives each call what `act` makes of it; keeps the order."""

    def __init__(
        self, act: Callable[[ToolCall], ToolResult] = lambda call: ToolResult(text=call.call_id)
    ) -> None:
        self._act = act
        self.ran: list[str] = []
        """In the order in which they ended."""
        self.began: list[str] = []
        self.ends_after: dict[str, str] = {}
        """Calls that end only once another has."""
        self._ended: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.hangs_at = ""
        """Id of the call that never ends."""
        self.hanging = asyncio.Event()

    def overlaps(self, call: ToolCall) -> bool:
        """Calls of the tool `aside` may run at once."""
        return call.name == "aside"

    def waits(self, call: ToolCall) -> bool:
        """Calls of the tool `wait` wait."""
        return call.name == "wait"

    async def run(self, call: ToolCall) -> ToolResult:
        """Runs one call."""
        self.began.append(call.call_id)
        if call.call_id == self.hangs_at:
            self.hanging.set()
            await asyncio.get_running_loop().create_future()
        if call.call_id in self.ends_after:
            await self._ended[self.ends_after[call.call_id]].wait()
        self.ran.append(call.call_id)
        self._ended[call.call_id].set()
        return self._act(call)


def answer(*blocks: Block | str, stop: StopReason | None = None) -> ModelReply:
    """Returns a reply; a text stands for words."""
    made = tuple(Text(text=block) if isinstance(block, str) else block for block in blocks)
    has_calls = any(isinstance(block, ToolCall) for block in made)
    usual = StopReason.TOOL_USE if has_calls else StopReason.END_TURN
    return ModelReply(message=Message(role="assistant", blocks=made), stop=stop or usual)


def endless(reply: ModelReply, count: int = 300) -> Sequence[ModelReply]:
    """Returns the same reply again and again."""
    return [reply] * count
