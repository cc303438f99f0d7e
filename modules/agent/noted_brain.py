"""A model that is told with its next request what happened beside its calls."""

from collections.abc import Callable

from msgspec.structs import replace

from modules.agent.loop import Brain
from modules.records.messages import Message, ModelReply, Text


class NotedBrain:
    """Adds to each request what `notes` has to tell by then; mostly it is nothing."""

    def __init__(self, brain: Brain, notes: Callable[[], str]) -> None:
        self._brain = brain
        self._notes = notes

    async def reply(self, incoming: Message) -> ModelReply:
        """Adds `incoming` and the notes to the conversation and returns the model's answer."""
        note = self._notes()
        if note:
            incoming = replace(incoming, blocks=(*incoming.blocks, Text(text=note)))
        return await self._brain.reply(incoming)

    async def keep(self, incoming: Message) -> None:
        """Adds `incoming` to the conversation without asking the model."""
        await self._brain.keep(incoming)
