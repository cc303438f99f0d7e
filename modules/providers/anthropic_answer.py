"""Puts one streamed answer of Anthropic's Messages API together; pure.

Format: https://platform.claude.com/docs/en/build-with-claude/streaming.
An answer without a stop reason was cut: it never becomes a reply.
"""

import json
from dataclasses import dataclass
from typing import Any

from modules.providers.call_inputs import read_call, unique_call_id, used_call_ids
from modules.providers.usage_estimate import estimated_usage
from modules.providers.well_formed import well_formed
from modules.records.errors import ContextOverflow, TransientFault
from modules.records.messages import (
    Block,
    Message,
    ModelReply,
    ModelRequest,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    Usage,
)

_STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "pause_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
}
_WINDOW_FULL = "model_context_window_exceeded"


@dataclass
class _Part:
    """One content block while it grows."""

    kind: str
    text: str = ""
    call_id: str = ""
    name: str = ""
    signature: str = ""
    whole_input: Any = None
    """Arguments a server gave at once, instead of piece by piece."""


class AnthropicAnswer:
    """An answer as far as it has come."""

    def __init__(self, request: ModelRequest, *, origin: str) -> None:
        self._request = request
        self._origin = origin
        self._parts: dict[int, _Part] = {}
        self._stop = ""
        self._usage: dict[str, int] = {}

    def add(self, event: dict[str, Any]) -> str:
        """Takes the next event and returns the words it brings."""
        match event.get("type"):
            case "message_start":
                self._count((event.get("message") or {}).get("usage"))
            case "content_block_start":
                return self._start(event.get("index", 0), event.get("content_block") or {})
            case "content_block_delta":
                return self._grow(event.get("index", 0), event.get("delta") or {})
            case "message_delta":
                self._stop = (event.get("delta") or {}).get("stop_reason") or self._stop
                self._count(event.get("usage"))
            case _:
                pass  # pings, block ends, and kinds that are newer than this program
        return ""

    def reply(self) -> ModelReply:
        """Returns the whole answer; raises TransientFault when its end never came."""
        if not self._stop:
            raise TransientFault("The model's answer broke off before its end.")
        if self._stop == _WINDOW_FULL:
            raise ContextOverflow("The answer did not fit in the model's context window.")
        message = Message(role="assistant", blocks=self._blocks())
        otherwise = StopReason.TOOL_USE if message.calls else StopReason.END_TURN
        return ModelReply(
            message=message,
            stop=_STOP_REASONS.get(self._stop, otherwise),
            usage=self._told_usage() or estimated_usage(self._request, message),
        )

    def _start(self, index: int, block: dict[str, Any]) -> str:
        part = _Part(
            kind=str(block.get("type")),
            text=block.get("text") or block.get("thinking") or "",
            call_id=block.get("id") or "",
            name=block.get("name") or "",
            signature=block.get("signature") or block.get("data") or "",
            whole_input=block.get("input"),
        )
        self._parts[index] = part
        return part.text if part.kind == "text" else ""

    def _grow(self, index: int, delta: dict[str, Any]) -> str:
        part = self._parts.setdefault(index, _Part(kind="text"))
        match delta.get("type"):
            case "text_delta":
                words: str = delta.get("text") or ""
                part.text += words
                return words
            case "thinking_delta":
                part.text += delta.get("thinking") or ""
            case "signature_delta":
                part.signature += delta.get("signature") or ""
            case "input_json_delta":
                part.text += delta.get("partial_json") or ""
            case _:
                pass  # citations, and kinds that are newer than this program
        return ""

    def _count(self, usage: dict[str, Any] | None) -> None:
        counts = {key: value for key, value in (usage or {}).items() if isinstance(value, int)}
        # The last event repeats some counts; a zero there does not take back what was told.
        self._usage.update({key: value for key, value in counts.items() if value})

    def _told_usage(self) -> Usage | None:
        cached = self._usage.get("cache_read_input_tokens", 0)
        written = self._usage.get("cache_creation_input_tokens", 0)
        sent = self._usage.get("input_tokens", 0) + cached + written
        if not sent:
            return None
        return Usage(
            input_tokens=sent,
            output_tokens=self._usage.get("output_tokens", 0),
            cached_tokens=cached,
            cache_write_tokens=written,
        )

    def _blocks(self) -> tuple[Block, ...]:
        used = used_call_ids(self._request)
        parts = [self._parts[index] for index in sorted(self._parts)]
        blocks = (
            self._block(part, used=used, position=position, is_last=part is parts[-1])
            for position, part in enumerate(parts)
        )
        return tuple(block for block in blocks if block is not None)

    def _block(self, part: _Part, *, used: set[str], position: int, is_last: bool) -> Block | None:
        match part.kind:
            case "text":
                return Text(text=well_formed(part.text)) if part.text.strip() else None
            case "thinking":
                return Reasoning(origin=self._origin, text=part.text, signature=part.signature)
            case "redacted_thinking":
                return Reasoning(origin=self._origin, signature=part.signature, is_sealed=True)
            case "tool_use":
                return self._call(part, used=used, position=position, is_last=is_last)
            case _:
                return None

    def _call(self, part: _Part, *, used: set[str], position: int, is_last: bool) -> ToolCall:
        arguments = part.text or (json.dumps(part.whole_input) if part.whole_input else "")
        seed = (len(self._request.messages), position, part.name, arguments)
        return read_call(
            unique_call_id(part.call_id, used=used, seed=seed),
            part.name,
            arguments,
            is_cut=is_last and self._stop == "max_tokens",
            limit_tokens=self._request.max_output_tokens,
        )
