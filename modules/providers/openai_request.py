"""Our conversation as the chat completions format takes it; pure.

Format: https://platform.openai.com/docs/api-reference/chat/create. The messages must be arranged
already. One of our messages may become several: each output is a message of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from modules.providers.call_inputs import legal_tool_name
from modules.providers.openai_dialect import Dialect
from modules.providers.well_formed import encode_json
from modules.records.messages import (
    Message,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    ToolSpec,
)


def encode_message(message: Message, dialect: Dialect) -> bytes:
    """Returns the JSON of the wire messages for one message, joined by commas."""
    return b",".join(map(encode_json, to_wire(message, dialect)))


def encode_body(
    request: ModelRequest,
    settled: Sequence[bytes],
    still_open: Iterable[Message],
    dialect: Dialect,
) -> bytes:
    """Returns the whole request; `settled` is the JSON of the messages before `still_open`."""
    system = [encode_json({"role": "system", "content": request.system})]
    messages = [
        *(system if request.system.strip() else []),
        *settled,
        *(encode_message(message, dialect) for message in still_open),
    ]
    head = encode_json(_head(request, dialect))
    return head[:-1] + b',"messages":[' + b",".join(messages) + b"]}"


def to_wire(message: Message, dialect: Dialect) -> list[dict[str, Any]]:
    """Returns one message as the messages the format has for it."""
    if message.role == "assistant":
        return [_assistant(message, dialect)]
    outputs = [_output(block) for block in message.blocks if isinstance(block, ToolOutput)]
    words = _joined(message)
    return [*outputs, {"role": "user", "content": words}] if words else outputs


def _head(request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    head: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        dialect.max_tokens_field: dialect.output_tokens(request.max_output_tokens),
    }
    if dialect.reasoning_effort:
        head["reasoning_effort"] = dialect.reasoning_effort
    if dialect.asks_usage:
        head["stream_options"] = {"include_usage": True}
    if request.tools:
        head["tools"] = [_tool(tool) for tool in request.tools]
    return head


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


def _assistant(message: Message, dialect: Dialect) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": _joined(message) or None}
    if dialect.reasoning_field:
        thoughts = [block.text for block in message.blocks if isinstance(block, Reasoning)]
        # Servers that want this field want it on every assistant message, empty or not.
        wire[dialect.reasoning_field] = "".join(thoughts)
    if message.calls:
        wire["tool_calls"] = [_call(call) for call in message.calls]
    return wire


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": legal_tool_name(call.name), "arguments": encode_json(call.input).decode()}
    return {"id": call.call_id, "type": "function", "function": function}


def _output(output: ToolOutput) -> dict[str, Any]:
    # The format has no field that says an output is an error.
    is_told = not output.is_error or output.text.lower().startswith("error")
    text = output.text if is_told else f"Error: {output.text}"
    return {"role": "tool", "tool_call_id": output.call_id, "content": text}


def _joined(message: Message) -> str:
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, Text))
