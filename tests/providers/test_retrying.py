"""What failed for a time is asked again, in time, and not for ever."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from modules.providers.retrying import Retrying
from modules.records.errors import ContextOverflow, PersonFault, QuotaFault, TransientFault
from modules.records.exits import Exit
from modules.records.messages import ModelReply, ModelRequest, StopReason, Text
from tests.providers.making import answered, request

NOW = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)
REPLY = ModelReply(message=answered(Text(text="yes")), stop=StopReason.END_TURN)


class Flaky:
    """A provider that fails as told, then answers."""

    def __init__(self, failures: Sequence[Exception], *, words: str = "") -> None:
        self.failures = list(failures)
        self.words = words
        self.tries = 0

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        self.tries += 1
        if self.words:
            on_text(self.words)
        if self.failures:
            raise self.failures.pop(0)
        return REPLY


class Harness:
    """A retrying provider with a clock that only its own sleep moves."""

    def __init__(self, provider: Flaky, *, random: float = 0.0) -> None:
        self.slept: list[float] = []
        self.notices: list[str] = []
        self.heard: list[str] = []
        self.retrying = Retrying(
            provider,
            sleep=self._sleep,
            random=lambda: random,
            clock=lambda: NOW,
            notice=self.notices.append,
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def ask(self) -> ModelReply:
        return asyncio.run(self.retrying.complete(request(), on_text=self.heard.append))


def busy(wait: float | None = None) -> TransientFault:
    return TransientFault("The model is busy.", retry_after_seconds=wait)


def test_an_answer_at_once_needs_no_wait_and_no_notice() -> None:
    harness = Harness(Flaky([]))

    assert harness.ask() == REPLY
    assert (harness.slept, harness.notices) == ([], [])


def test_pauses_without_a_named_wait_double_with_jitter() -> None:
    low, high = (Harness(Flaky([busy()] * 7), random=r) for r in (0.0, 1.0))

    low.ask()
    high.ask()

    assert low.slept == [0.75 * 0.25 * 2**n for n in range(7)]
    assert high.slept == [1.25 * 0.25 * 2**n for n in range(7)]


def test_a_wait_the_server_names_is_never_cut_short_and_barely_longer() -> None:
    """earendil-works/pi#9595."""
    low, high = (Harness(Flaky([busy(3.0), busy(3.0)]), random=r) for r in (0.0, 1.0))

    assert low.ask() == high.ask() == REPLY

    assert low.slept == [3.0, 3.0]
    assert high.slept == [3.1, 3.1]


def test_a_wait_of_nothing_does_not_hammer_the_server() -> None:
    harness = Harness(Flaky([busy(0.0)] * 20))

    with pytest.raises(TransientFault):
        harness.ask()

    assert len(harness.slept) == 7
    assert min(harness.slept) >= 0.18


def test_tries_without_a_named_wait_end_after_eight() -> None:
    flaky = Flaky([busy()] * 20)
    harness = Harness(flaky)

    with pytest.raises(TransientFault, match="busy"):
        harness.ask()

    assert flaky.tries == 8


def test_named_waits_end_after_half_an_hour_in_all() -> None:
    flaky = Flaky([busy(300.0)] * 20)
    harness = Harness(flaky)

    with pytest.raises(TransientFault):
        harness.ask()

    assert sum(harness.slept) == 1800.0


@pytest.mark.parametrize("wait", [301.0, 99_999.0, 1e300], ids=["over", "a day", "for ever"])
def test_an_absurd_wait_is_told_to_the_person_and_not_sat_out(wait: float) -> None:
    flaky = Flaky([busy(wait)])
    harness = Harness(flaky)

    with pytest.raises(QuotaFault, match=r"until 20\d\d-") as caught:
        harness.ask()

    assert caught.value.exit_code == Exit.LIMIT
    assert caught.value.until > NOW
    assert (flaky.tries, harness.slept) == (1, [])


@pytest.mark.parametrize(
    "error",
    [PersonFault("no key", hint="set it"), ContextOverflow("too long"), ValueError("a bug")],
    ids=["person", "overflow", "bug"],
)
def test_what_time_does_not_mend_is_never_tried_again(error: Exception) -> None:
    flaky = Flaky([error])

    with pytest.raises(type(error)):
        Harness(flaky).ask()

    assert flaky.tries == 1


def test_every_pause_is_announced_and_a_broken_answer_is_said_to_start_again() -> None:
    silent, begun = Harness(Flaky([busy(2.0)])), Harness(Flaky([busy()], words="half"))

    silent.ask()
    begun.ask()

    assert silent.notices == ["The model of lead: The model is busy. In 2.0 s it is asked again."]
    assert begun.notices == [
        "The model of lead: The model is busy. In 0.2 s its answer starts again."
    ]
    assert begun.heard == ["half", "half"]


def test_the_budget_is_fresh_for_every_request() -> None:
    flaky = Flaky([busy()] * 7)
    harness = Harness(flaky)
    harness.ask()
    flaky.failures = [busy()] * 7

    assert harness.ask() == REPLY


def test_a_cancelled_wait_ends_at_once() -> None:
    async def scenario() -> None:
        waits = asyncio.Event()

        async def sleep(seconds: float) -> None:
            waits.set()
            await asyncio.Event().wait()

        retrying = Retrying(
            Flaky([busy(200.0)]),
            sleep=sleep,
            random=lambda: 0.0,
            clock=lambda: NOW,
            notice=lambda text: None,
        )
        asking = asyncio.create_task(retrying.complete(request(), on_text=print))
        await waits.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(asyncio.wait_for(scenario(), 5))
