"""What happened beside a conversation joins its next request, and that one alone."""

import asyncio

from modules.agent.noted_brain import NotedBrain
from modules.records.messages import Message, Text, said
from tests.fakes.agent import FakeBrain, answer


def test_notes_join_the_next_request_and_no_other() -> None:
    inner = FakeBrain(answer("one"), answer("two"))
    notes = ["bg1 ended", ""]
    brain = NotedBrain(inner, lambda: notes.pop(0))

    async def talk() -> None:
        await brain.reply(said("go"))
        await brain.reply(said("on"))
        await brain.keep(said("kept"))

    asyncio.run(talk())

    noted = Message(role="user", blocks=(Text(text="go"), Text(text="bg1 ended")))
    asked = [message for message in inner.messages if message.role == "user"]
    assert asked == [noted, said("on"), said("kept")]
