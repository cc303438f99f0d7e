"""What is sent to servers of the chat completions format."""

import json

from modules.providers.openai_dialect import Dialect
from modules.providers.openai_request import encode_body, encode_message, to_wire
from modules.records.messages import ModelRequest, Reasoning, said
from tests.providers.making import BASH, answered, call, output, request, told, words


def body(asked: ModelRequest, dialect: Dialect) -> dict[str, object]:
    decoded: dict[str, object] = json.loads(encode_body(asked, [], asked.messages, dialect))
    return decoded


def test_the_body_holds_what_the_format_asks_for() -> None:
    asked = request(
        said("one"),
        answered(words("two"), call("c1")),
        told(output("c1", "3"), words("four")),
        tools=(BASH,),
    )

    assert body(asked, Dialect()) == {
        "model": "m",
        "stream": True,
        "max_tokens": 16_000,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "bash",
                    "description": "Runs a command.",
                    "parameters": {
                        "type": "object",
                        "properties": {"command": {"type": "string"}},
                    },
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one"},
            {
                "role": "assistant",
                "content": "two",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "bash", "arguments": '{"command":"ls"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
            {"role": "user", "content": "four"},
        ],
    }


def test_the_dialect_decides_on_the_fields_servers_differ_in() -> None:
    dialect = Dialect(
        max_tokens_field="max_completion_tokens",
        asks_usage=False,
        output_limit=8192,
        reasoning_effort="none",
    )

    assert body(request(system=""), dialect) == {
        "model": "m",
        "stream": True,
        "max_completion_tokens": 8192,
        "reasoning_effort": "none",
        "messages": [{"role": "user", "content": "hello"}],
    }


def test_reasoning_goes_back_on_every_assistant_message_or_on_none() -> None:
    """MoonshotAI/kimi-cli#2141, earendil-works/pi#3835."""
    thought = answered(Reasoning(origin="p:m", text="hm"), call("c1"))
    plain = answered(words("done"))
    wanted = Dialect(reasoning_field="reasoning_content")

    assert to_wire(thought, wanted)[0]["reasoning_content"] == "hm"
    assert to_wire(plain, wanted)[0]["reasoning_content"] == ""
    assert "reasoning_content" not in to_wire(thought, Dialect())[0]


def test_a_message_without_words_has_no_empty_text() -> None:
    assert to_wire(answered(call("c1")), Dialect())[0]["content"] is None
    assert to_wire(told(output("c1", "x")), Dialect()) == [
        {"role": "tool", "tool_call_id": "c1", "content": "x"}
    ]


def test_an_output_that_is_an_error_says_so_once() -> None:
    outputs = told(
        output("a", "no such file", is_error=True), output("b", "Error: gone", is_error=True)
    )

    assert [wire["content"] for wire in to_wire(outputs, Dialect())] == [
        "Error: no such file",
        "Error: gone",
    ]


def test_a_faulty_call_goes_back_with_an_object() -> None:
    wire = to_wire(answered(call("c1", input={}, fault="cut off")), Dialect())[0]

    assert wire["tool_calls"][0]["function"]["arguments"] == "{}"


def test_half_a_surrogate_pair_anywhere_leaves_valid_utf8() -> None:
    encoded = encode_message(answered(call(input={"command": "\ud800😀"})), Dialect())

    arguments = json.loads(encoded.decode("utf-8"))["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"command": "�😀"}
