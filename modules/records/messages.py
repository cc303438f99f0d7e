"""What is said between an agent and its model."""

from enum import StrEnum
from typing import Any, Literal

from modules.records.record import Record


class Text(Record, tag="text", tag_field="kind"):
    """Words."""

    text: str


class Reasoning(Record, tag="reasoning", tag_field="kind"):
    """A model's own thinking, kept because its provider wants it back unchanged."""

    origin: str
    """`provider:model` it came from; it is replayed to that model alone."""
    text: str = ""
    signature: str = ""
    """The provider's proof of the text; empty where the provider gives none."""
    is_sealed: bool = False
    """True when the provider hid the text; `signature` is then all there is."""


class ToolCall(Record, tag="call", tag_field="kind"):
    """A model's request to run a tool."""

    call_id: str
    name: str
    input: dict[str, Any] = {}
    fault: str = ""
    """Why the call can't be run as it came (cut off, not JSON); empty for a whole call."""


class ToolOutput(Record, tag="output", tag_field="kind"):
    """What a call gave back; never empty text."""

    call_id: str
    text: str
    is_error: bool = False


Block = Text | Reasoning | ToolCall | ToolOutput


class Message(Record):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All words and tool outputs of the message, a line break between blocks."""
        return "\n".join(b.text for b in self.blocks if isinstance(b, Text | ToolOutput))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolCall))


def said(text: str) -> Message:
    """Returns a user message that holds `text`."""
    return Message(role="user", blocks=(Text(text=text),))


class Usage(Record):
    """Tokens of one or more requests."""

    input_tokens: int = 0
    """All tokens sent, those read from a cache included."""
    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of `input_tokens` that came from a cache."""
    cache_write_tokens: int = 0
    """The part of `input_tokens` that was written to a cache."""
    is_estimate: bool = False
    """True when the provider told no figures and they were counted here."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            is_estimate=self.is_estimate or other.is_estimate,
        )


class StopReason(StrEnum):
    """Why a model ended its answer."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


class ToolSpec(Record):
    """A tool as a model is told of it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """JSON Schema of an object."""


class ModelRequest(Record):
    """One request to a model."""

    agent: str
    """Name of the asking agent."""
    task: str = ""
    """Subject of the task it works on; empty for the lead."""
    model: str
    """The model's name at its provider, without the provider's prefix."""
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int = 16_000
    answers_before: int = 0
    """How many answers the conversation had that a memory stands for now."""
    is_summary: bool = False
    """True where the answer is to sum a conversation up, and no part of it."""


class ModelReply(Record):
    """A whole answer of a model; a cut stream never becomes one."""

    message: Message
    stop: StopReason
    usage: Usage = Usage()
    awaits: str = ""
    """Why the model has nothing to say until more is heard; only a scripted model waits."""
    means_silence: bool = False
    """True where an answer without words is what was meant, not a fault of the model."""
