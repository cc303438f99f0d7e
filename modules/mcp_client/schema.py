"""Input schemas of MCP tools, put into the words every provider takes.

A provider that dislikes one schema refuses the whole request, so nothing odd may pass. The server
checks the arguments itself, so a looser schema does no harm:

1. The root is an object with `properties`. No schema at all means an object without any; a schema
   that admits no object makes the tool unusable.
2. `$ref` into the schema itself is written out; one that leads into itself or elsewhere is cut.
3. Only the keywords named below are kept, each with a value of its proper type. `pattern` is not:
   only the server knows which dialect it is written in.
4. A schema `true` is `{}`; a property with the schema `false` can't be given and is left off.
5. An object has `properties`, an array has `items`; `const` becomes an `enum` of one.
6. `anyOf`, `oneOf` and `allOf` are not taken at the root: their properties move up, and only what
   every branch requires stays required.
7. A property whose name a provider refuses is left off; the tool is unusable where it is required.
8. Deeper levels than `MAX_DEPTH` are left open; more nodes or characters than the limits make the
   tool unusable.
"""

import json
import math
import re
from typing import Any, TypeGuard
from urllib.parse import unquote

from modules.mcp_client.plain_text import shortened, without_surrogates
from modules.records.errors import CrewyardError

MAX_DEPTH = 16
MAX_NODES = 5_000
MAX_SCHEMA_CHARACTERS = 100_000
MAX_TEXT_CHARACTERS = 2_000

_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_TEXTS = ("title", "description", "format")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_CHOICES = ("anyOf", "oneOf", "allOf")
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")

Schema = dict[str, Any]


class UnusableSchema(CrewyardError):
    """No schema of this tool would be taken; the message says why."""


def provider_schema(raw: object) -> Schema:
    """Returns the input schema to offer for `raw`; raises UnusableSchema."""
    if raw is None or raw is True:
        raw = {}
    if not isinstance(raw, dict):
        raise UnusableSchema(f"its input schema is a {type(raw).__name__}, not an object")
    schema = _flattened(_Reading(raw).schema(raw, depth=0, seen=frozenset({"#"})))
    if "object" not in _types_of(schema.get("type", "object")):
        raise UnusableSchema(f"its input is of type {schema['type']!r}, not an object")
    for keyword in ("enum", "items", "default"):
        schema.pop(keyword, None)
    schema["type"] = "object"
    schema.setdefault("properties", {})
    if len(json.dumps(schema)) > MAX_SCHEMA_CHARACTERS:
        raise UnusableSchema(f"its input schema is longer than {MAX_SCHEMA_CHARACTERS} characters")
    return schema


class _Reading:
    """One pass over a server's schema; counts what it meets."""

    def __init__(self, document: Schema) -> None:
        self._document = document
        self._nodes = 0

    def schema(self, raw: object, *, depth: int, seen: frozenset[str]) -> Schema:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnusableSchema(f"its input schema has more than {MAX_NODES} parts")
        if not isinstance(raw, dict) or depth > MAX_DEPTH:
            return {}
        raw, seen = self._without_ref(raw, seen)
        schema = _plain_keywords(raw)
        for keyword in _CHOICES:
            if branches := self._schemas(raw.get(keyword), depth=depth, seen=seen):
                schema[keyword] = branches
        self._read_object(raw, schema, depth=depth, seen=seen)
        self._read_array(raw, schema, depth=depth, seen=seen)
        return schema

    def _schemas(self, raw: object, *, depth: int, seen: frozenset[str]) -> list[Schema]:
        branches = raw if isinstance(raw, list) else []
        return [self.schema(b, depth=depth + 1, seen=seen) for b in branches if b is not False]

    def _read_object(
        self, raw: Schema, schema: Schema, *, depth: int, seen: frozenset[str]
    ) -> None:
        named = raw.get("properties")
        if isinstance(named, dict) and "type" not in schema:
            schema["type"] = "object"
        if "object" not in _types_of(schema.get("type")):
            return
        named = named if isinstance(named, dict) else {}
        properties = {
            name: self.schema(value, depth=depth + 1, seen=seen)
            for name, value in named.items()
            if value is not False and _PROPERTY_NAME.fullmatch(name)
        }
        required = [name for name in _names(raw.get("required")) if named.get(name) is not False]
        for name in required:
            if not _PROPERTY_NAME.fullmatch(name):
                raise UnusableSchema(f"it requires a property {name!r}, a name providers refuse")
            properties.setdefault(name, {})
        schema["properties"] = properties
        if required:
            schema["required"] = required
        more = raw.get("additionalProperties")
        if isinstance(more, bool):
            schema["additionalProperties"] = more
        elif isinstance(more, dict):
            schema["additionalProperties"] = self.schema(more, depth=depth + 1, seen=seen)

    def _read_array(self, raw: Schema, schema: Schema, *, depth: int, seen: frozenset[str]) -> None:
        items = raw.get("items")
        listed = [*_list(raw.get("prefixItems")), *_list(items)]
        if (listed or isinstance(items, dict)) and "type" not in schema:
            schema["type"] = "array"
        if "array" not in _types_of(schema.get("type")):
            return
        if not listed:
            schema["items"] = self.schema(items, depth=depth + 1, seen=seen)
            return
        listed += [items] if isinstance(items, dict) else []
        schema["items"] = {"anyOf": self._schemas(listed, depth=depth, seen=seen) or [{}]}

    def _without_ref(self, raw: Schema, seen: frozenset[str]) -> tuple[Schema, frozenset[str]]:
        while isinstance(ref := raw.get("$ref"), str):
            target = self._target(ref)
            if ref in seen:
                target = {key: target[key] for key in ("type", "description") if key in target}
            raw = {**target, **{key: value for key, value in raw.items() if key != "$ref"}}
            seen |= {ref}
        return raw, seen

    def _target(self, ref: str) -> Schema:
        """Returns what a JSON pointer leads to; an open schema where it leads nowhere."""
        target: object = self._document
        front, *steps = ref.split("/")
        if front != "#":
            return {}
        for step in steps:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict):
                target = target.get(key)
            elif isinstance(target, list) and key in map(str, range(len(target))):
                target = target[int(key)]
            else:
                return {}
        return target if isinstance(target, dict) else {}


