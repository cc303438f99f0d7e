"""A tool's input: what the model is shown of it, and what it hears when it does not fit."""

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from modules.agent.schema import input_schema, read_input
from modules.records.errors import ModelFault
from modules.records.record import Record


class Edit(Record):
    """One change."""

    old: str
    new: str = ""


class EditFile(Record):
    """Input of a tool."""

    path: Annotated[str, Meta(min_length=1, description="Where.")]
    edits: tuple[Edit, ...]
    mode: Literal["all", "first"] = "first"
    line: Annotated[int, Meta(ge=1)] | None = None


class Nothing(Record):
    """Input of a tool that takes none."""


def test_schema_is_one_object_without_references() -> None:
    assert input_schema(EditFile) == {
        "type": "object",
        "description": "Input of a tool.",
        "additionalProperties": False,
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Where."},
            "edits": {
                "type": "array",
                "items": {
                    "title": "Edit",
                    "description": "One change.",
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "old": {"type": "string"},
                        "new": {"type": "string", "default": ""},
                    },
                    "required": ["old"],
                },
            },
            "mode": {"enum": ["all", "first"], "default": "first"},
            "line": {
                "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["path", "edits"],
    }


def test_schema_of_no_input_is_an_object_all_the_same() -> None:
    schema = input_schema(Nothing)

    assert (schema["type"], schema["properties"]) == ("object", {})
    assert "$" not in str(schema)


def test_input_that_fits_becomes_its_record() -> None:
    raw = {"path": "a", "edits": [{"old": "x"}]}

    assert read_input("edit_file", EditFile, raw) == EditFile(path="a", edits=(Edit(old="x"),))
    assert read_input("none", Nothing, {}) == Nothing()


FIELDS = "Its fields are: path, edits, mode, line."


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "Object missing required field `path`"),
        ({"path": "", "edits": []}, "Expected `str` of length >= 1 - at `$.path`"),
        ({"path": 1, "edits": []}, "Expected `str`, got `int` - at `$.path`"),
        ({"path": "a", "edits": "x"}, "Expected `array`, got `str` - at `$.edits`"),
        ({"path": "a", "edits": [{}]}, "Object missing required field `old` - at `$.edits[0]`"),
        ({"path": "a", "edits": [], "mode": "none"}, "Invalid enum value 'none' - at `$.mode`"),
        ({"path": "a", "edits": [], "line": 0}, "Expected `int` >= 1 - at `$.line`"),
        ({"path": "a", "edits": [], "file": "b"}, "Object contains unknown field `file`"),
    ],
)
def test_input_that_does_not_fit_is_told_with_the_place_and_the_fields(
    raw: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelFault) as caught:
        read_input("edit_file", EditFile, raw)

    assert str(caught.value) == f"The input of edit_file does not fit: {message}. {FIELDS}"


def test_tool_without_fields_says_so() -> None:
    with pytest.raises(ModelFault, match=r"unknown field `x`\. Its fields are: none\."):
        read_input("none", Nothing, {"x": 1})
