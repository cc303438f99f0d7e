"""The agent's loop: ask the model, run its calls, give the results back, until it has no calls.

A lead runs it in its own process; a worker runs the same loop in another, where the two things it
is given speak to the lead over a pipe; a sub-agent is it with fewer tools.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol, assert_never

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

    def overlaps(self, call: ToolCall) -> bool:
        """Returns whether the call may run beside others of the same answer."""
        ...

    def waits(self, call: ToolCall) -> bool:
        """Returns whether the same call again is no loop."""
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
        times = repeats.count(calls)
        if times >= limits.repeats and not all(map(hands.waits, calls)):
            return TurnEnd(text=text.strip(), failure=_repeated(calls, limits))
        results = await _run_calls(brain, hands, calls)
        incoming = _answer(calls, results)
        if any(result.ends_turn for result in results.values()):
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


async def _run_calls(
    brain: Brain, hands: Hands, calls: tuple[ToolCall, ...]
) -> dict[int, ToolResult]:
    """Runs calls in order, those that may overlap at once, up to one that ends the turn.

    Returns results by the call's place; calls left over count as interrupted.
    """
    results: dict[int, ToolResult] = {}

    async def run(place: int) -> None:
        results[place] = await hands.run(calls[place])

    try:
        for places in _rounds(hands, calls):
            await _all_of(*(run(place) for place in places))
            if any(results[place].ends_turn for place in places):
                break
    except asyncio.CancelledError:
        if results:
            await brain.keep(_answer(calls, results))
        raise
    return results


def _rounds(hands: Hands, calls: tuple[ToolCall, ...]) -> list[list[int]]:
    """Returns the places of calls that run together; neighbours that may overlap do."""
    rounds: list[list[int]] = []
    may_join = False
    for place, call in enumerate(calls):
        overlaps = hands.overlaps(call)
        if may_join and overlaps:
            rounds[-1].append(place)
        else:
            rounds.append([place])
        may_join = overlaps
    return rounds


async def _all_of(first: Coroutine[Any, Any, None], *others: Coroutine[Any, Any, None]) -> None:
    """Awaits all; an error or a cancellation is raised once the rest have ended, too."""
    if not others:
        await first
        return
    tasks = [asyncio.ensure_future(one) for one in (first, *others)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _answer(calls: tuple[ToolCall, ...], results: Mapping[int, ToolResult]) -> Message:
    return Message(
        role="user",
        blocks=tuple(
            ToolOutput(
                call_id=calls[place].call_id,
                text=results[place].text,
                is_error=results[place].is_error,
            )
            for place in sorted(results)
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
