"""One turn: from its opening to an answer without calls, or to a limit that says which."""

import asyncio

import pytest
from msgspec.structs import replace

from modules.agent.limits import Limits
from modules.agent.loop import EMPTY, GO_ON, TurnEnd, run_turn
from modules.context.pairing import INTERRUPTED
from modules.records.messages import Message, StopReason, ToolCall, ToolOutput, said
from modules.records.tooling import ToolResult
from tests.fakes.agent import FakeBrain, FakeHands, answer, endless
from tests.providers.making import answered, call, output, told, words

CUT = StopReason.MAX_TOKENS


def turn(brain: FakeBrain, hands: FakeHands | None = None, limits: Limits | None = None) -> TurnEnd:
    return asyncio.run(run_turn(brain, hands or FakeHands(), said("go"), limits or Limits()))


def test_answer_without_calls_ends_the_turn() -> None:
    brain = FakeBrain(answer("hi"))

    assert turn(brain) == TurnEnd(text="hi")
    assert brain.messages == [said("go"), answered(words("hi"))]


def test_calls_are_run_in_order_and_their_results_given_back_together() -> None:
    brain = FakeBrain(answer("look", call("a"), call("b")), answer("done"))
    hands = FakeHands(lambda one: ToolResult(text=one.call_id, is_error=one.call_id == "b"))

    assert turn(brain, hands) == TurnEnd(text="done")
    assert hands.ran == ["a", "b"]
    assert brain.messages == [
        said("go"),
        answered(words("look"), call("a"), call("b")),
        told(output("a", "a"), output("b", "b", is_error=True)),
        answered(words("done")),
    ]


def test_empty_answer_is_asked_for_again_and_the_last_words_count() -> None:
    brain = FakeBrain(answer("I will look", call("a")), answer(), answer(" \n"), answer("done"))

    assert turn(brain) == TurnEnd(text="done")
    assert brain.messages.count(said(EMPTY)) == 2


def test_answers_that_stay_empty_end_the_turn_as_failed() -> None:
    brain = FakeBrain(answer("I will look", call("a")), *[answer()] * 4)

    assert turn(brain) == TurnEnd(text="I will look", failure="The model's answers were empty.")


def test_silence_that_is_meant_ends_the_turn_and_says_what_it_awaits() -> None:
    awaits = replace(answer(), awaits="a task that landed")
    silent = replace(answer(), means_silence=True)

    assert turn(FakeBrain(awaits)) == TurnEnd(awaits="a task that landed")
    assert turn(FakeBrain(silent)) == TurnEnd()


def test_result_that_ends_the_turn_is_kept_and_nothing_is_run_or_asked_after_it() -> None:
    brain = FakeBrain(answer(call("a"), call("submit"), call("late")))
    hands = FakeHands(lambda one: ToolResult(text=one.call_id, ends_turn=one.call_id == "submit"))

    assert turn(brain, hands) == TurnEnd()
    assert hands.ran == ["a", "submit"]
    assert brain.messages[-1] == told(
        output("a", "a"),
        output("submit", "submit"),
        ToolOutput(call_id="late", text=INTERRUPTED, is_error=True),
    )


def test_cut_off_answer_is_asked_to_go_on_and_its_pieces_are_one_text() -> None:
    brain = FakeBrain(answer("one, t", stop=CUT), answer("wo, ", stop=CUT), answer("three"))

    assert turn(brain) == TurnEnd(text="one, two, three")
    assert brain.messages[2] == brain.messages[4] == said(GO_ON)


def test_answer_that_stays_cut_off_ends_the_turn_as_not_whole() -> None:
    brain = FakeBrain(*[answer("x", stop=CUT)] * 4)

    end = turn(brain)

    assert end.text == "xxxx"
    assert "it is not whole" in end.failure
    assert len(brain.messages) == 8


def test_cut_offs_are_counted_in_a_row() -> None:
    steps = [answer("x", stop=CUT)] * 3 + [answer("y", call("a"))]
    brain = FakeBrain(*steps, *steps, answer("done"))

    assert turn(brain) == TurnEnd(text="done")


def test_refusal_is_not_taken_for_an_answer() -> None:
    brain = FakeBrain(answer("I can't.", stop=StopReason.REFUSAL))

    assert turn(brain) == TurnEnd(text="I can't.", failure="The model refused to go on.")


