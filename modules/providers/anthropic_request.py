"""Our conversation as Anthropic's Messages API takes it; pure.

Format: https://platform.claude.com/docs/en/api/messages. The messages must be arranged already.
The prompt is cached up to three points: the end of the system prompt, the end of the last message,
and the first user message that is still open, which was the last one of the request before: that
is where this request finds the cache, however many blocks the step in between had.
"""

import re
from collections.abc import Sequence
from typing import Any

from modules.providers.call_inputs import legal_tool_name
from modules.providers.well_formed import encode_json
from modules.records.messages import (
    Block,
    Message,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
)

_CACHED = {"cache_control": {"type": "ephemeral"}}
_FOREIGN_TO_IDS = re.compile(r"[^a-zA-Z0-9_-]")


def encode_message(message: Message) -> bytes:
    """Returns the JSON of one message."""
    return encode_json(to_wire(message))


def encode_body(
    request: ModelRequest, settled: Sequence[bytes], still_open: Sequence[Message]
) -> bytes:
    """Returns the whole request; `settled` is the JSON of the messages before `still_open`."""
    cached = {0, len(still_open) - 1}
    messages = [
        *settled,
        *(
            encode_json(_cached_to_here(message) if place in cached else to_wire(message))
            for place, message in enumerate(still_open)
        ),
    ]
    head = encode_json(_head(request))
    return head[:-1] + b',"messages":[' + b",".join(messages) + b"]}"


def to_wire(message: Message) -> dict[str, Any]:
    """Returns one message as the API takes it."""
    return {"role": message.role, "content": [_block(block) for block in message.blocks]}


def _cached_to_here(message: Message) -> dict[str, Any]:
    wire = to_wire(message)
    if message.role == "assistant":
        return wire
    *others, last = wire["content"]
    return {**wire, "content": [*others, {**last, **_CACHED}]}


def _head(request: ModelRequest) -> dict[str, Any]:
    head: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "stream": True,
    }
    if request.system.strip():
        head["system"] = [{"type": "text", "text": request.system, **_CACHED}]
    if request.tools:
        head["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
            for tool in request.tools
        ]
    return head


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Reasoning(is_sealed=True):
            return {"type": "redacted_thinking", "data": block.signature}
        case Reasoning():
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case ToolCall():
            return {
                "type": "tool_use",
                "id": _legal_id(block.call_id),
                "name": legal_tool_name(block.name),
                "input": block.input,
            }
        case ToolOutput():
            return {
                "type": "tool_result",
                "tool_use_id": _legal_id(block.call_id),
                "content": [{"type": "text", "text": block.text}],
                **({"is_error": True} if block.is_error else {}),
            }


def _legal_id(call_id: str) -> str:
    """Returns an id the API accepts; other providers use characters it does not."""
    return _FOREIGN_TO_IDS.sub("_", call_id)
