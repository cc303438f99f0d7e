"""What is sent to Anthropic, block by block."""

import json

from modules.providers.anthropic_request import encode_body, encode_message, to_wire
from modules.records.messages import Message, ModelRequest, Reasoning, said
from tests.providers.making import BASH, answered, call, output, request, told, words

CACHED = {"type": "ephemeral"}


def body(asked: ModelRequest) -> dict[str, object]:
    decoded: dict[str, object] = json.loads(encode_body(asked, [], asked.messages))
    return decoded


def test_every_kind_of_block_has_its_wire_form() -> None:
    message = answered(
        Reasoning(origin="a:m", text="hm", signature="s1"),
        Reasoning(origin="a:m", text="", signature="s2"),
        Reasoning(origin="a:m", signature="sealed", is_sealed=True),
        words("I look."),
        call("c1"),
    )

    assert to_wire(message) == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s1"},
            {"type": "thinking", "thinking": "", "signature": "s2"},
            {"type": "redacted_thinking", "data": "sealed"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
        ],
    }


def test_outputs_carry_their_error_mark_only_when_they_are_errors() -> None:
    assert to_wire(told(output("a", "1"), output("b", "no", is_error=True)))["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}]},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "no"}],
            "is_error": True,
        },
    ]


def test_the_body_caches_the_system_prompt_and_where_the_conversation_stood() -> None:
    asked = request(said("one"), answered(words("two")), said("three"), tools=(BASH,))

    assert body(asked) == {
        "model": "m",
        "max_tokens": 16_000,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": CACHED}],
        "tools": [
            {
                "name": "bash",
                "description": "Runs a command.",
                "input_schema": {
                    "type": "object",
                    "properties": {"command": {"type": "string"}},
                },
            }
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one", "cache_control": CACHED}]},
            {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": "three", "cache_control": CACHED}],
            },
        ],
    }


def test_a_blank_system_prompt_is_no_empty_block() -> None:
    assert "system" not in body(request(system=" "))


def test_settled_messages_are_sent_as_they_were_encoded() -> None:
    asked = request(said("one"), answered(words("two")), said("three"))
    settled = [encode_message(message) for message in asked.messages[:2]]

    joined = json.loads(encode_body(asked, settled, asked.messages[2:]))

    assert joined["messages"][:2] == [to_wire(message) for message in asked.messages[:2]]
    assert [message["role"] for message in joined["messages"]] == ["user", "assistant", "user"]


def test_ids_and_names_of_other_providers_are_made_legal_on_both_sides() -> None:
    spoken = to_wire(answered(call("functions.bash:0", name="functions.bash")))
    heard = to_wire(told(output("functions.bash:0")))

    assert spoken["content"][0]["id"] == heard["content"][0]["tool_use_id"] == "functions_bash_0"
    assert spoken["content"][0]["name"] == "functions_bash"


def test_half_a_surrogate_pair_anywhere_leaves_valid_utf8() -> None:
    """anthropics/claude-code#86560."""
    lone = "\ud800"
    bad_call = call(name=f"b{lone}", input={"command": lone})
    messages: tuple[Message, ...] = (said(lone), answered(bad_call), told(output(text=f"{lone}😀")))
    asked = request(*messages, system=lone)

    decoded = json.loads(encode_body(asked, [], asked.messages).decode("utf-8"))

    assert decoded["system"][0]["text"] == "�"
    assert decoded["messages"][1]["content"][0]["input"] == {"command": "�"}
    assert decoded["messages"][2]["content"][0]["content"][0]["text"] == "�😀"