def test_same_call_again_and_again_ends_the_turn_and_says_so() -> None:
    """hermes-agent#35151, jac#6766: an identical oversize call was repeated for ever."""
    fault = ToolCall(call_id="a", name="write_file", fault="cut off by the output limit")
    brain = FakeBrain(*endless(answer(fault)))
    hands = FakeHands(lambda one: ToolResult(text=one.fault, is_error=True))

    end = turn(brain, hands)

    assert end.failure.startswith("The same call (write_file) was made 6 times in a row")
    assert len(hands.ran) == 5


def test_same_wait_again_and_again_is_no_loop() -> None:
    wait = ToolCall(call_id="a", name="wait")
    hands = FakeHands()

    end = turn(FakeBrain(*[answer(wait)] * 9, answer("it came")), hands)

    assert (end, len(hands.ran)) == (TurnEnd(text="it came"), 9)


def test_calls_that_differ_go_on_to_the_step_limit_and_their_results_are_kept() -> None:
    brain = FakeBrain(*[answer(call(f"c{n}", input={"command": str(n)})) for n in range(9)])

    end = turn(brain, limits=Limits(steps=4))

    assert end.failure == "The turn took 4 steps, the most allowed."
    assert brain.messages[-1] == told(output("c3", "c3"))


def aside(call_id: str) -> ToolCall:
    return ToolCall(call_id=call_id, name="aside")


def test_neighbours_that_may_overlap_run_at_once_and_answer_in_their_order() -> None:
    brain = FakeBrain(answer(call("a"), aside("b"), aside("c"), call("d")), answer("done"))
    hands = FakeHands()
    hands.ends_after = {"b": "c"}

    assert turn(brain, hands) == TurnEnd(text="done")
    assert hands.began == ["a", "b", "c", "d"]
    assert hands.ran == ["a", "c", "b", "d"]
    assert brain.messages[2] == told(*(output(name, name) for name in "abcd"))


def test_calls_that_may_not_overlap_run_one_after_the_other() -> None:
    brain = FakeBrain(answer(aside("a"), call("b"), aside("c")), answer("done"))
    hands = FakeHands()

    assert turn(brain, hands) == TurnEnd(text="done")
    assert (hands.began, hands.ran) == (["a", "b", "c"], ["a", "b", "c"])


def test_error_of_one_call_ends_those_beside_it_first() -> None:
    def fail(one: ToolCall) -> ToolResult:
        raise LookupError("a bug")

    hands = FakeHands(fail)
    hands.hangs_at = "a"

    with pytest.raises(LookupError, match="a bug"):
        turn(FakeBrain(answer(aside("a"), aside("b"))), hands)
    assert hands.began == ["a", "b"]


def test_cancelled_turn_keeps_the_result_of_a_call_that_ended_beside_one_that_did_not() -> None:
    messages = cancelled_at("a", FakeBrain(answer(aside("a"), aside("b"))))

    assert messages[-1] == told(
        ToolOutput(call_id="a", text=INTERRUPTED, is_error=True), output("b", "b")
    )


def cancelled_at(call_id: str, brain: FakeBrain) -> list[Message]:
    """Runs a turn, cancels it while a call hangs, and returns the conversation."""

    async def run() -> None:
        hands = FakeHands()
        hands.hangs_at = call_id
        running = asyncio.create_task(run_turn(brain, hands, said("go"), Limits()))
        await hands.hanging.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()

    asyncio.run(run())
    return brain.messages


def test_cancelled_turn_keeps_the_results_it_has_and_marks_the_rest_interrupted() -> None:
    brain = FakeBrain(answer(call("a"), call("b"), call("c")))

    messages = cancelled_at("b", brain)

    assert messages[-1] == told(
        output("a", "a"),
        ToolOutput(call_id="b", text=INTERRUPTED, is_error=True),
        ToolOutput(call_id="c", text=INTERRUPTED, is_error=True),
    )


def test_turn_cancelled_at_its_first_call_leaves_it_open_for_the_next_words() -> None:
    brain = FakeBrain(answer(call("a")))

    messages = cancelled_at("a", brain)

    assert messages[-1] == answered(call("a"))
    asyncio.run(brain.keep(said("hello")))
    assert messages[-1] == told(
        ToolOutput(call_id="a", text=INTERRUPTED, is_error=True), words("hello")
    )


def test_bug_in_a_tool_is_not_swallowed() -> None:
    def fail(one: ToolCall) -> ToolResult:
        raise LookupError("a bug")

    with pytest.raises(LookupError, match="a bug"):
        turn(FakeBrain(answer(call("a"))), FakeHands(fail))
