"""Messages give their words and calls, and tokens add up."""

from modules.records.decisions import Mode, Risk
from modules.records.messages import Message, Reasoning, Text, ToolCall, ToolOutput, Usage, said


def test_text_of_a_message_is_its_words_and_outputs_and_no_reasoning() -> None:
    message = Message(
        role="user",
        blocks=(
            Reasoning(origin="m", text="hidden"),
            Text(text="a"),
            ToolCall(call_id="1", name="bash"),
            ToolOutput(call_id="0", text="b"),
        ),
    )

    assert message.text == "a\nb"
    assert [call.call_id for call in message.calls] == ["1"]


def test_said_is_a_message_of_the_user() -> None:
    assert said("hi") == Message(role="user", blocks=(Text(text="hi"),))


def test_usage_adds_up_and_an_estimate_stays_one() -> None:
    total = Usage(input_tokens=1, output_tokens=2, cached_tokens=1) + Usage(
        input_tokens=10, cache_write_tokens=3, is_estimate=True
    )

    assert total == Usage(
        input_tokens=11,
        output_tokens=2,
        cached_tokens=1,
        cache_write_tokens=3,
        is_estimate=True,
    )


def test_ranks_go_from_harmless_to_harmful_and_from_strict_to_free() -> None:
    assert sorted(Risk, key=lambda risk: risk.rank)[0] is Risk.SAFE
    assert Risk.DENY.rank == 4
    assert sorted(Mode, key=lambda mode: mode.rank) == list(Mode)
