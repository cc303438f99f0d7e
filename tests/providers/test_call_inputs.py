"""A call that did not come whole is never mended and never run."""

import pytest

from modules.providers.call_inputs import (
    legal_tool_name,
    read_call,
    unique_call_id,
    used_call_ids,
)
from modules.records.messages import ToolCall
from tests.providers.making import answered, call, request


def read(arguments: str, *, is_cut: bool = False) -> ToolCall:
    return read_call("c1", "write_file", arguments, is_cut=is_cut, limit_tokens=500)


def test_a_whole_call_has_its_input_and_no_fault() -> None:
    expected = ToolCall(call_id="c1", name="write_file", input={"path": "a", "n": [1, None]})

    assert read('{"path": "a", "n": [1, null]}') == expected


@pytest.mark.parametrize("arguments", ["", "  \n"], ids=["nothing", "blank"])
def test_no_arguments_when_a_tool_needs_none_are_an_empty_input(arguments: str) -> None:
    assert read(arguments) == ToolCall(call_id="c1", name="write_file", input={})


@pytest.mark.parametrize(
    "arguments",
    ['{"path": "x.py", "content": "def', '{"path": "x.py"}'],
    ids=["inside a string", "complete JSON"],
)
def test_a_call_cut_by_the_output_limit_names_it_and_has_no_input(arguments: str) -> None:
    """NousResearch/hermes-agent#35151, jaseci-labs/jac#6766."""
    cut = read(arguments, is_cut=True)

    assert cut.input == {}
    assert "output limit of 500 tokens" in cut.fault
    assert "smaller" in cut.fault


@pytest.mark.parametrize(
    "arguments",
    ['{"a": 1', '{"a": 1}{"a": 2}', "[1]", '"text"', '{"a": NaN}', "[" * 100_000],
    ids=["open", "two objects", "list", "string", "not a number", "deep"],
)
def test_arguments_that_are_not_one_object_are_a_fault(arguments: str) -> None:
    faulty = read(arguments)

    assert faulty.input == {}
    assert "not one JSON object" in faulty.fault


def test_half_a_surrogate_pair_in_arguments_is_replaced() -> None:
    """anthropics/claude-code#69927, anomalyco/opencode#17758."""
    assert read('{"command": "\\ud99c 😀"}').input == {"command": "� 😀"}


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("bash", "bash"),
        ("functions.bash:0", "functions_bash_0"),
        ("", "unknown"),
        ("x" * 90, "x" * 64),
    ],
    ids=["legal", "foreign characters", "empty", "long"],
)
def test_a_name_the_model_made_up_can_be_sent_back(name: str, legal: str) -> None:
    assert legal_tool_name(name) == legal


def test_call_ids_when_missing_or_repeated_are_made_unique() -> None:
    """huggingface/smolagents#1958, ai-dynamo/dynamo#4723."""
    used = used_call_ids(request(answered(call("call_0"))))

    ids = [
        unique_call_id(given, used=used, seed=(1,)) for given in ("new", "call_0", "", "", "new")
    ]

    assert ids[0] == "new"
    assert len(set(ids)) == 5
    assert "call_0" not in ids
    assert all(ids)


def test_made_call_ids_are_the_same_when_made_again() -> None:
    first = unique_call_id("", used=set(), seed=(3, "bash"))

    assert unique_call_id("", used=set(), seed=(3, "bash")) == first
