"""Whatever the history holds, what is sent is in the order every provider takes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from modules.providers.arrangement import INTERRUPTED, NO_OUTPUT, arrange
from modules.records.messages import (
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    said,
)
from tests.providers.making import answered, call, output, steps, told, words

ORIGIN = "anthropic:m"


def arranged(*messages: Message) -> list[Message]:
    return arrange(messages, origin=ORIGIN)


def test_arranging_a_sound_conversation_changes_nothing() -> None:
    thought = Reasoning(origin=ORIGIN, text="hm", signature="s")
    conversation = [
        said("hello"),
        answered(thought, words("I look."), call("a"), call("b")),
        told(output("a"), output("b"), words("and hurry")),
        answered(words("Done.")),
        said("thanks"),
    ]

    assert arranged(*conversation) == conversation


def test_calls_nobody_answered_when_the_person_goes_on_get_an_interrupted_output() -> None:
    """anthropics/claude-code#2959, anomalyco/opencode#3230."""
    result = arranged(said("go"), answered(call("a"), call("b")), told(output("a"), words("hello")))

    assert result[-1] == told(output("a"), output("b", INTERRUPTED, is_error=True), words("hello"))


def test_calls_nobody_answered_when_the_process_died_get_an_interrupted_output() -> None:
    result = arranged(said("go"), answered(call("a")))

    assert result[-1] == told(output("a", INTERRUPTED, is_error=True))


def test_words_of_a_retry_when_the_first_try_ended_in_a_call_do_not_follow_the_call() -> None:
    """anomalyco/opencode#5750."""
    result = arranged(said("go"), answered(words("I try."), call("a")), answered(words("Again.")))

    assert result == [
        said("go"),
        answered(words("I try."), call("a")),
        told(output("a", INTERRUPTED, is_error=True)),
        answered(words("Again.")),
        said("Go on."),
    ]


def test_blocks_after_a_call_when_one_message_holds_them_stand_before_it_or_go() -> None:
    late_thought = Reasoning(origin=ORIGIN, text="late")

    result = arranged(said("go"), answered(call("a"), words("late"), late_thought), said("x"))

    assert result[1] == answered(words("late"), call("a"))


def test_blank_words_and_empty_answers_are_not_sent() -> None:
    """anthropics/claude-code#88536, dirge-code/dirge#757, block/buzz#559."""
    only_thought = Reasoning(origin=ORIGIN, text="hm", signature="s")

    result = arranged(
        said("go"),
        answered(words("")),
        said("well?"),
        answered(only_thought),
        said(" \n\t"),
        said("hello?"),
        answered(words("  \n"), call("a")),
        told(output("a", "")),
    )

    assert result == [
        told(words("go"), words("well?"), words("hello?")),
        answered(call("a")),
        told(output("a", NO_OUTPUT)),
    ]


def test_reasoning_goes_back_to_the_model_it_came_from_alone() -> None:
    own = Reasoning(origin=ORIGIN, text="mine", signature="s")
    foreign = Reasoning(origin="openai:other", text="theirs")

    result = arranged(said("go"), answered(foreign, own, words("yes")), said("on"))

    assert result[1] == answered(own, words("yes"))


def test_an_output_without_its_call_is_told_as_words() -> None:
    result = arranged(told(output("gone", "42 files"), words("next")))

    assert result == [told(words("(Output of an earlier call.)\n42 files"), words("next"))]


def test_an_output_given_twice_counts_once() -> None:
    result = arranged(said("go"), answered(call("a")), told(output("a", "1"), output("a", "2")))

    assert result[-1] == told(output("a", "1"))


def test_a_conversation_that_starts_with_the_model_gets_an_opening() -> None:
    result = arranged(answered(words("Hello.")), said("hi"))

    assert [message.role for message in result] == ["user", "assistant", "user"]


def test_an_empty_conversation_becomes_one_word_of_the_user() -> None:
    assert arranged() == [said("Go on.")]


_TEXTS = st.sampled_from(["", " ", "a", "b"])
_IDS = st.sampled_from(["1", "2", "3"])
_SPOKEN = st.one_of(
    st.builds(Text, text=_TEXTS),
    st.builds(Reasoning, origin=st.sampled_from([ORIGIN, "x:y"]), text=_TEXTS),
    st.builds(ToolCall, call_id=_IDS, name=st.just("bash")),
)
_TOLD = st.one_of(st.builds(Text, text=_TEXTS), st.builds(ToolOutput, call_id=_IDS, text=_TEXTS))
MESSAGES = st.lists(
    st.one_of(
        st.builds(
            lambda blocks: answered(*blocks),
            st.lists(_SPOKEN, max_size=4, unique_by=lambda b: getattr(b, "call_id", id(b))),
        ),
        st.builds(lambda blocks: told(*blocks), st.lists(_TOLD, max_size=4)),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(MESSAGES)
def test_any_history_when_arranged_is_in_the_order_providers_take(history: list[Message]) -> None:
    result = arranged(*history)

    assert [message.role for message in result] == [
        "assistant" if place % 2 else "user" for place in range(len(result))
    ]
    assert result[-1].role == "user"
    for before, message in zip([said(""), *result], result, strict=False):
        kinds = [type(block) for block in message.blocks]
        assert kinds
        outputs = [block.call_id for block in message.blocks if isinstance(block, ToolOutput)]
        assert outputs == [made.call_id for made in before.calls]
        assert all(
            block.text.strip() for block in message.blocks if isinstance(block, Text | ToolOutput)
        )
        if message.calls:
            assert set(kinds[kinds.index(ToolCall) :]) == {ToolCall}
        if outputs:
            assert set(kinds[: len(outputs)]) == {ToolOutput}


@settings(deadline=None)
@given(MESSAGES)
def test_arranging_twice_gives_the_same_as_once(history: list[Message]) -> None:
    once = arranged(*history)

    assert arranged(*once) == once


def test_arranging_keeps_every_step_of_a_long_conversation() -> None:
    conversation = steps(50)

    assert arrange(conversation, origin=ORIGIN) == list(conversation)
