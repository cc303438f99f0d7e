"""The agent's loop: ask the model, run its calls, give the results back, until it has no calls.

A lead runs it in its own process; a worker runs the same loop in another, where the two things it
is given speak to the lead over a pipe; a sub-agent is it with fewer tools.
"""

import asyncio
from typing import Protocol, assert_never

from modules.agent.limits import Limits, RepeatCount
from modules.records.messages import (
    Message,
    ModelReply,
    StopReason,
    Text,
    ToolCall,
    ToolOutput,
    said,
)
from modules.records.record import Record
from modules.records.tooling import ToolResult

EMPTY = "Your answer was empty. Say what you did, or go on."
GO_ON = "Your answer was cut off by the output limit. Go on where it ended, in smaller pieces."


class Brain(Protocol):
    """The model as the loop sees it: it keeps the conversation."""

    async def reply(self, incoming: Message) -> ModelReply:
        """Adds `incoming` to the conversation and returns the model's answer."""
        ...

    async def keep(self, incoming: Message) -> None:
        """Adds `incoming` to the conversation without asking the model."""
        ...


class Hands(Protocol):
    """The tools as the loop sees them."""

    async def run(self, call: ToolCall) -> ToolResult:
        """Runs one call through the gate; never raises for what the model did wrong."""
        ...


class TurnEnd(Record):
    """How a turn ended."""

    text: str = ""
    """The agent's last words."""
    failure: str = ""
    """Why the turn was ended from outside; empty when the agent ended it."""
    awaits: str = ""
    """Why the model had nothing to say yet (scripted models only)."""


async def run_turn(brain: Brain, hands: Hands, opening: Message, limits: Limits) -> TurnEnd:
    """Runs one turn that `opening` begins; on cancellation the results at hand are kept."""
    incoming, text, is_cut = opening, "", False
    repeats, continuations = RepeatCount(), 0
    for _ in range(limits.steps):
        reply = await brain.reply(incoming)
        words, calls = _words(reply.message), reply.message.calls
        if words.strip():
            text = text + words if is_cut else words
        is_cut = reply.stop is StopReason.MAX_TOKENS and not calls
        if not calls:
            again = _asked_again(reply)
            if not again or continuations == limits.continuations:
                return TurnEnd(text=text.strip(), failure=_stop_failure(reply), awaits=reply.awaits)
            continuations += 1
            incoming = said(again)
            continue
        continuations = 0
        if repeats.count(calls) >= limits.repeats:
            return TurnEnd(text=text.strip(), failure=_repeated(calls, limits))
        results = await _run_calls(brain, hands, calls)
        incoming = _answer(calls, results)
        if results[-1].ends_turn:
            await brain.keep(incoming)
            return TurnEnd(text=text.strip())
    await brain.keep(incoming)
    failure = f"The turn took {limits.steps} steps, the most allowed."
    return TurnEnd(text=text.strip(), failure=failure)


def _asked_again(reply: ModelReply) -> str:
    """Returns what to say to a model that ended without having ended; empty when it has."""
    if reply.stop is StopReason.MAX_TOKENS:
        return GO_ON
    is_meant = reply.awaits or reply.means_silence or reply.stop is StopReason.REFUSAL
    return "" if is_meant or _words(reply.message).strip() else EMPTY


async def _run_calls(brain: Brain, hands: Hands, calls: tuple[ToolCall, ...]) -> list[ToolResult]:
    """Runs calls in order, up to one that ends the turn; those left over count as interrupted."""
    results: list[ToolResult] = []
    try:
        for call in calls:
            results.append(await hands.run(call))
            if results[-1].ends_turn:
                break
    except asyncio.CancelledError:
        if results:
            await brain.keep(_answer(calls, results))
        raise
    return results


def _answer(calls: tuple[ToolCall, ...], results: list[ToolResult]) -> Message:
    return Message(
        role="user",
        blocks=tuple(
            ToolOutput(call_id=call.call_id, text=result.text, is_error=result.is_error)
            for call, result in zip(calls, results, strict=False)
        ),
    )


def _words(message: Message) -> str:
    return "\n".join(block.text for block in message.blocks if isinstance(block, Text))


def _repeated(calls: tuple[ToolCall, ...], limits: Limits) -> str:
    names = ", ".join(call.name for call in calls)
    return f"The same call ({names}) was made {limits.repeats} times in a row with the same input."


def _stop_failure(reply: ModelReply) -> str:
    """Returns what is wrong with a last answer; empty when the agent is done."""
    match reply.stop:
        case StopReason.MAX_TOKENS:
            return "The answer was cut off by the output limit again and again; it is not whole."
        case StopReason.REFUSAL:
            return "The model refused to go on."
        case StopReason.END_TURN | StopReason.TOOL_USE:
            return "The model's answers were empty." if _asked_again(reply) else ""
        case _:
            assert_never(reply.stop)
