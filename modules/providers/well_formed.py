"""Text that survives UTF-8: no half of a surrogate pair gets out of here.

1. The two halves of a pair that stand side by side become the character they mean.
2. A half that stands alone becomes U+FFFD.
"""

from typing import Any

import msgspec


def well_formed(text: str) -> str:
    """Returns `text` with every lone surrogate replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def well_formed_json(value: Any) -> Any:
    """Returns a JSON value with every text in it well formed, keys included."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(str(key)): well_formed_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [well_formed_json(item) for item in value]
    return value


def encode_json(value: Any) -> bytes:
    """Returns a JSON value as valid UTF-8, whatever text it holds."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(well_formed_json(value))
