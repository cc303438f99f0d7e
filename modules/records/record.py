"""The base of all records that are written to a journal or sent over a pipe."""

import json
from typing import Any, dataclass_transform

import msgspec


class _KeywordOnly(msgspec.StructMeta):
    """Makes every subclass's fields keyword-only; msgspec does not inherit that option."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        return super().__new__(mcls, name, bases, namespace, **{"kw_only": True, **options})


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(
    msgspec.Struct,
    metaclass=_KeywordOnly,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """A frozen value with named fields; JSON with an unknown field is refused when it is read."""


def to_json(record: Record) -> bytes:
    """Returns a record as one line of JSON in UTF-8; half a surrogate pair becomes U+FFFD."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(record), ensure_ascii=False)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
