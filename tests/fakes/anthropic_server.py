"""Anthropic's Messages API on a loopback port."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.model_server import Answer, Asked, FakeCall, ModelServer, pieces, server_event

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
SIGNATURE = "signed-by-the-fake"


class AnthropicServer(ModelServer):
    """Speaks `POST /v1/messages`, streaming only."""

    ended_by = 2

    @property
    def base_url(self) -> str:
        """What `ANTHROPIC_BASE_URL` is set to."""
        return f"http://127.0.0.1:{self.port}"

    def read(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> Asked:
        messages = body.get("messages", [])
        system = body.get("system", "")
        spoken = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
        newest = messages[spoken[-1] + 1 :] if spoken else messages
        return Asked(
            body=body,
            headers={name.lower(): value for name, value in headers.items()},
            path=path,
            system=system if isinstance(system, str) else _words(system),
            newest="\n".join(_words(message["content"]) for message in newest),
            turns=len(spoken),
        )

    def refusals(self, asked: Asked) -> list[str]:
        return [
            *_head_refusals(asked),
            *_prompt_refusals(asked.body),
            *_message_refusals(asked.body.get("messages", [])),
        ]

    def encode(self, answer: Answer, asked: Asked) -> list[bytes]:
        events = answer.events if answer.events is not None else self._events(answer, asked)
        return [server_event(event, name=event["type"]) for event in events]

    def error_body(self, answer: Answer) -> dict[str, Any]:
        error = {"type": answer.error_type, "message": answer.error_text}
        return {"type": "error", "error": error}

    def _events(self, answer: Answer, asked: Asked) -> Iterator[dict[str, Any]]:
        yield {"type": "message_start", "message": _started(answer, asked)}
        yield {"type": "ping"}
        for index, (start, deltas) in enumerate(self._blocks(answer)):
            yield {"type": "content_block_start", "index": index, "content_block": start}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        stop = answer.stop or ("tool_use" if answer.calls else "end_turn")
        end: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": stop}}
        if answer.usage is not None:
            end["usage"] = {"output_tokens": answer.usage["answered"]}
        yield end
        yield {"type": "message_stop"}

    def _blocks(self, answer: Answer) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        if answer.reasoning:
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(answer.reasoning)]
            signed = {"type": "signature_delta", "signature": SIGNATURE}
            yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        if answer.say:
            words = [{"type": "text_delta", "text": piece} for piece in pieces(answer.say)]
            yield {"type": "text", "text": ""}, words
        for position, call in enumerate(answer.calls):
            yield self._call(call, position)

    def _call(self, call: FakeCall, position: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        with self._lock:
            made = f"toolu_{len(self.log):03}_{position}"
        start = {
            "type": "tool_use",
            "id": made if call.call_id is None else call.call_id,
            "name": call.name,
            "input": {},
        }
        deltas = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in ["", *pieces(call.sent_arguments)]
        ]
        return start, deltas


def _started(answer: Answer, asked: Asked) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
    }
    if answer.usage is not None:
        usage = answer.usage
        message["usage"] = {
            "input_tokens": usage["sent"] - usage["cached"] - usage["written"],
            "cache_read_input_tokens": usage["cached"],
            "cache_creation_input_tokens": usage["written"],
            "output_tokens": 1,
        }
    return message


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [
        _words(block.get("content", "")) if block["type"] == "tool_result" else block.get("text")
        for block in content
    ]
    return "\n".join(part for part in parts if part)


def _head_refusals(asked: Asked) -> Iterator[str]:
    body = asked.body
    if asked.path != "/v1/messages":
        yield f"no such path: {asked.path}"
    if not asked.headers.get("authorization", "").startswith("Bearer "):
        yield "no key"
    if "anthropic-version" not in asked.headers:
        yield "no anthropic-version"
    if body.get("stream") is not True:
        yield "streaming is required"
    if not (isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0):
        yield "max_tokens: must be a positive number"
    marks = str(body).count("'cache_control'")
    if marks > 4:
        yield f"a maximum of 4 blocks with cache_control may be provided, found {marks}"


def _prompt_refusals(body: dict[str, Any]) -> Iterator[str]:
    for block in body.get("system", []):
        if not block["text"].strip():
            yield "system: text content blocks must be non-empty"
    for tool in body.get("tools", []):
        if not _LEGAL_NAME.fullmatch(tool["name"]) or tool["input_schema"].get("type") != "object":
            yield f"tools: {tool['name']!r} is not valid"


def _message_refusals(messages: list[dict[str, Any]]) -> Iterator[str]:
    if not messages or messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        yield "messages: must start and end with the user"
    seen: set[str] = set()
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        if place and message["role"] == messages[place - 1]["role"]:
            yield f"messages.{place}: roles must alternate"
        blocks = message["content"]
        if not blocks:
            yield f"messages.{place}: content must be non-empty"
        yield from (f"messages.{place}: {text}" for text in _block_refusals(blocks))
        yield from (f"messages.{place}: {text}" for text in _order_refusals(message))
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(open_ids):
            yield f"messages.{place}: tool_use ids {open_ids} were answered by {answered}"
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if seen & set(open_ids) or len(set(open_ids)) != len(open_ids):
            yield f"messages.{place}: tool_use ids must be unique"
        seen |= set(open_ids)


def _block_refusals(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        match block["type"]:
            case "text":
                if not block["text"].strip():
                    yield "text content blocks must contain non-whitespace text"
            case "tool_result":
                yield from _block_refusals(block["content"])
            case "tool_use":
                if not _LEGAL_ID.fullmatch(block["id"]) or not _LEGAL_NAME.fullmatch(block["name"]):
                    yield f"tool_use {block['id']!r} {block['name']!r} is not valid"
                if not isinstance(block["input"], dict):
                    yield "tool_use.input: must be an object"
            case "thinking":
                if block["signature"] != SIGNATURE:
                    yield "Invalid `signature` in `thinking` block"
            case other:
                yield f"unknown block {other!r}"


def _order_refusals(message: dict[str, Any]) -> Iterator[str]:
    kinds = [block["type"] for block in message["content"]]
    if message["role"] == "assistant" and "tool_use" in kinds:
        after = kinds[kinds.index("tool_use") :]
        if set(after) != {"tool_use"}:
            yield f"content follows a tool_use block: {after}"
    if message["role"] == "user":
        results = [kind == "tool_result" for kind in kinds]
        if results != sorted(results, reverse=True):
            yield "tool_result blocks must come first"
