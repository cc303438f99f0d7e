"""Servers stream calls in many ways; each call comes out once, with its own arguments."""

from typing import Any

import pytest

from modules.providers.tool_call_pieces import ToolCallPieces


def piece(
    index: int | None = None, call_id: str | None = None, name: str | None = None, args: Any = None
) -> dict[str, Any]:
    fields: dict[str, Any] = {"function": {"name": name, "arguments": args}}
    if index is not None:
        fields["index"] = index
    if call_id is not None:
        fields["id"] = call_id
    return fields


A, B = '{"path": "a"}', '{"path": "b"}'


@pytest.mark.parametrize(
    "pieces",
    [
        [
            piece(0, "a", "read", ""),
            piece(0, args='{"path"'),
            piece(0, args=': "a"}'),
            piece(1, "b", "read", ""),
            piece(1, args=B),
        ],
        [
            piece(0, "a", "read", ""),
            piece(1, "b", "read", ""),
            piece(0, args='{"path": '),
            piece(1, args='{"path": '),
            piece(0, args='"a"}'),
            piece(1, args='"b"}'),
        ],
        [piece(0, "a", "read", A), piece(0, "b", "read", B)],
        [piece(0, "a", "read", '{"path"'), piece(0, args=': "a"}'), piece(0, "b", "read", B)],
        [piece(0, "", "read", A), piece(0, "", "read", B)],
        [
            piece(0, "a", "read", ""),
            piece(0, "a", "read", '{"path": '),
            piece(0, "a", "read", '"a"}'),
            piece(1, "b", "read", B),
        ],
        [piece(None, "", "read", A), piece(None, "", "read", B)],
        [
            piece(None, None, "read", '{"path": '),
            piece(None, args='"a"}'),
            piece(None, None, "read", B),
        ],
        [
            piece(None, "a", "read", '{"path": '),
            piece(None, "a", None, '"a"}'),
            piece(None, "b", "read", B),
        ],
        [
            piece(None, "a", "read", ""),
            piece(None, args=A),
            piece(None, "b", "read", ""),
            piece(None, args=B),
        ],
        [
            piece(0, "a", "re", ""),
            piece(0, None, "ad", ""),
            piece(0, args=A),
            piece(1, "b", "read", B),
        ],
        [piece(0, "a", "read", {"path": "a"}), piece(1, "b", "read", {"path": "b"})],
    ],
    ids=[
        "as documented",
        "interleaved",
        "same index",
        "same index, in pieces",
        "same index, no ids",
        "all repeated",
        "no index, empty ids",
        "no index, no ids",
        "no index, ids repeated",
        "no index, ids once",
        "name in pieces",
        "arguments as objects",
    ],
)
def test_two_calls_come_out_as_two_however_they_are_streamed(pieces: list[dict[str, Any]]) -> None:
    """huggingface/smolagents#1958, ai-dynamo/dynamo#4723."""
    calls = ToolCallPieces()

    for item in pieces:
        calls.add(item)

    assert [(call.name, call.arguments) for call in calls.calls] == [("read", A), ("read", B)]


def test_a_call_without_arguments_comes_out() -> None:
    calls = ToolCallPieces()

    calls.add(piece(0, "a", "list_all", ""))
    calls.add(piece(1, "b", "list_all", None))

    assert [(call.call_id, call.arguments) for call in calls.calls] == [("a", ""), ("b", "")]
