"""Short ways to write conversations in tests."""

from collections.abc import Sequence
from typing import Any

from modules.records.messages import (
    Block,
    Message,
    ModelRequest,
    Text,
    ToolCall,
    ToolOutput,
    ToolSpec,
    said,
)

BASH = ToolSpec(
    name="bash",
    description="Runs a command.",
    input_schema={"type": "object", "properties": {"command": {"type": "string"}}},
)


def request(*messages: Message, **fields: Any) -> ModelRequest:
    """Returns a request of the lead; with no message it says "hello"."""
    defaults: dict[str, Any] = {"agent": "lead", "model": "m", "system": "Be brief."}
    return ModelRequest(**{**defaults, **fields}, messages=messages or (said("hello"),))


def answered(*blocks: Block) -> Message:
    """Returns an assistant message."""
    return Message(role="assistant", blocks=blocks)


def told(*blocks: Block) -> Message:
    """Returns a user message."""
    return Message(role="user", blocks=blocks)


def call(call_id: str = "c1", **fields: Any) -> ToolCall:
    """Returns a call of bash."""
    return ToolCall(**{"call_id": call_id, "name": "bash", "input": {"command": "ls"}, **fields})


def output(call_id: str = "c1", text: str = "done", **fields: Any) -> ToolOutput:
    """Returns what a call gave."""
    return ToolOutput(call_id=call_id, text=text, **fields)


def words(text: str) -> Text:
    """Returns a text block."""
    return Text(text=text)


def steps(count: int) -> Sequence[Message]:
    """Returns a conversation of so many steps, a call and its output each."""
    messages = [said("start")]
    for number in range(count):
        messages += [answered(call(f"c{number}")), told(output(f"c{number}"))]
    return messages
