"""The models of a run: chosen by SPEC, made once, shared by the agents that use them."""

from collections.abc import Callable

from modules.agent.brain import Head, LocalBrain
from modules.agent.compactor import CompactionNeeds
from modules.agent.tool_pool import ToolPool
from modules.app.budget import Budget
from modules.app.event_bus import EventBus
from modules.context.session import Session
from modules.providers.choose import ChosenModel
from modules.providers.provider import Provider
from modules.records.events import Spent, TextDelta
from modules.records.messages import Usage


class Models:
    """Makes the brain of each agent of a run."""

    def __init__(
        self,
        *,
        choose: Callable[[str], ChosenModel],
        retrying: Callable[[Provider, str], Provider],
        budget: Budget,
        events: EventBus,
        mask: Callable[[str], str],
    ) -> None:
        self._choose = choose
        self._retrying = retrying
        """Takes a provider and the agent's name."""
        self._budget = budget
        self._events = events
        self._mask = mask
        self._chosen: dict[str, ChosenModel] = {}
        self._providers: dict[str, Provider] = {}

    def check(self, spec: str) -> None:
        """Raises PersonFault when the model can't be used."""
        self._choice(spec)

    def name(self, spec: str) -> str:
        """Returns the whole SPEC of the model that `spec` means."""
        return self._choice(spec).spec

    def _choice(self, spec: str) -> ChosenModel:
        """Chooses once a run: a scripted model's file is read for it."""
        if spec not in self._chosen:
            self._chosen[spec] = self._choose(spec)
        return self._chosen[spec]

    def brain(
        self,
        spec: str,
        *,
        session: Session,
        pool: ToolPool,
        head: Callable[[str], Head],
        needs: CompactionNeeds,
        task: int | None = None,
    ) -> LocalBrain:
        """Returns an agent's brain; `head` takes the model's name at its provider.

        Raises PersonFault when the model can't be used.
        """
        chosen = self._choice(spec)
        provider = self._providers.get(chosen.spec)
        if provider is None:
            provider = self._providers[chosen.spec] = chosen.make()
        agent = head(chosen.model).agent

        def tell(text: str) -> None:
            self._events.emit(TextDelta(at=self._events.clock(), agent=agent, text=text))

        def pay(usage: Usage, cost_usd: float | None) -> None:
            self._budget.pay(agent, task, usage, cost_usd)
            self._events.emit(
                Spent(
                    at=self._events.clock(), agent=agent, task=task, usage=usage, cost_usd=cost_usd
                )
            )

        return LocalBrain(
            session,
            self._retrying(provider, agent),
            head=lambda: head(chosen.model),
            specs=pool.specs,
            price=chosen.price,
            on_text=tell,
            on_paid=pay,
            before_request=lambda: self._budget.reserve(agent, task),
            mask=self._mask,
            window_tokens=chosen.context_tokens,
            needs=needs,
            clock=self._events.clock,
        )
