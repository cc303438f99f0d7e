"""The model of an agent whose conversation is kept here: session, provider and price joined."""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from modules.agent.compactor import CompactionNeeds, Compactor
from modules.context.session import Session
from modules.providers.prices import Price, cost_usd
from modules.providers.provider import Provider
from modules.records.errors import ContextOverflow
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
    A conversation that gets too long for a window of `window_tokens` is compacted with `needs`.
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
        window_tokens: int,
        needs: CompactionNeeds,
        clock: Callable[[], datetime],
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
        self.compactor = Compactor(
            session,
            window_tokens=window_tokens,
            needs=needs,
            head=self._request,
            ask=self._sum_up,
            clock=clock,
        )

    async def reply(self, incoming: Message) -> ModelReply:
        """Adds `incoming` to the conversation and returns the model's answer, kept as well."""
        await self._session.keep(_masked(incoming, self._mask))
        await self.compactor.before_request()
        try:
            reply = await self._ask()
        except ContextOverflow as refusal:
            await self.compactor.after_refusal(refusal)
            reply = await self._ask()
        # Counted first: who is cancelled while the disk is waited for has spent it all the same.
        cost = self._pay(reply.usage)
        await self._session.keep_answer(reply.message, reply.usage, cost)
        self.compactor.judge()
        return reply

    async def keep(self, incoming: Message) -> None:
        """Adds `incoming` to the conversation."""
        await self._session.keep(_masked(incoming, self._mask))

    async def _ask(self) -> ModelReply:
        self._before_request()
        return await self._provider.complete(self._request(), on_text=self._on_text)

    async def _sum_up(self, request: ModelRequest) -> ModelReply:
        self._before_request()
        reply = await self._provider.complete(request, on_text=lambda _: None)
        cost = self._pay(reply.usage)
        self._session.pay(reply.usage, cost, is_summary=True)
        return reply

    def _pay(self, usage: Usage) -> float | None:
        cost = None if self._price is None else cost_usd(usage, self._price)
        self._on_paid(usage, cost)
        return cost

    def _request(self) -> ModelRequest:
        head, tools, memory = self._head(), self._specs(), self._session.memory
        self._session.set_prompt(model=head.model, system=head.system, tools=tools)
        return ModelRequest(
            agent=head.agent,
            task=head.task,
            model=head.model,
            system=head.system,
            messages=self._session.messages,
            tools=tools,
            max_output_tokens=self.compactor.window.answer,
            answers_before=0 if memory is None else memory.answers,
        )


def _masked(message: Message, mask: Callable[[str], str]) -> Message:
    blocks = tuple(
        replace(block, text=mask(block.text)) if isinstance(block, Text | ToolOutput) else block
        for block in message.blocks
    )
    return replace(message, blocks=blocks)
