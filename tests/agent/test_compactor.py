"""A conversation that gets too long is made shorter, in bounded tries, and its agent goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from modules.agent.brain import Head, LocalBrain
from modules.context.session import Session
from modules.context.token_count import history_tokens, text_tokens
from modules.records.errors import (
    ContextOverflow,
    CrewyardError,
    PersonFault,
    QuotaFault,
    TransientFault,
)
from modules.records.exits import Exit
from modules.records.messages import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    Usage,
    said,
)
from tests.context.histories import assert_in_pairs
from tests.fakes.clock import START, FakeClock
from tests.fakes.compaction import FakeNeeds
from tests.providers.making import answered, call, output, told, words

TASK = "Task 7. Accepted when UNIQUE-MARKER passes."
PLAN = "[x] read\n[>] write\n[ ] test"
WINDOW = 20_000  # of which 14,000 are the limit and 8,400 the aim


class Model:
    """Refuses what is longer than its window; else answers with a call, or with `summaries`."""

    def __init__(self) -> None:
        self.window = WINDOW
        self.summaries: list[str | CrewyardError] = ["ok"]
        """What summaries come; the last one stays."""
        self.usage: Usage | None = None
        """What is told of a turn; None: the truth."""
        self.before_summary: Callable[[], Awaitable[None]] | None = None
        self.requests: list[ModelRequest] = []
        self.summed_up: list[ModelRequest] = []

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        sent = text_tokens(request.system) + history_tokens(request.messages)
        (self.summed_up if request.is_summary else self.requests).append(request)
        assert_in_pairs(request.messages)
        assert request.messages[-1].role == "user"
        if sent > self.window:
            raise ContextOverflow("The prompt is too long.")
        on_text("words")
        reply = answered(words("go"), call(f"c{len(self.requests)}"))
        if request.is_summary:
            if self.before_summary is not None:
                await self.before_summary()
            summary = self.summaries.pop(0) if len(self.summaries) > 1 else self.summaries[0]
            if isinstance(summary, CrewyardError):
                raise summary
            reply = answered(words(summary))
        usage = self.usage or Usage(
            input_tokens=sent, output_tokens=history_tokens([reply]), cached_tokens=sent // 2
        )
        return ModelReply(message=reply, stop=StopReason.TOOL_USE, usage=usage)


class Bench:
    """A worker's brain on a session in a folder."""

    def __init__(self, folder: Path, *, window: int = WINDOW, system: str = "Be brief.") -> None:
        self.path = folder / "w1.jsonl"
        self.session = Session(self.path, clock=FakeClock())
        self.model = Model()
        self.needs = FakeNeeds(facts="The board is yours.")
        self.heard: list[str] = []
        self.paid: list[Usage] = []
        self.is_broke = False
        self.brain = LocalBrain(
            self.session,
            self.model,
            head=lambda: Head(agent="w1", task="add mean", model="m", system=system),
            specs=lambda: (),
            price=None,
            on_text=self.heard.append,
            on_paid=lambda usage, cost: self.paid.append(usage),
            before_request=self._check,
            mask=lambda text: text,
            window_tokens=window,
            needs=self.needs,
            clock=FakeClock(),
        )

    def _check(self) -> None:
        if self.is_broke:
            raise PersonFault("The budget is spent.", hint="", exit_code=Exit.LIMIT)

    def say(self, incoming: Message) -> Message:
        return asyncio.run(self.brain.reply(incoming)).message

    def begin(self) -> None:
        """Says the task and makes a plan."""
        self.say(said(TASK))
        asyncio.run(self.session.keep(told(output("c1"))))
        asyncio.run(self.session.keep(answered(ToolCall(call_id="p", name="todo"))))
        asyncio.run(self.session.keep(told(output("p", text=PLAN), words("use tabs"))))
        asyncio.run(self.session.keep(answered(call("c0"))))
        self.say(told(output("c0")))

    def step(self, size: int) -> None:
        """Answers the open call with so many characters."""
        last = self.session.messages[-1].calls[0].call_id
        self.say(told(output(last, text="x" * size)))

    @property
    def newest(self) -> str:
        """All that the model was sent last."""
        return "\n".join(message.text for message in self.model.requests[-1].messages)


def test_old_outputs_give_way_first_and_no_summary_is_asked_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.begin()

    for _ in range(14):
        bench.step(4_000)

    assert [c.step for c in bench.needs.compactions] == ["outputs"]
    assert bench.model.summed_up == []
    assert len(bench.needs.files) > 5
    assert "left out to save room; the whole text is in /f/c" in bench.newest


