"""OpenAI's chat completions, and compatible servers' ways with it, on a loopback port."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from tests.fakes.model_server import Answer, Asked, ModelServer, pieces, server_event


class OpenAiServer(ModelServer):
    """Speaks `POST /v1/chat/completions`, streaming only.

    `reasoning` says what it thinks of `reasoning_content` in assistant messages once it has given
    some itself.
    """

    ended_by = 3

    def __init__(
        self,
        answers: Callable[[Asked], Answer] | Sequence[Answer],
        *,
        is_strict: bool = True,
        max_tokens_field: str = "max_tokens",
        reasoning: Literal["ignored", "required", "forbidden"] = "ignored",
    ) -> None:
        super().__init__(answers, is_strict=is_strict)
        self._max_tokens_field = max_tokens_field
        self._reasoning = reasoning

    @property
    def base_url(self) -> str:
        """What `OPENAI_BASE_URL` is set to."""
        return f"http://127.0.0.1:{self.port}/v1"

    def read(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> Asked:
        messages = body.get("messages", [])
        said = [message for message in messages if message["role"] != "system"]
        spoken = [place for place, message in enumerate(said) if message["role"] == "assistant"]
        newest = said[spoken[-1] + 1 :] if spoken else said
        return Asked(
            body=body,
            headers={name.lower(): value for name, value in headers.items()},
            path=path,
            system="\n".join(m["content"] for m in messages if m["role"] == "system"),
            newest="\n".join(message["content"] for message in newest),
            turns=len(spoken),
        )

    def refusals(self, asked: Asked) -> list[str]:
        messages = asked.body.get("messages", [])
        return [
            *self._head_refusals(asked),
            *self._reasoning_refusals(messages),
            *_message_refusals(messages),
        ]

    def encode(self, answer: Answer, asked: Asked) -> list[bytes]:
        chunks = answer.events if answer.events is not None else self._chunks(answer)
        # What is no object is sent as it stands.
        return [
            *(c if isinstance(c, bytes) else server_event(c) for c in chunks),
            b"data: [DONE]\n\n",
        ]

    def error_body(self, answer: Answer) -> dict[str, Any]:
        return {"error": {"message": answer.error_text, "type": answer.error_type, "code": None}}

    def _chunks(self, answer: Answer) -> Iterator[dict[str, Any]]:
        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(answer.reasoning) if answer.reasoning else ():
            yield chunk({"reasoning_content": piece})
        for piece in pieces(answer.say) if answer.say else ():
            yield chunk({"content": piece})
        for index, call in enumerate(answer.calls):
            with self._lock:
                made = f"call_{len(self.log):03}_{index}"
            call_id = made if call.call_id is None else call.call_id
            function = {"name": call.name, "arguments": ""}
            yield call_piece(index=index, id=call_id, type="function", function=function)
            for piece in pieces(call.sent_arguments):
                yield call_piece(index=index, function={"arguments": piece})
        stop = answer.stop or ("tool_calls" if answer.calls else "stop")
        yield chunk({}, finish_reason=stop)
        yield {"choices": [], "usage": _usage(answer)}

    def _head_refusals(self, asked: Asked) -> Iterator[str]:
        body = asked.body
        if asked.path != "/v1/chat/completions":
            yield f"no such path: {asked.path}"
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            yield "no key"
        if body.get("stream") is not True:
            yield "streaming is required"
        other = {"max_tokens", "max_completion_tokens"} - {self._max_tokens_field}
        for name in other & set(body):
            yield (
                f"Unsupported parameter: '{name}' is not supported with this model. "
                f"Use '{self._max_tokens_field}' instead."
            )
        if body.get("tools") == []:
            yield "[] is too short - 'tools'"

    def _reasoning_refusals(self, messages: list[dict[str, Any]]) -> Iterator[str]:
        for place, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            has_it = "reasoning_content" in message
            if self._reasoning == "required" and not has_it:
                yield f"messages[{place}]: reasoning_content must be passed back to the API"
            if self._reasoning == "forbidden" and has_it:
                yield f"messages[{place}]: extra field reasoning_content is not permitted"


def chunk(delta: Any, *, finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """Returns one chunk with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **fields}


def call_piece(**piece: Any) -> dict[str, Any]:
    """Returns a chunk with a piece of a tool call."""
    return chunk({"tool_calls": [piece]})


def _usage(answer: Answer) -> dict[str, Any] | None:
    if answer.usage is None:
        return None
    return {
        "prompt_tokens": answer.usage["sent"],
        "completion_tokens": answer.usage["answered"],
        "prompt_tokens_details": {
            "cached_tokens": answer.usage["cached"],
            "cache_write_tokens": answer.usage["written"],
        },
    }


def _message_refusals(messages: list[dict[str, Any]]) -> Iterator[str]:
    if not messages or messages[-1]["role"] == "assistant":
        yield "messages: must end with the user or a tool"
    open_ids: list[str] = []
    seen: set[str] = set()
    previous = ""
    for place, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_ids:
                yield f"messages.{place}: answers no call: {message['tool_call_id']!r}"
            else:
                open_ids.remove(message["tool_call_id"])
        elif open_ids:
            yield f"messages.{place}: tool_call_ids did not have response messages: {open_ids}"
            open_ids = []
        if role == previous and role != "tool":
            yield f"messages.{place}: roles must alternate"
        if role == "system" and place:
            yield f"messages.{place}: the system message must come first"
        calls = message.get("tool_calls", [])
        if not calls and not (message.get("content") or "").strip():
            yield f"messages.{place}: content must be non-empty"
        yield from (f"messages.{place}: {text}" for text in _call_refusals(calls, seen))
        open_ids += [call["id"] for call in calls]
        previous = role
    if open_ids:
        yield f"messages: tool_call_ids did not have response messages: {open_ids}"


def _call_refusals(calls: list[dict[str, Any]], seen: set[str]) -> Iterator[str]:
    for call in calls:
        if not call["id"] or call["id"] in seen:
            yield f"tool call id {call['id']!r} is empty or used twice"
        seen.add(call["id"])
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            yield "tool call arguments must be an object"
        if not call["function"]["name"]:
            yield "tool call name is empty"
