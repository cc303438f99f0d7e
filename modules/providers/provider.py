"""What a model is to the rest of the program: one method."""

from collections.abc import Callable
from typing import Protocol

from modules.records.messages import ModelReply, ModelRequest


class Provider(Protocol):
    """Something that answers requests with whole replies."""

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        """Returns the whole answer; `on_text` gets its words as they come.

        Raises TransientFault when the same request may succeed later (a cut stream is one of
        these), ContextOverflow when it must shrink first, PersonFault when a person must act.
        """
        ...
