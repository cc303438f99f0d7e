import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.mcp_client.schema import MAX_NODES, UnusableSchema, provider_schema

TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}


def refusals(schema: object, place: str = "root") -> Iterator[str]:
    """Yields what the providers are known to refuse a whole request for."""
    if not isinstance(schema, dict):
        yield f"{place}: not an object but {schema!r}"
        return
    if place == "root":
        yield from _root_refusals(schema)
    yield from (f"{place}: {fault}" for fault in _node_refusals(schema))
    for name, value in schema.get("properties", {}).items():
        yield from refusals(value, f"{place}.{name}")
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in schema.get(keyword, []):
            yield from refusals(branch, f"{place}.{keyword}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema and schema[keyword] is not True and schema[keyword] is not False:
            yield from refusals(schema[keyword], f"{place}.{keyword}")


def _root_refusals(schema: dict[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield "root: not of type object"
    yield from (f"root: {key}" for key in ("anyOf", "oneOf", "allOf", "enum") if key in schema)


def _node_refusals(schema: dict[str, Any]) -> Iterator[str]:
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    properties = schema.get("properties", {})
    yield from (f"type {name!r}" for name in types if name not in TYPES)
    for name, part in (("object", "properties"), ("array", "items")):
        if name in types and (part not in schema or isinstance(schema[part], bool)):
            yield f"{name} without {part}"
    yield from (f"{word!r}" for word in ("$ref", "$defs", "const", "pattern") if word in schema)
    if schema.get("enum") == []:
        yield "empty enum"
    if missing := set(schema.get("required", [])) - set(properties):
        yield f"requires {missing}, which it does not describe"
    for name in properties:
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
            yield f"property {name!r}"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(None, EMPTY, id="absent"),
        pytest.param({}, EMPTY, id="empty"),
        pytest.param(True, EMPTY, id="true"),
        pytest.param({"type": "object"}, EMPTY, id="object-only"),
        pytest.param({"type": ["object", "null"]}, EMPTY, id="object-or-null"),
        pytest.param({"type": "dict"}, EMPTY, id="unknown-type"),
        pytest.param({"type": "object", "properties": None}, EMPTY, id="properties-null"),
        pytest.param({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}, EMPTY, id="ref"),
        pytest.param({"$ref": "#"}, EMPTY, id="ref-to-itself"),
        pytest.param({"type": "object", "$schema": "x", "if": {}, "x-y": 1}, EMPTY, id="unknown"),
    ],
)
def test_root_when_it_says_little_is_an_object_without_properties(
    raw: object, expected: object
) -> None:
    assert provider_schema(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"type": "array"}, {"type": "array", "items": {}}, id="array-without-items"),
        pytest.param(
            {"type": "array", "items": True}, {"type": "array", "items": {}}, id="items-true"
        ),
        pytest.param(
            {"items": [{"type": "string"}, {"type": "null"}]},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            id="items-listed",
        ),
        pytest.param(
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
            {"type": "array", "items": {"anyOf": [{"type": "string"}]}},
            id="prefix-items",
        ),
        pytest.param({"type": "object"}, EMPTY, id="object-without-properties"),
        pytest.param({"properties": {}}, EMPTY, id="properties-without-type"),
        pytest.param(True, {}, id="true"),
        pytest.param("nonsense", {}, id="no-schema"),
        pytest.param({"type": ["string", "null"]}, {"type": ["string", "null"]}, id="nullable"),
        pytest.param({"type": ["string", "file"]}, {"type": "string"}, id="one-type-unknown"),
        pytest.param({"const": 3}, {"enum": [3]}, id="const"),
        pytest.param({"enum": []}, {}, id="enum-empty"),
        pytest.param({"enum": [1, 1.0, True, 1]}, {"enum": [1, 1.0, True]}, id="enum-repeats"),
        pytest.param({"enum": [{"a": 1}]}, {}, id="enum-of-objects"),
        pytest.param({"default": float("nan")}, {}, id="default-nan"),
        pytest.param({"minimum": True, "maximum": 5}, {"maximum": 5}, id="minimum-bool"),
        pytest.param({"exclusiveMinimum": True}, {}, id="draft-4-minimum"),
        pytest.param({"maximum": 10**400}, {}, id="number-out-of-reach"),
        pytest.param({"maxLength": -1, "minLength": 2}, {"minLength": 2}, id="negative-length"),
        pytest.param({"pattern": "(a+)+$", "type": "string"}, {"type": "string"}, id="pattern"),
        pytest.param({"description": "a\ud800b"}, {"description": "a\ufffdb"}, id="surrogate"),
        pytest.param({"description": 5}, {}, id="description-number"),
        pytest.param({"$ref": "#/nowhere/at/all"}, {}, id="ref-to-nowhere"),
        pytest.param({"$ref": "https://example.org/s.json"}, {}, id="ref-elsewhere"),
        pytest.param({"$ref": "#/$defs/a~1b"}, {"type": "string"}, id="ref-escaped"),
        pytest.param({"$ref": "#/$defs/list/0"}, {"type": "null"}, id="ref-into-a-list"),
        pytest.param(
            {"$ref": "#/$defs/a~1b", "description": "mine"},
            {"type": "string", "description": "mine"},
            id="ref-with-siblings",
        ),
        pytest.param(
            {"$ref": "#/$defs/Node"},
            {"type": "object", "properties": {"next": EMPTY}},
            id="ref-recursive",
        ),
        pytest.param(
            {"anyOf": [{"type": "string"}, False, True]},
            {"anyOf": [{"type": "string"}, {}]},
            id="any-of",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "array"}},
            {**EMPTY, "additionalProperties": {"type": "array", "items": {}}},
            id="additional-properties",
        ),
    ],
)
def test_property_with_an_odd_schema_is_put_into_plain_words(raw: object, expected: object) -> None:
    document = {
        "type": "object",
        "properties": {"p": raw, "type": {"type": "string"}},
        "required": ["p"],
        "$defs": {"a/b": {"type": "string"}, "list": [{"type": "null"}], "Node": NODE},
    }

    schema = provider_schema(document)

    assert schema == {
        "type": "object",
        "properties": {"p": expected, "type": {"type": "string"}},
        "required": ["p"],
    }
    assert list(refusals(schema)) == []


