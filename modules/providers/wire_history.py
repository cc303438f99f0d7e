"""Keeps what was already arranged and encoded of a conversation, so a step costs what it adds.

1. A conversation is known by its key. What it begins with must be what was last asked in it;
   otherwise it was rewritten (compacted, resumed elsewhere) and is encoded anew.
2. All but the last messages can't change any more: their JSON is kept. The rest is encoded anew.
3. Where a provider binds reasoning to all that stood before it, reasoning that is older than a
   change of the prompt, the tools or the history is not sent again: it would be refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from modules.providers.arrangement import add_round, ended_by_user, rounds
from modules.records.messages import Message, ModelRequest, Reasoning, ToolSpec

_CONVERSATIONS_KEPT = 32


@dataclass(kw_only=True)
class _Conversation:
    system: str
    tools: tuple[ToolSpec, ...]
    asked: tuple[Message, ...] = ()
    reasoning_from: int = 0
    """Reasoning in messages before this one is not sent."""
    taken: int = 0
    """How many messages of the history are in `arranged`."""
    arranged: list[Message] = field(default_factory=list)
    fragments: list[bytes] = field(default_factory=list)
    """JSON of all of `arranged` but the last."""

    def continues_in(self, request: ModelRequest) -> bool:
        return request.messages[: len(self.asked)] == self.asked

    def has_same_head(self, request: ModelRequest) -> bool:
        return self.system == request.system and self.tools == request.tools


class WireHistory:
    """The conversations of one adapter; `binds_reasoning` says whether rule 3 holds for it."""

    def __init__(self, *, binds_reasoning: bool = False) -> None:
        self._binds_reasoning = binds_reasoning
        self._conversations: dict[tuple[str, ...], _Conversation] = {}

    def prepare(
        self,
        request: ModelRequest,
        *,
        origin: str,
        encode: Callable[[Message], bytes],
        variant: str = "",
    ) -> tuple[list[bytes], list[Message]]:
        """Returns the JSON of the settled messages and, arranged, the messages still open.

        Whatever `encode` depends on beside the message must be named by `variant`.
        """
        conversation = self._conversation(request, (request.agent, request.task, origin, variant))
        unfolded = _without_reasoning(
            request.messages[conversation.taken :],
            conversation.reasoning_from - conversation.taken,
        )
        *settled, last = rounds(unfolded)
        for part in settled:
            add_round(conversation.arranged, part, origin=origin)
            conversation.taken += len(part)
        known = len(conversation.fragments)
        conversation.fragments.extend(encode(item) for item in conversation.arranged[known:-1])
        conversation.asked = request.messages
        still_open = conversation.arranged[-1:]
        add_round(still_open, last, origin=origin)
        return conversation.fragments, ended_by_user(still_open)

    def drop_reasoning(self, request: ModelRequest, *, origin: str, variant: str = "") -> None:
        """Sends no reasoning of the messages of `request` any more."""
        self._conversations[(request.agent, request.task, origin, variant)] = _Conversation(
            system=request.system,
            tools=request.tools,
            asked=request.messages,
            reasoning_from=len(request.messages),
        )

    def _conversation(self, request: ModelRequest, key: tuple[str, ...]) -> _Conversation:
        known = self._conversations.pop(key, None)
        conversation = self._continued(known, request)
        self._conversations[key] = conversation
        while len(self._conversations) > _CONVERSATIONS_KEPT:
            self._conversations.pop(next(iter(self._conversations)))
        return conversation

    def _continued(self, known: _Conversation | None, request: ModelRequest) -> _Conversation:
        if known is None:
            return _Conversation(system=request.system, tools=request.tools)
        is_same_head = known.has_same_head(request) or not self._binds_reasoning
        if is_same_head and known.continues_in(request):
            return known
        return _Conversation(
            system=request.system,
            tools=request.tools,
            reasoning_from=len(request.messages) if self._binds_reasoning else 0,
        )


def _without_reasoning(messages: tuple[Message, ...], count: int) -> tuple[Message, ...]:
    """Returns the messages with the reasoning of the first `count` left out."""
    if count <= 0:
        return messages
    bare = (
        replace(
            message,
            blocks=tuple(item for item in message.blocks if not isinstance(item, Reasoning)),
        )
        for message in messages[:count]
    )
    return (*bare, *messages[count:])
