"""The fakes refuse what the real services refuse: a test that passes on them proves something."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.anthropic_server import SIGNATURE, AnthropicServer
from tests.fakes.model_server import Answer, ModelServer
from tests.fakes.openai_server import OpenAiServer

_HEADERS = {"authorization": "Bearer k", "anthropic-version": "1", "content-type": "text/json"}


def post(server: ModelServer, path: str, body: bytes) -> tuple[int, str]:
    url = f"http://127.0.0.1:{server.port}{path}"
    try:
        asked = urllib.request.Request(url, data=body, headers=_HEADERS)
        with urllib.request.urlopen(asked, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def post_anthropic(messages: list[Any], **fields: Any) -> tuple[int, str]:
    body = {"model": "m", "max_tokens": 9, "stream": True, "messages": messages, **fields}
    with AnthropicServer([Answer(say="hello")]) as server:
        return post(server, "/v1/messages", json.dumps(body).encode())


def post_openai(messages: list[Any], **fields: Any) -> tuple[int, str]:
    body = {"model": "m", "max_tokens": 9, "stream": True, "messages": messages, **fields}
    with OpenAiServer([Answer(say="hello")]) as server:
        return post(server, "/v1/chat/completions", json.dumps(body).encode())


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str = "x") -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(use_id: str = "a", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": use_id, "name": "bash", "input": {}, **fields}


def result(use_id: str = "a", words: str = "x") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": use_id, "content": [text(words)]}


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([user(text()), assistant(use()), user(text("hello"))], "were answered by []"),
        ([user(text()), assistant(use()), user(result(), result())], "were answered by"),
        ([user(text()), assistant(use()), user(text(), result())], "must come first"),
        ([user(text()), assistant(use(), text()), user(result())], "follows a tool_use"),
        ([user(text()), assistant(text(" ")), user(text())], "non-whitespace"),
        ([user(text()), assistant(use()), user(result(words=""))], "non-whitespace"),
        ([user(text()), user(text())], "alternate"),
        ([assistant(text()), user(text())], "start and end"),
        ([user(text()), assistant(text())], "start and end"),
        ([user(text()), assistant(use(input=[])), user(result())], "must be an object"),
        ([user(text()), assistant(use("a:b")), user(result("a:b"))], "not valid"),
        ([user(text("\ud800"))], "not valid Unicode"),
        (
            [user(text()), assistant({"type": "thinking", "signature": "forged"}), user(text())],
            "Invalid `signature`",
        ),
    ],
    ids=[
        "unanswered",
        "answered twice",
        "words first",
        "words after a call",
        "blank words",
        "blank output",
        "same role",
        "model first",
        "model last",
        "input is a list",
        "foreign id",
        "lone surrogate",
        "forged thinking",
    ],
)
def test_the_anthropic_fake_refuses_what_anthropic_refuses(
    messages: list[Any], complaint: str
) -> None:
    status, body = post_anthropic(messages)

    assert status == 400
    assert complaint in body


def test_the_anthropic_fake_takes_a_sound_request() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": SIGNATURE}

    status, body = post_anthropic(
        [user(text()), assistant(thought, text(), use()), user(result(), text())]
    )

    assert status == 200
    assert "message_stop" in body


def spoken(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **fields}


def openai_call(call_id: str = "a", arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "bash", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


HELLO = {"role": "user", "content": "hello"}
HEARD = {"role": "tool", "tool_call_id": "a", "content": "x"}


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([HELLO, spoken(tool_calls=[openai_call()]), HELLO], "did not have response"),
        ([HELLO, spoken(tool_calls=[openai_call()])], "did not have response"),
        ([HELLO, spoken(tool_calls=[openai_call()]), HEARD, HEARD], "answers no call"),
        ([HELLO, spoken(), HELLO], "non-empty"),
        ([HELLO, HELLO], "alternate"),
        ([HELLO, spoken(content="x")], "must end"),
        ([HELLO, spoken(tool_calls=[openai_call("")]), HEARD], "is empty or used twice"),
        ([HELLO, spoken(tool_calls=[openai_call(arguments="[]")]), HEARD], "must be an object"),
        ([{"role": "user", "content": "\ud800"}], "not valid Unicode"),
    ],
    ids=[
        "unanswered",
        "unanswered at the end",
        "answered twice",
        "empty",
        "same role",
        "model last",
        "no id",
        "arguments are a list",
        "lone surrogate",
    ],
)
def test_the_openai_fake_refuses_what_openai_refuses(messages: list[Any], complaint: str) -> None:
    status, body = post_openai(messages)

    assert status == 400
    assert complaint in body


def test_the_openai_fake_takes_a_sound_request() -> None:
    status, body = post_openai([HELLO, spoken(tool_calls=[openai_call()]), HEARD])

    assert status == 200
    assert body.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("make", [AnthropicServer, OpenAiServer], ids=["anthropic", "openai"])
def test_the_log_counts_requests_that_are_open_at_once(
    make: Callable[..., ModelServer],
) -> None:
    both_in = threading.Barrier(2)

    def answer(asked: object) -> Answer:
        both_in.wait(10)
        return Answer(say="hello")

    with make(answer, is_strict=False) as server:
        path = "/v1/messages"
        threads = [
            threading.Thread(target=post, args=(server, path, b'{"messages": []}'))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)

        assert server.wait_until_idle()
        assert server.most_open == 2
        assert all(logged.ended_at is not None for logged in server.log)