def test_property_with_the_schema_false_is_left_off_and_not_required() -> None:
    raw = {"properties": {"p": False, "q": {}}, "required": ["p", "q", "r"]}

    assert provider_schema(raw) == {
        "type": "object",
        "properties": {"q": {}, "r": {}},
        "required": ["q", "r"],
    }


def test_property_with_a_refused_name_is_left_off_when_optional() -> None:
    assert provider_schema({"properties": {"naïve": {}, "$x": {}}}) == EMPTY


def test_root_with_alternatives_gets_their_properties_and_what_all_of_them_require() -> None:
    def shape(kind: str, **more: object) -> dict[str, Any]:
        properties = {"kind": {"const": kind}, **more}
        return {"type": "object", "properties": properties, "required": list(properties)}

    raw = {
        "oneOf": [shape("circle", r={"type": "number"}), shape("dot"), {"type": "null"}],
        "allOf": [{"properties": {"colour": {"type": "string"}}, "required": ["colour"]}],
    }

    assert provider_schema(raw) == {
        "type": "object",
        "properties": {
            "kind": {"anyOf": [{"enum": ["circle"]}, {"enum": ["dot"]}]},
            "r": {"type": "number"},
            "colour": {"type": "string"},
        },
        "required": ["kind", "colour"],
    }


def _bomb() -> dict[str, Any]:
    """Returns a short schema that is endless once its references are written out."""
    levels: dict[str, Any] = {
        f"l{n}": {"properties": {c: {"$ref": f"#/$defs/l{n + 1}"} for c in "abcdefgh"}}
        for n in range(12)
    }
    return {"$ref": "#/$defs/l0", "$defs": {**levels, "l12": {}}}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        pytest.param("string", "is a str", id="no-schema"),
        pytest.param(False, "is a bool", id="false"),
        pytest.param({"type": "string"}, "of type 'string'", id="string"),
        pytest.param({"anyOf": [{"type": "string"}, {"type": "null"}]}, "none of", id="no-object"),
        pytest.param({"required": ["naïve"], "type": "object"}, "'naïve'", id="required-name"),
        pytest.param(_bomb(), f"more than {MAX_NODES}", id="reference-bomb"),
        pytest.param(
            {"properties": {f"p{n}": {"description": "x" * 2_000} for n in range(60)}},
            "longer than",
            id="long",
        ),
    ],
)
def test_root_that_no_provider_would_take_is_unusable(raw: object, why: str) -> None:
    with pytest.raises(UnusableSchema, match=re.escape(why)):
        provider_schema(raw)


def test_deep_schema_is_left_open_below_the_limit() -> None:
    raw: dict[str, Any] = {"type": "object"}
    for _ in range(300):
        raw = {"type": "object", "properties": {"p": raw}}

    assert list(refusals(provider_schema(raw))) == []


_names = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "required",
        "anyOf",
        "allOf",
        "oneOf",
        "$ref",
        "enum",
        "const",
        "default",
        "minimum",
        "minLength",
        "additionalProperties",
        "prefixItems",
        "description",
        "$defs",
        "a",
        "naïve",
    ]
)
_leaves = st.sampled_from(
    ["object", "array", "string", "#", "#/$defs/a", "#/properties/a", "a", "é", True, False, None]
) | st.integers(-2, 2)
_documents = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=30,
)


@settings(deadline=None)
@given(st.dictionaries(_names, _documents, max_size=5))
def test_any_schema_is_either_unusable_or_refused_by_nobody(raw: dict[str, Any]) -> None:
    try:
        schema = provider_schema(raw)
    except UnusableSchema:
        return

    assert list(refusals(schema)) == []
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
