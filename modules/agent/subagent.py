"""A sub-agent is the same loop, in a conversation of its own, for one piece of work.

1. It takes turns until whoever stands behind it has nothing more for it.
2. Its last words are the result; one that was ended says so, and is an error.
"""

from collections.abc import Awaitable, Callable

from modules.agent.limits import Limits
from modules.agent.loop import Brain, Hands, TurnEnd, run_turn
from modules.records.messages import Message, said
from modules.records.tooling import ToolResult

STEPS = 100
"""Requests of one turn."""


async def run_subagent(
    brain: Brain,
    hands: Hands,
    prompt: str,
    *,
    after: Callable[[TurnEnd], Awaitable[Message | None]],
) -> ToolResult:
    """Works on `prompt`; `after` takes a turn's end and returns what begins the next, or None."""
    opening: Message | None = said(prompt)
    end = TurnEnd()
    while opening is not None:
        end = await run_turn(brain, hands, opening, Limits(steps=STEPS))
        opening = await after(end)
    failure = end.failure or end.awaits
    notes = [f"[the sub-agent was ended: {failure}]"] if failure else []
    text = end.text or ("" if failure else "(it said nothing)")
    return ToolResult(
        text="\n".join(filter(None, [text, *notes])), is_error=bool(failure or not end.text)
    )
