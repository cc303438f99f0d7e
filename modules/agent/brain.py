"""The model of an agent whose conversation is kept here: session, provider and price joined."""

from collections.abc import Callable

from msgspec.structs import replace

from modules.context.session import Session
from modules.providers.prices import Price, cost_usd
from modules.providers.provider import Provider
from modules.records.messages import (
    Message,
    ModelReply,
    ModelRequest,
    Text,
    ToolOutput,
    ToolSpec,
    Usage,
)
from modules.records.record import Record


class Head(Record):
    """What every request of an agent begins with."""

    agent: str
    task: str = ""
    """Subject of the agent's task; empty for the lead."""
    model: str
    system: str


class LocalBrain:
    """Answers for one agent; keeps every message before it is sent and after it has come.

    `on_text` gets the words as they arrive, `on_paid` the tokens and the cost of each answer (None
    when the price is unknown). `before_request` may refuse by raising (a budget).
    `mask` takes known secrets out of whatever comes in, so none is kept or sent.
    """

    def __init__(
        self,
        session: Session,
        provider: Provider,
        *,
        head: Callable[[], Head],
        specs: Callable[[], tuple[ToolSpec, ...]],
        price: Price | None,
        on_text: Callable[[str], None],
        on_paid: Callable[[Usage, float | None], None],
        before_request: Callable[[], None],
        mask: Callable[[str], str],
    ) -> None:
        self._session = session
        self._provider = provider
        self._head = head
        self._specs = specs
        self._price = price
        self._on_text = on_text
        self._on_paid = on_paid
        self._before_request = before_request
        self._mask = mask

    async def reply(self, incoming: Message) -> ModelReply:
        """Adds `incoming` to the conversation and returns the model's answer, kept as well."""
        await self._session.keep(_masked(incoming, self._mask))
        self._before_request()
        reply = await self._provider.complete(self._request(), on_text=self._on_text)
        cost = None if self._price is None else cost_usd(reply.usage, self._price)
        # Counted first: who is cancelled while the disk is waited for has spent it all the same.
        self._on_paid(reply.usage, cost)
        await self._session.keep_answer(reply.message, reply.usage, cost)
        return reply

    async def keep(self, incoming: Message) -> None:
        """Adds `incoming` to the conversation."""
        await self._session.keep(_masked(incoming, self._mask))

    def _request(self) -> ModelRequest:
        head, tools = self._head(), self._specs()
        self._session.set_prompt(model=head.model, system=head.system, tools=tools)
        return ModelRequest(
            agent=head.agent,
            task=head.task,
            model=head.model,
            system=head.system,
            messages=self._session.messages,
            tools=tools,
        )


def _masked(message: Message, mask: Callable[[str], str]) -> Message:
    blocks = tuple(
        replace(block, text=mask(block.text)) if isinstance(block, Text | ToolOutput) else block
        for block in message.blocks
    )
    return replace(message, blocks=blocks)
