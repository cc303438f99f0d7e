"""What compatible servers stream becomes one reply, or none."""

from typing import Any

import pytest

from modules.providers.openai_answer import OpenAiAnswer
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
from tests.fakes.openai_server import call_piece, chunk
from tests.providers.making import answered, call, request

ORIGIN = "openai:m"
STOPPED = chunk({}, finish_reason="stop")


def reply(*chunks: dict[str, Any], asked: ModelRequest | None = None) -> ModelReply:
    answer = OpenAiAnswer(asked or request(), origin=ORIGIN)
    for item in chunks:
        answer.add(item)
    return answer.reply()


def test_a_whole_answer_has_its_blocks_stop_and_usage() -> None:
    function = {"name": "bash", "arguments": '{"command":'}
    got = reply(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "h"}),
        chunk({"reasoning_content": "m"}),
        chunk({"content": "I "}),
        chunk({"content": "look."}),
        call_piece(index=0, id="c1", type="function", function=function),
        call_piece(index=0, function={"arguments": ' "ls"}'}),
        chunk({}, finish_reason="tool_calls"),
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 80},
            },
        },
    )

    assert got == ModelReply(
        message=answered(
            Reasoning(origin=ORIGIN, text="hm"),
            Text(text="I look."),
            ToolCall(call_id="c1", name="bash", input={"command": "ls"}),
        ),
        stop=StopReason.TOOL_USE,
        usage=Usage(input_tokens=100, output_tokens=9, cached_tokens=80),
    )


@pytest.mark.parametrize(
    "usage",
    [[], [{"choices": [], "usage": None}], [{"choices": []}], [{"usage": {"prompt_tokens": 0}}]],
    ids=["absent", "null", "no field", "zero"],
)
def test_chunks_without_choices_are_borne_and_missing_usage_is_estimated(usage: list[Any]) -> None:
    """microsoft/foundry-local#905, BerriAI/litellm#30761."""
    got = reply(
        {"choices": [], "prompt_filter_results": []},
        {"choices": None},
        chunk(None),
        chunk({"content": "hello"}, usage=None),
        STOPPED,
        *usage,
    )

    assert got.message == answered(Text(text="hello"))
    assert got.usage.is_estimate
    assert got.usage.input_tokens > 0


def test_usage_when_every_chunk_tells_it_is_the_last_one() -> None:
    got = reply(
        chunk({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": 1}),
        chunk({}, finish_reason="stop", usage={"prompt_tokens": 5, "completion_tokens": 2}),
    )

    assert got.usage == Usage(input_tokens=5, output_tokens=2)


def test_an_answer_without_a_finish_reason_is_no_reply() -> None:
    """apache/maka#2297, griffinwork40/agent-afk#635."""
    function = {"name": "bash", "arguments": "{}"}

    with pytest.raises(TransientFault):
        reply(chunk({"content": "half"}), call_piece(index=0, id="c", function=function))


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource", "network_error"])
def test_an_answer_the_server_gave_up_on_is_no_reply(reason: str) -> None:
    with pytest.raises(TransientFault):
        reply(chunk({"content": "half"}, finish_reason=reason))


@pytest.mark.parametrize(
    "arguments", ['{"path": "x.py", "content": "de', '{"path": "x.py"}'], ids=["open", "complete"]
)
def test_the_last_call_when_the_output_limit_hit_is_faulty(arguments: str) -> None:
    function = {"name": "write_file", "arguments": arguments}

    got = reply(call_piece(index=0, id="c1", function=function), chunk({}, finish_reason="length"))

    (cut,) = got.message.calls
    assert cut.input == {}
    assert "output limit of 16000 tokens" in cut.fault
    assert got.stop == StopReason.MAX_TOKENS


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", StopReason.END_TURN),
        ("content_filter", StopReason.REFUSAL),
        ("length", StopReason.MAX_TOKENS),
        ("eos", StopReason.END_TURN),
    ],
    ids=["stop", "filter", "length", "unknown"],
)
def test_finish_reasons_are_understood(reason: str, expected: StopReason) -> None:
    assert reply(chunk({"content": "x"}, finish_reason=reason)).stop == expected


def test_calls_when_the_server_says_stop_are_still_calls() -> None:
    function = {"name": "bash", "arguments": "{}"}

    got = reply(call_piece(index=0, id="c1", function=function), STOPPED)

    assert got.stop == StopReason.TOOL_USE


def test_a_full_window_must_shrink() -> None:
    with pytest.raises(ContextOverflow):
        reply(chunk({}, finish_reason="model_context_window_exceeded"))


def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = {
        "choices": [
            {
                "finish_reason": "tool_calls",
                "message": {
                    "content": [{"type": "text", "text": "hi"}],
                    "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": "{}"}}],
                },
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }

    assert reply(whole).message == answered(
        Text(text="hi"), ToolCall(call_id="c1", name="bash", input={})
    )


def test_ids_that_start_over_with_every_answer_are_made_unique() -> None:
    function = {"name": "bash", "arguments": "{}"}

    got = reply(
        call_piece(index=0, id="call_0", function=function),
        STOPPED,
        asked=request(answered(call("call_0"))),
    )

    assert got.message.calls[0].call_id not in ("", "call_0")
