import pytest

from modules.app.budget import Budget, BudgetSpent
from modules.records.messages import Usage
from modules.records.settings import Limit
from tests.fakes.clock import FakeClock

NONE = Limit()


def make(
    warned: list[str],
    *,
    run: Limit = NONE,
    task: Limit = NONE,
    worker: Limit = NONE,
    clock: FakeClock | None = None,
) -> Budget:
    return Budget(run=run, task=task, worker=worker, clock=clock or FakeClock(), warn=warned.append)


def used(tokens: int) -> Usage:
    return Usage(input_tokens=tokens - 1, output_tokens=1)


def test_run_is_warned_at_four_fifths_once_and_stopped_at_its_limit() -> None:
    warned: list[str] = []
    budget = make(warned, run=Limit(tokens=100))

    budget.pay("w1", 1, used(80), None)
    budget.pay("w1", 1, used(5), None)
    budget.reserve("lead", None)
    budget.pay("lead", None, used(20), None)

    assert warned == ["80 of 100 tokens of the budget of the run are spent."]
    with pytest.raises(BudgetSpent, match="the run") as caught:
        budget.reserve("w1", 1)
    assert caught.value.is_whole_run
    assert caught.value.exit_code == 4


def test_task_that_spent_its_own_budget_stops_alone() -> None:
    budget = make([], task=Limit(tokens=50))

    budget.pay("w1", 1, used(50), None)

    with pytest.raises(BudgetSpent, match="task 1") as caught:
        budget.reserve("w1", 1)
    assert not caught.value.is_whole_run
    budget.reserve("w2", 2)


def test_what_a_sub_agent_spends_counts_for_its_task_and_its_worker() -> None:
    budget = make([], worker=Limit(tokens=50), task=Limit(tokens=90))

    budget.reserve("w1/explore-1", 1)
    budget.pay("w1/explore-1/explore-1", 1, used(50), None)

    with pytest.raises(BudgetSpent, match="worker w1 "):
        budget.reserve("w1", 2)
    budget.pay("w2/general-1", 1, used(40), None)
    with pytest.raises(BudgetSpent, match="task 1 "):
        budget.reserve("w3/explore-1", 1)


def test_worker_that_spent_its_own_budget_stops_whatever_it_works_on() -> None:
    budget = make([], worker=Limit(usd=1.0))

    budget.pay("w1", 1, used(10), 1.0)

    with pytest.raises(BudgetSpent, match="worker w1"):
        budget.reserve("w1", 2)
    budget.reserve("w2", 2)


def test_requests_under_way_are_counted_before_they_are_answered() -> None:
    budget = make([], run=Limit(tokens=100))
    budget.pay("w1", 1, used(45), None)
    budget.pay("w2", 2, used(45), None)

    budget.reserve("w1", 1)

    with pytest.raises(BudgetSpent):
        budget.reserve("w2", 2)


def test_time_is_a_budget_too() -> None:
    clock = FakeClock()
    budget = make([], run=Limit(minutes=10), clock=clock)
    budget.reserve("lead", None)

    clock.move(minutes=10)

    with pytest.raises(BudgetSpent, match="10 of 10 minutes"):
        budget.reserve("lead", None)


def test_unknown_price_is_told_where_money_is_limited() -> None:
    warned: list[str] = []
    budget = make(warned, run=Limit(usd=1.0))

    budget.pay("lead", None, used(10), None)
    budget.pay("lead", None, used(10), None)

    assert warned == ["The model's price is not known: its tokens are counted, its cost is not."]
    assert budget.cost_usd is None
    assert budget.usage.output_tokens == 2
