"""A sub-agent's loop: what comes back of it."""

import asyncio
from collections.abc import Sequence

from modules.agent.loop import TurnEnd
from modules.agent.subagent import run_subagent
from modules.records.messages import Message, StopReason, said
from modules.records.tooling import ToolResult
from tests.fakes.agent import FakeBrain, FakeHands, answer
from tests.providers.making import call


def result(brain: FakeBrain, openings: Sequence[Message] = ()) -> ToolResult:
    """Returns what a sub-agent gives back; after its turns come `openings`, then the end."""
    later = iter(openings)

    async def after(end: TurnEnd) -> Message | None:
        return next(later, None)

    return asyncio.run(run_subagent(brain, FakeHands(), "look", after=after))


def test_last_words_are_the_result() -> None:
    brain = FakeBrain(answer("I look", call("a")), answer("found"))

    assert result(brain) == ToolResult(text="found")
    assert brain.messages[0] == said("look")


def test_turns_go_on_as_long_as_something_begins_one() -> None:
    brain = FakeBrain(answer("first"), answer("second"))

    assert result(brain, [said("again")]) == ToolResult(text="second")
    assert brain.messages[2] == said("again")


def test_one_that_was_ended_is_an_error_that_says_why() -> None:
    brain = FakeBrain(answer("I can't.", stop=StopReason.REFUSAL))

    assert result(brain) == ToolResult(
        text="I can't.\n[the sub-agent was ended: The model refused to go on.]", is_error=True
    )
