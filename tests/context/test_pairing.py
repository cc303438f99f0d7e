"""Whatever was said in whatever order, each call is answered exactly once, right away."""

from hypothesis import given

from modules.context.pairing import INTERRUPTED, paired
from modules.records.messages import Message, ToolOutput, said
from tests.context.histories import HISTORIES, assert_in_pairs, words
from tests.providers.making import answered, call, output, told
from tests.providers.making import words as text

INTERRUPTED_C1 = ToolOutput(call_id="c1", text=INTERRUPTED, is_error=True)


def fold(messages: list[Message]) -> list[Message]:
    history: list[Message] = []
    for message in messages:
        history.extend(paired(history, message))
    return history


def test_paired_conversation_stays_as_it_is() -> None:
    history = [
        said("go"),
        answered(text("two at once"), call("c1"), call("c2")),
        told(output("c1"), output("c2"), text("and hurry")),
        answered(text("done")),
        said("thanks"),
    ]

    assert fold(history) == history


def test_calls_nobody_answered_say_they_were_interrupted() -> None:
    """claude-code#2959, opencode#3230: the call stayed open and every later request was refused."""
    history = fold([said("go"), answered(call("c1"), call("c2")), told(output("c2"), text("hm"))])

    assert history[-1] == told(INTERRUPTED_C1, output("c2"), text("hm"))


def test_words_alone_after_calls_answer_all_of_them_first() -> None:
    history = fold([said("go"), answered(call("c1")), said("hello")])

    assert history[-1] == told(INTERRUPTED_C1, text("hello"))


def test_outputs_come_first_and_in_the_order_of_the_calls() -> None:
    history = fold([answered(call("c1"), call("c2")), told(text("w"), output("c2"), output("c1"))])

    assert history[-1] == told(output("c1"), output("c2"), text("w"))


def test_output_without_its_call_is_dropped_and_an_empty_message_too() -> None:
    history = [said("go"), answered(text("done"))]

    assert paired(history, told(output("c1"), text("w"))) == [said("w")]
    assert paired(history, told(output("c1"))) == []
    assert paired([], told(output("c1"))) == []
    assert paired(history, answered()) == []


def test_second_output_of_a_call_is_dropped() -> None:
    history = [answered(call("c1"))]

    assert paired(history, told(output("c1", "first"), output("c1", "second"))) == [
        told(output("c1", "first"))
    ]


def test_answer_after_open_calls_has_them_answered_in_between() -> None:
    history = [answered(call("c1"))]

    assert paired(history, answered(text("go on"))) == [
        told(INTERRUPTED_C1),
        answered(text("go on")),
    ]


@given(messages=HISTORIES)
def test_any_history_ends_up_in_pairs_and_loses_no_words(messages: list[Message]) -> None:
    history = fold(messages)

    assert_in_pairs(history)
    assert words(history) == words(messages)
    assert fold(history) == history
