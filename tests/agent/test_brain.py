"""A model's answers are paid for and on disk before anybody acts on them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from modules.agent.brain import Head, LocalBrain
from modules.context.session import Session
from modules.providers.prices import Price
from modules.records.errors import PersonFault, TransientFault
from modules.records.messages import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    ToolOutput,
    Usage,
    said,
)
from tests.fakes.clock import FakeClock
from tests.fakes.compaction import FakeNeeds
from tests.providers.making import BASH, answered, call, told, words

USAGE = Usage(input_tokens=1_000_000, output_tokens=100)
PRICE = Price(sent=2.0, answered=10.0, cached=0.2, cache_write=2.5)


class FakeProvider:
    """Answers what the test prepared, and keeps what it was asked and what was on disk then."""

    def __init__(self, path: Path, *answers: Message | Exception) -> None:
        self._path = path
        self._answers = iter(answers)
        self.requests: list[ModelRequest] = []
        self.kept: list[tuple[Message, ...]] = []

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        self.requests.append(request)
        self.kept.append(Session(self._path, clock=FakeClock()).messages)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        on_text(answer.text)
        return ModelReply(message=answer, stop=StopReason.END_TURN, usage=USAGE)


class Bench:
    """A brain on a session in a folder, with everything it tells kept."""

    def __init__(
        self, folder: Path, *answers: Message | Exception, price: Price | None = PRICE
    ) -> None:
        self.path = folder / "w1.jsonl"
        self.session = Session(self.path, clock=FakeClock())
        self.provider = FakeProvider(self.path, *answers)
        self.heard: list[str] = []
        self.paid: list[tuple[Usage, object]] = []
        self.system = "Be brief."
        self.is_broke = False
        self.at_payment: Callable[[], object] = lambda: None
        self.brain = LocalBrain(
            self.session,
            self.provider,
            head=lambda: Head(agent="w1", task="add mean", model="m", system=self.system),
            specs=lambda: (BASH,),
            price=price,
            on_text=self.heard.append,
            on_paid=self._pay,
            before_request=self._check,
            mask=lambda text: text.replace("s3cret", "***"),
            window_tokens=10_000_000,
            needs=FakeNeeds(),
            clock=FakeClock(),
        )

    def _pay(self, usage: Usage, cost: float | None) -> None:
        self.paid.append((usage, cost))
        self.at_payment()

    def _check(self) -> None:
        if self.is_broke:
            raise PersonFault("The budget is spent.", hint="")

    def ask(self, incoming: Message) -> ModelReply:
        return asyncio.run(self.brain.reply(incoming))


def test_request_holds_the_head_the_tools_and_all_that_was_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path, answered(call("c1")), answered(words("done")))

    bench.ask(said("go"))
    reply = bench.ask(told())

    assert reply.message == answered(words("done"))
    assert bench.provider.requests[1] == ModelRequest(
        agent="w1",
        task="add mean",
        model="m",
        system="Be brief.",
        messages=bench.session.messages[:3],
        tools=(BASH,),
    )
    assert bench.heard == ["", "done"]


def test_what_is_asked_is_on_disk_before_it_is_sent_and_the_answer_before_it_is_given(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, answered(words("hi")))

    bench.ask(said("go"))

    assert bench.provider.kept == [(said("go"),)]
    assert Session(bench.path, clock=FakeClock()).messages == (said("go"), answered(words("hi")))


def test_answer_that_came_is_paid_for_and_kept_also_when_the_turn_is_cancelled(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, answered(words("hi")))

    async def cancelled_at_the_payment() -> None:
        asking = asyncio.ensure_future(bench.brain.reply(said("go")))
        bench.at_payment = asking.cancel
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled_at_the_payment())
    bench.session.close()

    assert bench.paid == [(USAGE, pytest.approx(2.001))]
    assert Session(bench.path, clock=FakeClock()).messages == (said("go"), answered(words("hi")))


def test_answer_is_paid_for_and_an_unknown_price_is_no_price(tmp_path: Path) -> None:
    known, unknown = tmp_path / "known", tmp_path / "unknown"
    first = Bench(known, answered(words("hi")))
    second = Bench(unknown, answered(words("hi")), price=None)

    first.ask(said("go"))
    second.ask(said("go"))

    assert first.paid == [(USAGE, pytest.approx(2.001))]
    assert second.paid == [(USAGE, None)]
    assert b'"kind":"paid"' in first.path.read_bytes()


def test_spent_budget_keeps_what_was_said_and_sends_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.is_broke = True

    with pytest.raises(PersonFault, match="budget"):
        bench.ask(said("go"))

    assert bench.provider.requests == []
    assert bench.session.messages == (said("go"),)


def test_failed_request_leaves_a_conversation_that_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TransientFault("busy"), answered(words("hi")))

    with pytest.raises(TransientFault):
        bench.ask(said("go"))
    bench.ask(said("again"))

    assert bench.session.messages == (said("go"), said("again"), answered(words("hi")))
    assert bench.paid == [(USAGE, pytest.approx(2.001))]


def test_prompt_is_noted_when_it_changes_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, *[answered(Text(text=str(n))) for n in range(3)])

    bench.ask(said("a"))
    bench.ask(said("b"))
    bench.system = "Be long."
    bench.ask(said("c"))

    assert bench.path.read_bytes().count(b'"kind":"prompt"') == 2
    assert [request.system for request in bench.provider.requests] == [
        "Be brief.",
        "Be brief.",
        "Be long.",
    ]


def test_message_can_be_kept_without_a_question(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    asyncio.run(bench.brain.keep(said("noted")))

    assert bench.session.messages == (said("noted"),)
    assert bench.provider.requests == []


def test_known_secret_is_neither_kept_nor_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, answered(words("hi")))

    bench.ask(said("the key is s3cret"))
    asyncio.run(
        bench.brain.keep(
            Message(role="user", blocks=(ToolOutput(call_id="c1", text="it says s3cret"),))
        )
    )

    assert bench.provider.requests[0].messages == (said("the key is ***"),)
    assert "s3cret" not in bench.path.read_text()
