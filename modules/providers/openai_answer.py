"""Puts one streamed answer in the chat completions format together; pure.

Format: https://platform.openai.com/docs/api-reference/chat-streaming, and what compatible servers
make of it: chunks without choices, a null delta, usage in the last chunk, in all, or in none.
An answer without a finish reason was cut: it never becomes a reply.
"""

from typing import Any

from modules.providers.call_inputs import read_call, unique_call_id, used_call_ids
from modules.providers.tool_call_pieces import JoinedCall, ToolCallPieces
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

_CUT = frozenset({"length", "max_tokens"})
_REFUSED = frozenset({"content_filter", "sensitive"})
_SERVER_GAVE_UP = frozenset({"error", "insufficient_system_resource", "network_error"})
_WINDOW_FULL = "model_context_window_exceeded"


class OpenAiAnswer:
    """An answer as far as it has come."""

    def __init__(self, request: ModelRequest, *, origin: str) -> None:
        self._request = request
        self._origin = origin
        self._words: list[str] = []
        self._thoughts: list[str] = []
        self._pieces = ToolCallPieces()
        self._finish = ""
        self._usage: dict[str, Any] = {}

    def add(self, chunk: dict[str, Any]) -> str:
        """Takes the next chunk and returns the words it brings."""
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        choices = chunk.get("choices")
        if not choices:
            return ""
        choice = choices[0] or {}
        self._finish = choice.get("finish_reason") or self._finish
        # A server that does not stream sends the whole message in place of a delta.
        delta = choice.get("delta") or choice.get("message") or {}
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str):
            self._thoughts.append(thought)
        for piece in delta.get("tool_calls") or ():
            self._pieces.add(piece or {})
        words = _plain(delta.get("content")) + _plain(delta.get("refusal"))
        if words:
            self._words.append(words)
        return words

    def reply(self) -> ModelReply:
        """Returns the whole answer; raises TransientFault when its end never came."""
        if not self._finish:
            raise TransientFault("The model's answer broke off before its end.")
        if self._finish in _SERVER_GAVE_UP:
            raise TransientFault(f"The server gave up inside the answer: {self._finish}.")
        if self._finish == _WINDOW_FULL:
            raise ContextOverflow("The answer did not fit in the model's context window.")
        message = Message(role="assistant", blocks=self._blocks())
        return ModelReply(
            message=message,
            stop=self._stop(message),
            usage=self._told_usage() or estimated_usage(self._request, message),
        )

    def _stop(self, message: Message) -> StopReason:
        if self._finish in _CUT:
            return StopReason.MAX_TOKENS
        if self._finish in _REFUSED:
            return StopReason.REFUSAL
        return StopReason.TOOL_USE if message.calls else StopReason.END_TURN

    def _blocks(self) -> tuple[Block, ...]:
        thoughts = well_formed("".join(self._thoughts))
        words = well_formed("".join(self._words))
        used = used_call_ids(self._request)
        return (
            *([Reasoning(origin=self._origin, text=thoughts)] if thoughts else []),
            *([Text(text=words)] if words.strip() else []),
            *(self._call(call, used) for call in self._pieces.calls),
        )

    def _call(self, call: JoinedCall, used: set[str]) -> ToolCall:
        seed = (len(self._request.messages), call.name, call.arguments)
        return read_call(
            unique_call_id(call.call_id, used=used, seed=seed),
            call.name,
            call.arguments,
            is_cut=self._finish in _CUT and call is self._pieces.calls[-1],
            limit_tokens=self._request.max_output_tokens,
        )

    def _told_usage(self) -> Usage | None:
        sent = _count(self._usage.get("prompt_tokens"))
        if not sent:
            return None
        details = self._usage.get("prompt_tokens_details") or {}
        cached = _count(details.get("cached_tokens")) or _count(
            self._usage.get("prompt_cache_hit_tokens")
        )
        return Usage(
            input_tokens=sent,
            output_tokens=_count(self._usage.get("completion_tokens")),
            cached_tokens=cached,
            cache_write_tokens=_count(details.get("cache_write_tokens")),
        )


def _plain(content: Any) -> str:
    """Returns the words of a content field: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