def test_worker_goes_on_past_many_compactions_with_all_that_must_stay(tmp_path: Path) -> None:
    """SES-05: task, plan and correction are kept by code, whatever the summary says."""
    bench = Bench(tmp_path)
    bench.begin()

    for _ in range(130):
        bench.step(490)
        bench.step(3_000)
        for kept in (TASK, "use tabs", "[>] write"):
            assert kept in bench.newest

    steps = [compacted.step for compacted in bench.needs.compactions]
    assert steps.count("summary") >= 2
    assert len(bench.model.requests) == 262  # every step was asked once
    assert "The board is yours." in bench.newest
    assert bench.model.requests[-1].answers_before > 60
    assert all(history_tokens(request.messages) < WINDOW * 0.8 for request in bench.model.requests)


def test_size_is_what_the_provider_told_of_the_last_request(tmp_path: Path) -> None:
    """SES-04: a large cached part neither counts twice nor adds up."""
    bench = Bench(tmp_path, window=100_000)
    bench.model.usage = Usage(input_tokens=42_900, output_tokens=300, cached_tokens=40_000)
    bench.begin()

    for _ in range(20):
        bench.step(100)

    assert bench.needs.compactions == []
    bench.model.usage = Usage(input_tokens=90_000, output_tokens=300)
    bench.step(100)
    bench.model.usage = None
    bench.step(100)
    assert len(bench.needs.compactions) == 1
    bench.step(100)
    assert len(bench.needs.compactions) == 1


def test_compaction_that_makes_no_room_is_not_tried_for_ever(tmp_path: Path) -> None:
    """SES-03: judged by the next request's size, two useless ones are the end of it."""
    bench = Bench(tmp_path)
    bench.begin()
    bench.model.usage = Usage(input_tokens=15_000)

    for _ in range(30):
        bench.step(100)

    assert len(bench.needs.compactions) <= 2
    assert len(bench.model.summed_up) <= 2


def test_one_large_output_is_shortened_and_the_turn_goes_on(tmp_path: Path) -> None:
    """SES-03: what is kept whole alone passes the limit."""
    bench = Bench(tmp_path)
    bench.begin()

    bench.step(90_000)

    assert "characters left out to save room; the whole text is in /f/text]" in bench.newest
    assert "x" * 90_000 in bench.needs.files.values()
    assert TASK in bench.newest


