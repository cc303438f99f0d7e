"""What Anthropic streams becomes one reply, or none."""

from typing import Any

import pytest

from modules.providers.anthropic_answer import AnthropicAnswer
from modules.records.errors import ContextOverflow, TransientFault
from modules.records.messages import (
    ModelReply,
    ModelRequest,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    Usage,
)
from tests.providers.making import answered, call, request

ORIGIN = "anthropic:m"


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(reason: str | None, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def begin(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"usage": usage}}


def reply(*events: dict[str, Any], asked: ModelRequest | None = None) -> ModelReply:
    answer = AnthropicAnswer(asked or request(), origin=ORIGIN)
    for event in events:
        answer.add(event)
    return answer.reply()


def test_a_whole_answer_has_its_blocks_stop_and_usage() -> None:
    got = reply(
        begin(input_tokens=5, cache_read_input_tokens=80, cache_creation_input_tokens=15),
        {"type": "ping"},
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="h"),
        delta(0, "thinking_delta", thinking="m"),
        delta(0, "signature_delta", signature="s"),
        start(1, type="redacted_thinking", data="sealed"),
        start(2, type="text", text=""),
        delta(2, "text_delta", text="I "),
        delta(2, "text_delta", text="look."),
        start(3, type="tool_use", id="t1", name="bash", input={}),
        delta(3, "input_json_delta", partial_json=""),
        delta(3, "input_json_delta", partial_json='{"command": '),
        delta(3, "input_json_delta", partial_json='"ls"}'),
        {"type": "content_block_stop", "index": 3},
        start(4, type="never_seen_block"),
        delta(4, "never_seen_delta"),
        stop("tool_use", output_tokens=9, input_tokens=0),
        {"type": "message_stop"},
    )

    assert got == ModelReply(
        message=answered(
            Reasoning(origin=ORIGIN, text="hm", signature="s"),
            Reasoning(origin=ORIGIN, signature="sealed", is_sealed=True),
            Text(text="I look."),
            ToolCall(call_id="t1", name="bash", input={"command": "ls"}),
        ),
        stop=StopReason.TOOL_USE,
        usage=Usage(input_tokens=100, output_tokens=9, cached_tokens=80, cache_write_tokens=15),
    )


def test_words_are_handed_out_as_they_come_and_thoughts_are_not() -> None:
    answer = AnthropicAnswer(request(), origin=ORIGIN)

    heard = [
        answer.add(start(0, type="thinking", thinking="", signature="")),
        answer.add(delta(0, "thinking_delta", thinking="secret")),
        answer.add(start(1, type="text", text="")),
        answer.add(delta(1, "text_delta", text="hel")),
        answer.add(delta(1, "text_delta", text="lo")),
    ]

    assert "".join(heard) == "hello"


@pytest.mark.parametrize("reason", [None, ""], ids=["null", "empty"])
def test_an_answer_without_a_stop_reason_is_no_reply(reason: str | None) -> None:
    """apache/maka#2297, griffinwork40/agent-afk#635."""
    with pytest.raises(TransientFault):
        reply(start(0, type="tool_use", id="t1", name="bash", input={}), stop(reason))


def test_thinking_with_no_text_is_kept_for_its_signature() -> None:
    got = reply(
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="s"),
        stop("end_turn"),
    )

    assert got.message == answered(Reasoning(origin=ORIGIN, signature="s"))


@pytest.mark.parametrize("text", ["", " \n"], ids=["empty", "blank"])
def test_a_blank_text_block_is_not_kept(text: str) -> None:
    """anthropics/claude-code#88536."""
    got = reply(start(0, type="text", text=text), stop("end_turn"))

    assert got.message == answered()


@pytest.mark.parametrize(
    "arguments", ['{"path": "x.py", "content": "de', '{"path": "x.py"}'], ids=["open", "complete"]
)
def test_only_the_last_call_when_the_output_limit_hit_is_faulty(arguments: str) -> None:
    got = reply(
        start(0, type="tool_use", id="t1", name="bash", input={}),
        delta(0, "input_json_delta", partial_json='{"command": "ls"}'),
        start(1, type="tool_use", id="t2", name="write_file", input={}),
        delta(1, "input_json_delta", partial_json=arguments),
        stop("max_tokens"),
    )

    first, second = got.message.calls
    assert (first.input, first.fault) == ({"command": "ls"}, "")
    assert (second.call_id, second.input) == ("t2", {})
    assert "output limit" in second.fault
    assert got.stop == StopReason.MAX_TOKENS


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", StopReason.END_TURN),
        ("stop_sequence", StopReason.END_TURN),
        ("refusal", StopReason.REFUSAL),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("never_seen", StopReason.END_TURN),
    ],
    ids=["end", "sequence", "refusal", "limit", "unknown"],
)
def test_stop_reasons_are_understood(reason: str, expected: StopReason) -> None:
    assert reply(start(0, type="text", text="x"), stop(reason)).stop == expected


def test_a_full_window_must_shrink() -> None:
    with pytest.raises(ContextOverflow):
        reply(stop("model_context_window_exceeded"))


def test_usage_when_none_is_told_is_an_estimate_and_not_zero() -> None:
    usage = reply(start(0, type="text", text="x" * 40), stop("end_turn")).usage

    assert usage.is_estimate
    assert usage.input_tokens > 0
    assert usage.output_tokens == 10


def test_call_ids_when_missing_or_used_before_are_made() -> None:
    asked = request(answered(call("t1")))

    got = reply(
        start(0, type="tool_use", id="t1", name="bash", input={"command": "a"}),
        start(1, type="tool_use", id="", name="bash", input={"command": "b"}),
        stop("tool_use"),
        asked=asked,
    )

    ids = [made.call_id for made in got.message.calls]
    assert len({"t1", "", *ids}) == 4
    assert [made.input for made in got.message.calls] == [{"command": "a"}, {"command": "b"}]


def test_half_a_surrogate_pair_in_words_is_replaced_and_a_split_pair_is_joined() -> None:
    got = reply(
        start(0, type="text", text="\ud83d"),
        delta(0, "text_delta", text="\ude00 \ud800"),
        stop("end_turn"),
    )

    assert got.message == answered(Text(text="😀 �"))
