"""What a run, each task and each worker may spend; counted and kept in code, by the lead.

1. Every answer of every agent's model is counted: tokens always, money where the price is known; a
   sub-agent's for the task and the worker it works for.
2. Before a request, what the agent's last one took is reserved, so that requests under way together
   can't pass a limit unseen; the answer settles it.
3. At four fifths of a limit the person is warned, once for each.
4. At a limit no further request is made. A run's limit ends the run in order, with tasks given
   back; a task's or a worker's parks the task and leaves the others at work.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.messages import Usage
from modules.records.settings import Limit
from modules.team.addresses import worker_of

WARN_AT = 0.8
RUN = "run"


class BudgetSpent(PersonFault):
    """A budget is used up."""

    def __init__(self, message: str, *, hint: str, is_whole_run: bool) -> None:
        super().__init__(message, hint=hint, exit_code=Exit.LIMIT)
        self.is_whole_run = is_whole_run


@dataclass(slots=True)
class Account:
    """What one run, task or worker has spent of its limit."""

    limit: Limit
    began_at: datetime
    tokens: int = 0
    cost_usd: float | None = None
    reserved: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Tokens and money of requests under way, by agent."""
    warned: set[str] = field(default_factory=set)


class Budget:
    """The accounts of one run; `warn` gets one line for the person."""

    def __init__(
        self,
        *,
        run: Limit,
        task: Limit,
        worker: Limit,
        clock: Callable[[], datetime],
        warn: Callable[[str], None],
    ) -> None:
        self._limits = {"task": task, "worker": worker}
        self._clock = clock
        self._warn = warn
        self._accounts = {RUN: Account(run, clock())}
        self._last: dict[str, tuple[int, float]] = {}
        self.usage = Usage()

    @property
    def cost_usd(self) -> float | None:
        """What the run has cost; None while no answer with a known price has come."""
        return self._accounts[RUN].cost_usd

    def reserve(self, agent: str, task: int | None) -> None:
        """Takes what a request may need; raises BudgetSpent when it may not be made."""
        for name in self._names(agent, task):
            self._check(name, agent)
        wanted = self._last.get(agent, (0, 0.0))
        for name in self._names(agent, task):
            self._account(name).reserved[agent] = wanted

    def pay(self, agent: str, task: int | None, usage: Usage, cost_usd: float | None) -> None:
        """Settles what an answer took."""
        self.usage = self.usage + usage
        tokens = usage.input_tokens + usage.output_tokens
        self._last[agent] = (tokens, cost_usd or 0.0)
        for name in self._names(agent, task):
            account = self._account(name)
            account.reserved.pop(agent, None)
            account.tokens += tokens
            if cost_usd is not None:
                account.cost_usd = (account.cost_usd or 0.0) + cost_usd
            elif account.limit.usd is not None:
                line = "The model's price is not known: its tokens are counted, its cost is not."
                self._warn_once(account, "price", line)
            self._warn_near(name, account)

    def _check(self, name: str, agent: str) -> None:
        account = self._account(name)
        others = [held for who, held in account.reserved.items() if who != agent]
        spent = {
            "tokens": (account.tokens + sum(held[0] for held in others), account.limit.tokens),
            "USD": (
                (account.cost_usd or 0.0) + sum(held[1] for held in others),
                account.limit.usd,
            ),
            "minutes": (self._minutes(account), account.limit.minutes),
        }
        for unit, (amount, limit) in spent.items():
            if limit is not None and amount >= limit:
                what = "the run" if name == RUN else name
                raise BudgetSpent(
                    f"The budget of {what} is spent: {amount:g} of {limit:g} {unit}.",
                    hint="Raise it ([budget] or --budget-…) and start again; nothing is lost.",
                    is_whole_run=name == RUN,
                )

    def _warn_near(self, name: str, account: Account) -> None:
        spent = (
            ("tokens", account.tokens, account.limit.tokens),
            ("USD", account.cost_usd or 0.0, account.limit.usd),
            ("minutes", self._minutes(account), account.limit.minutes),
        )
        for unit, amount, limit in spent:
            if limit is not None and WARN_AT * limit <= amount < limit:
                what = "the run" if name == RUN else name
                line = f"{amount:g} of {limit:g} {unit} of the budget of {what} are spent."
                self._warn_once(account, unit, line)

    def _warn_once(self, account: Account, what: str, line: str) -> None:
        if what not in account.warned:
            account.warned.add(what)
            self._warn(line)

    def _minutes(self, account: Account) -> float:
        return (self._clock() - account.began_at).total_seconds() / 60

    def _names(self, agent: str, task: int | None) -> list[str]:
        return [RUN] if task is None else [RUN, f"task {task}", f"worker {worker_of(agent)}"]

    def _account(self, name: str) -> Account:
        if name not in self._accounts:
            limit = self._limits[name.partition(" ")[0]]
            self._accounts[name] = Account(limit, self._clock())
        return self._accounts[name]