def test_large_first_words_are_shortened_where_there_is_nothing_else(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    bench.say(said("begin" + "x" * 90_000 + "end"))

    assert bench.newest.startswith("begin")
    assert bench.newest.endswith("end")
    assert bench.model.summed_up == []


def test_prompt_that_fills_the_window_ends_the_turn_with_one_line(tmp_path: Path) -> None:
    """SES-03: nothing helps; it is said once, and nothing is lost."""
    bench = Bench(tmp_path, window=8_000, system="s" * 31_600)

    with pytest.raises(ContextOverflow, match=r"window of 8,000 tokens .* larger window"):
        bench.say(said("x" * 16_000))

    assert bench.model.requests == []
    assert bench.session.messages == (said("x" * 16_000),)


def test_request_refused_as_too_long_is_compacted_and_asked_again(tmp_path: Path) -> None:
    """SES-06: the window is smaller than it was taken for."""
    bench = Bench(tmp_path, window=200_000)
    bench.begin()

    for _ in range(40):
        bench.step(6_000)

    assert bench.needs.compactions[0].trigger == "overflow"
    assert [c.trigger for c in bench.needs.compactions[1:]].count("overflow") == 0
    assert len(bench.needs.compactions) > 1
    assert TASK in bench.newest


def test_request_refused_again_ends_the_turn(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.begin()
    for _ in range(5):
        bench.step(2_000)
    asked = len(bench.model.requests)
    bench.model.window = 10

    with pytest.raises(ContextOverflow):
        bench.step(100)

    assert len(bench.model.requests) <= asked + 2
    assert_in_pairs(bench.session.messages)


def test_history_of_a_larger_model_is_summed_up_in_pieces(tmp_path: Path) -> None:
    """SES-06: resumed with a smaller model, at three times its window."""
    large = Bench(tmp_path, window=1_000_000)
    large.model.window = 1_000_000
    large.begin()
    for number in range(100):
        large.say(
            told(output(large.session.messages[-1].calls[0].call_id), words(f"w{number} " * 200))
        )
    small = Bench(tmp_path)

    small.step(10)

    assert len(small.model.summed_up) > 1
    assert "Summary of what came before:\nok" in small.model.summed_up[1].messages[0].text
    assert len(small.model.requests) == 1
    assert [c.step for c in small.needs.compactions] == ["summary"]
    assert "w99 w99" in small.newest


@pytest.mark.parametrize(
    "failure",
    [
        TransientFault("429, given up"),
        PersonFault("400", hint="", exit_code=Exit.FAILED),
        "",
        "  \n",
    ],
    ids=["429", "400", "empty", "blank"],
)
def test_summary_that_fails_leaves_old_steps_out_and_the_person_is_told(
    tmp_path: Path, failure: str | CrewyardError
) -> None:
    """SES-06: bounded, and what code keeps is kept."""
    bench = Bench(tmp_path)
    bench.model.summaries = [failure]
    bench.begin()

    for _ in range(60):
        bench.step(450)
    for _ in range(12):
        bench.step(4_000)

    assert {c.step for c in bench.needs.compactions} <= {"outputs", "no_summary"}
    for kept in (TASK, "use tabs", "[>] write"):
        assert kept in bench.newest


def test_summary_request_that_is_too_long_itself_is_halved(tmp_path: Path) -> None:
    """SES-06: 429, then 400 too long, then an answer."""
    bench = Bench(tmp_path)
    bench.begin()
    for number in range(20):
        bench.say(told(output(f"c{number + 3}"), words("u" * 2_400)))
    bench.model.summaries = [ContextOverflow("too long"), "first half", "both halves"]

    asyncio.run(bench.brain.compactor.compact("manual"))

    assert bench.session.memory is not None
    assert bench.session.memory.summary == "both halves"
    assert len(bench.model.summed_up) >= 3


def test_spent_budget_or_quota_ends_the_turn_before_anything_is_left_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.begin()
    bench.step(100)
    before = bench.session.messages
    bench.is_broke = True

    with pytest.raises(PersonFault, match="budget"):
        asyncio.run(bench.brain.compactor.compact("manual"))
    bench.is_broke = False
    bench.model.summaries = [QuotaFault("later", hint="", until=START)]
    with pytest.raises(QuotaFault):
        asyncio.run(bench.brain.compactor.compact("manual"))

    assert bench.session.messages == before
    assert bench.model.requests[-1].messages == before[:-1]


def test_summary_is_paid_for_and_its_words_are_nobodys_answer(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.begin()
    for _ in range(3):
        bench.step(100)
    heard, paid = len(bench.heard), len(bench.paid)

    asyncio.run(bench.brain.compactor.compact("manual", "the API"))

    assert len(bench.heard) == heard
    assert len(bench.paid) == paid + 1
    assert b'"is_summary":true' in bench.path.read_bytes()
    request = bench.model.summed_up[0]
    assert "keep what concerns this: the API" in request.system
    assert (request.agent, request.task, request.tools) == ("w1", "add mean", ())


def test_hooks_are_asked_first_and_may_say_what_to_keep(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.needs.wanted = "names of tables"
    bench.begin()
    for _ in range(3):
        bench.step(100)

    bench.brain.compactor.wish("the API")
    bench.step(100)

    assert bench.needs.asked == [("manual", "the API")]
    assert "the API\nnames of tables" in bench.model.summed_up[0].system
    assert not bench.brain.compactor.is_wished


def test_a_no_of_hooks_leaves_the_request_as_it_is_until_the_provider_refuses(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.needs.no = "a hook says no"
    bench.begin()

    for _ in range(19):
        bench.step(4_000)
    with pytest.raises(ContextOverflow, match="too long"):
        bench.step(4_000)

    assert bench.needs.compactions == []
    assert bench.needs.asked[-1][0] == "overflow"
    assert bench.needs.warnings == ["The conversation is not compacted: a hook says no"]


def test_wish_without_anything_to_leave_out_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.brain.compactor.wish("")

    bench.say(said("hello"))

    assert bench.needs.warnings == ["There is nothing that a compaction could leave out now."]
    assert bench.needs.compactions == []


def test_next_process_goes_on_from_the_compacted_conversation(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.begin()
    for _ in range(40):
        bench.step(3_000)
    sent = bench.session.messages

    again = Bench(tmp_path)

    assert again.session.messages == sent
    assert again.session.memory == bench.session.memory
    assert again.brain.compactor.tokens == bench.brain.compactor.tokens


def test_what_is_said_while_the_summary_is_made_comes_after_it(tmp_path: Path) -> None:
    """SES-05: new words at the border are not swallowed."""
    bench = Bench(tmp_path)
    bench.begin()
    for _ in range(3):
        bench.step(100)
    asyncio.run(bench.session.keep(told(output(bench.session.messages[-1].calls[0].call_id))))
    bench.model.before_summary = lambda: bench.session.keep(said("typed meanwhile"))

    asyncio.run(bench.brain.compactor.compact("manual"))

    assert bench.session.messages[-1] == said("typed meanwhile")
    assert bench.session.memory is not None
