"""What a run has spent, and the limits at which it warns and stops; kept in code, by the lead.

1. Every answer of every agent's model is counted: tokens always, money where the price is known.
2. At four fifths of a limit the person is warned, once for each limit.
3. At a limit no further request is made; the run ends in order, with tasks given back.
"""

from collections.abc import Callable

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.messages import Usage

WARN_AT = 0.8


class BudgetSpent(PersonFault):
    """The run's budget is used up."""


class Budget:
    """Counts tokens and money of one run; `warn` gets one line for the person."""

    def __init__(
        self,
        *,
        limit_usd: float | None,
        limit_tokens: int | None,
        warn: Callable[[str], None],
    ) -> None:
        self._limit_usd = limit_usd
        self._limit_tokens = limit_tokens
        self._warn = warn
        self._warned: set[str] = set()
        self.usage = Usage()
        self.cost_usd: float | None = None
        """None while no answer with a known price has come."""

    def pay(self, usage: Usage, cost_usd: float | None) -> None:
        """Adds one answer."""
        self.usage = self.usage + usage
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd
        elif self._limit_usd is not None:
            self._warn_once("price", "The model's price is not known: tokens are counted, no cost.")
        self._warn_near("tokens", self._tokens, self._limit_tokens)
        self._warn_near("USD", self.cost_usd or 0.0, self._limit_usd)

    def check(self) -> None:
        """Raises BudgetSpent when the next request may not be made."""
        if self._limit_tokens is not None and self._tokens >= self._limit_tokens:
            raise BudgetSpent(
                f"The budget of {self._limit_tokens} tokens is spent ({self._tokens} used).",
                hint="Raise --budget-tokens and start again; nothing done is lost.",
                exit_code=Exit.LIMIT,
            )
        if self._limit_usd is not None and (self.cost_usd or 0.0) >= self._limit_usd:
            raise BudgetSpent(
                f"The budget of {self._limit_usd} USD is spent ({self.cost_usd or 0.0:.4f} used).",
                hint="Raise --budget-usd and start again; nothing done is lost.",
                exit_code=Exit.LIMIT,
            )

    @property
    def _tokens(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens

    def _warn_near(self, what: str, spent: float, limit: float | None) -> None:
        if limit is not None and WARN_AT * limit <= spent < limit:
            self._warn_once(what, f"{spent:g} of {limit:g} {what} of the budget are spent.")

    def _warn_once(self, what: str, line: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            self._warn(line)
