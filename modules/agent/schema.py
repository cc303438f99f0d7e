"""Tool inputs: the JSON Schema a model is shown, and a call's input made into its record; pure."""

from typing import Any

import msgspec

from modules.records.errors import ModelFault
from modules.records.record import Record


def input_schema(input_type: type[Record]) -> dict[str, Any]:
    """Returns the schema of `input_type` as one object without references."""
    schema = msgspec.json.schema(input_type)
    definitions = schema.get("$defs", {})
    inlined = _inline(schema, definitions)
    inlined.pop("$defs", None)
    inlined.pop("title", None)
    return {"type": "object", "properties": {}, **inlined}


def read_input(tool: str, input_type: type[Record], raw: dict[str, Any]) -> Record:
    """Returns the input as a record; raises ModelFault that names the field and what it takes."""
    try:
        return msgspec.convert(raw, type=input_type)
    except msgspec.ValidationError as error:
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(input_type))
        raise ModelFault(
            f"The input of {tool} does not fit: {error}. Its fields are: {fields or 'none'}."
        ) from error


def _inline(value: Any, definitions: dict[str, Any]) -> Any:  # Any: JSON at the wire
    if isinstance(value, list):
        return [_inline(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inline(definitions[value["$ref"].rsplit("/", 1)[-1]], definitions)
    return {key: _inline(item, definitions) for key, item in value.items() if key != "$defs"}