def _plain_keywords(raw: Schema) -> Schema:
    """Returns the keywords that hold no schema."""
    schema: Schema = {}
    types = [t for t in _types_of(raw.get("type")) if t in _TYPES]
    if types:
        schema["type"] = types[0] if len(types) == 1 else types
    for key in _TEXTS:
        if isinstance(text := raw.get(key), str) and text:
            schema[key] = shortened(without_surrogates(text), MAX_TEXT_CHARACTERS)
    values = [raw["const"]] if "const" in raw else _list(raw.get("enum"))
    if values and all(_is_scalar(value) for value in values):
        schema["enum"] = _unlike([_cleaned(value) for value in values])
    if "default" in raw and _is_scalar(raw["default"]):
        schema["default"] = _cleaned(raw["default"])
    for key in _NUMBERS:
        if _is_number(number := raw.get(key)) and (key != "multipleOf" or number > 0):
            schema[key] = number
    for key in _COUNTS:
        if isinstance(count := raw.get(key), int) and not isinstance(count, bool) and count >= 0:
            schema[key] = count
    return schema


def _flattened(schema: Schema) -> Schema:
    """Returns an object's schema with the properties of its branches moved up."""
    if not any(keyword in schema for keyword in _CHOICES):
        return schema
    flat = {key: value for key, value in schema.items() if key not in _CHOICES}
    flat["properties"] = dict(schema.get("properties", {}))
    for keyword in _CHOICES:
        branches = [_flattened(branch) for branch in schema.get(keyword, [])]
        branches = [b for b in branches if "object" in _types_of(b.get("type", "object"))]
        if not branches:
            continue
        for branch in branches:
            _merge_properties(flat["properties"], branch.get("properties", {}), keyword)
        always = [set(branch.get("required", [])) for branch in branches]
        required = set.union(*always) if keyword == "allOf" else set.intersection(*always)
        flat["required"] = _unlike([*flat.get("required", []), *sorted(required)])
        # A branch may know properties the others don't; "no others" can't be said of them all.
        flat.pop("additionalProperties", None)
    if schema.keys() & {"anyOf", "oneOf"} and "type" not in schema and not flat["properties"]:
        _require_an_object_branch(schema)
    return flat


def _require_an_object_branch(schema: Schema) -> None:
    branches = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    if not any("object" in _types_of(branch.get("type", "object")) for branch in branches):
        raise UnusableSchema("none of the alternatives of its input is an object")


def _merge_properties(into: Schema, more: Schema, keyword: str) -> None:
    joint = "allOf" if keyword == "allOf" else "anyOf"
    for name, schema in more.items():
        if name not in into or into[name] == schema:
            into[name] = schema
            continue
        known = into[name]
        branches = known[joint] if known.keys() == {joint} else [known]
        into[name] = {joint: branches if schema in branches else [*branches, schema]}


def _types_of(value: object) -> list[str]:
    return [t for t in (value if isinstance(value, list) else [value]) if isinstance(t, str)]


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _names(value: object) -> list[str]:
    return _unlike([name for name in _list(value) if isinstance(name, str)])


def _unlike(values: list[Any]) -> list[Any]:
    """Returns `values` without repetitions; `1`, `1.0` and `True` are three values, as in JSON."""
    return list({(type(value), value): value for value in values}.values())


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | bool) or _is_number(value)


def _cleaned(value: object) -> object:
    return without_surrogates(value) if isinstance(value, str) else value
