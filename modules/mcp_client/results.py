"""What a call gave back, turned into words for the model.

1. Text and the text of embedded resources stand as they came, in their order.
2. An image, a sound, a binary resource, a link and any block of an unknown kind is described by
   its type and size: a model that is told of it does not ask again.
3. Structured content stands as JSON where no block holds words.
4. A result is never empty, and an error stays an error.
5. Lone surrogates are replaced; beyond `MAX_RESULT_CHARACTERS` the rest is cut, and says so.
"""

import json
from collections.abc import Mapping
from typing import Any

from modules.mcp_client.plain_text import one_line, without_surrogates
from modules.mcp_client.values import McpResult

MAX_RESULT_CHARACTERS = 10_000_000


def adapt_result(raw: Mapping[str, Any]) -> McpResult:
    """Returns the words of one answer to `tools/call`."""
    is_error = raw.get("isError") is True
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    parts = [part for block in blocks if (part := _block(block))]
    structured = raw.get("structuredContent")
    if structured is not None and not any(_holds_words(block) for block in blocks):
        parts.append(_json(structured))
    text = "\n".join(parts)
    if not text.strip():
        text = "(The tool failed and said nothing.)" if is_error else "(The tool said nothing.)"
    return McpResult(text=_bounded(without_surrogates(text)), is_error=is_error)


def _block(block: object) -> str:
    if not isinstance(block, dict):
        return f"[{_sized(block)} that is no block of content; not shown]"
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    if kind in ("image", "audio"):
        size = _base64_size(block.get("data"))
        return f"[{kind}: {_word(block.get('mimeType'), 'type unknown')}, {size}; not shown]"
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return _resource(block["resource"])
    if kind == "resource_link":
        return _link(block)
    return f"[block of type {one_line(str(kind), 40)!r}, {_sized(block)}; not shown]"


def _resource(resource: Mapping[str, Any]) -> str:
    uri = _word(resource.get("uri"), "no address")
    mime_type = _word(resource.get("mimeType"), "type unknown")
    if isinstance(text := resource.get("text"), str):
        return f"[resource {uri} ({mime_type})]\n{text}"
    return f"[resource {uri}: {mime_type}, {_base64_size(resource.get('blob'))}; not shown]"


def _link(block: Mapping[str, Any]) -> str:
    facts = [_word(block.get(key), "") for key in ("title", "name", "mimeType", "description")]
    size = block.get("size")
    if isinstance(size, int) and not isinstance(size, bool):
        facts.append(_in_bytes(size))
    told = ", ".join(dict.fromkeys(fact for fact in facts if fact))
    return f"[link to {_word(block.get('uri'), 'no address')}{': ' if told else ''}{told}]"


def _holds_words(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    resource = block.get("resource")
    holder = resource if isinstance(resource, dict) else block
    return isinstance(text := holder.get("text"), str) and bool(text.strip())


def _word(value: object, otherwise: str) -> str:
    return one_line(value, 500) if isinstance(value, str) and value.strip() else otherwise


def _sized(value: object) -> str:
    return f"{len(_json(value))} characters"


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[nested too deeply to be shown]"


def _base64_size(data: object) -> str:
    if not isinstance(data, str):
        return "no data"
    return _in_bytes(len(data) * 3 // 4 - data[-2:].count("="))


def _in_bytes(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _bounded(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARACTERS:
        return text
    note = f"\n[cut here: the result has {len(text)} characters]"
    return text[: MAX_RESULT_CHARACTERS - len(note)] + note
