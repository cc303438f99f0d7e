"""A model server on a loopback port, for programs that talk to it through a real SDK.

What both wire formats share: the answers a test writes, the faults it can ask for, and the log of
what was asked. A strict server refuses with 400 whatever the real service would refuse.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

_HANGS_SECONDS = 60.0


class Ending(StrEnum):
    """How an answer's transport ends."""

    WHOLE = "whole"
    TRUNCATED = "truncated"
    """The body ends properly, but before the answer does."""
    RESET = "reset"
    """The connection is reset inside the answer."""
    RESET_AT_ONCE = "reset_at_once"
    """The connection is reset before a status."""
    ERROR_EVENT = "error_event"
    """An error is told inside the stream."""
    TORN_CHARACTER = "torn_character"
    """The body ends properly, inside a line and inside a character."""
    GARBAGE = "garbage"
    """A web page in place of a stream, with status 200."""
    SILENCE = "silence"
    """Nothing more comes, and the connection stays open until the client or the test goes."""


@dataclass(frozen=True, kw_only=True)
class FakeCall:
    """A tool call of an answer."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    call_id: str | None = None
    """None: one is made; empty: none is sent."""
    arguments: str | None = None
    """The arguments as sent, when they are not the JSON of `input`."""

    @property
    def sent_arguments(self) -> str:
        """The arguments' text on the wire."""
        return json.dumps(self.input) if self.arguments is None else self.arguments


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server says to one request."""

    say: str = ""
    calls: tuple[FakeCall, ...] = ()
    reasoning: str = ""
    stop: str = ""
    """The wire's stop reason; empty: what fits."""
    usage: Mapping[str, int] | None = field(
        default_factory=lambda: {"sent": 100, "cached": 40, "written": 10, "answered": 7}
    )
    """None: no figures are told."""
    delay_seconds: float = 0.0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error_type: str = "invalid_request_error"
    error_text: str = "refused by the test"
    ending: Ending = Ending.WHOLE
    sent_events: int | None = None
    """How many events go out before the ending; None: all but the last ones that end an answer."""
    events: tuple[Any, ...] | None = None
    """The wire's own events, when they are not made from the fields above."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request, as a test looks at it."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    path: str
    system: str
    newest: str
    """Words and tool outputs of everything after the last assistant message."""
    turns: int
    """How many assistant messages there are."""

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.body.get("model"))

    @property
    def tools(self) -> list[str]:
        """The names of the tools the model is told of."""
        return [tool.get("name") or tool["function"]["name"] for tool in self.body.get("tools", [])]


@dataclass(kw_only=True)
class Logged:
    """One request in the log; times are of the monotonic clock."""

    asked: Asked
    complaints: tuple[str, ...]
    arrived_at: float
    ended_at: float | None = None
    """None while it is being answered."""


class ModelServer:
    """What a wire format fills in: how to read a request, what to refuse, how to stream an answer.

    `answers` is asked for each request, or used up in order; the last one then stays. Entering
    starts the server, leaving stops it.
    """

    ended_by: int
    """How many of an answer's last events say that it ended."""

    def __init__(
        self, answers: Callable[[Asked], Answer] | Sequence[Answer], *, is_strict: bool = True
    ) -> None:
        self.log: list[Logged] = []
        self.most_open = 0
        """The most requests that were open at once."""
        self._answers = answers
        self._is_strict = is_strict
        self._lock = threading.Lock()
        self._is_idle = threading.Condition(self._lock)
        self._open = 0
        self._used = 0
        self._stopping = threading.Event()
        self._server = _Server(self)

    @property
    def port(self) -> int:
        """The loopback port."""
        return int(self._server.server_address[1])

    @property
    def asked(self) -> list[Asked]:
        """All requests so far, oldest first."""
        with self._lock:
            return [logged.asked for logged in self.log]

    @property
    def complaints(self) -> list[str]:
        """What was wrong with all requests so far."""
        with self._lock:
            return [text for logged in self.log for text in logged.complaints]

    def wait_until_idle(self, limit_seconds: float = 10.0) -> bool:
        """Returns whether all requests so far are answered and logged, within the limit."""
        with self._is_idle:
            return self._is_idle.wait_for(lambda: self._open == 0, limit_seconds)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()

    # What a wire format fills in.

    def read(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> Asked:
        """Returns a request as a test looks at it."""
        raise NotImplementedError

    def refusals(self, asked: Asked) -> list[str]:
        """Returns what the real service would refuse the request for."""
        raise NotImplementedError

    def encode(self, answer: Answer, asked: Asked) -> list[bytes]:
        """Returns the events of an answer, ready to send."""
        raise NotImplementedError

    def error_body(self, answer: Answer) -> dict[str, Any]:
        """Returns the body of an error answer, and of an error event."""
        raise NotImplementedError

    # What one request goes through; called on a thread of its own.

    def handle(self, handler: "_Handler") -> None:
        """Answers one request."""
        arrived_at = time.monotonic()
        raw = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        body, faults = _parsed(raw)
        asked = self.read(body, dict(handler.headers.items()), handler.path)
        faults += self.refusals(asked) if not faults else []
        logged = Logged(asked=asked, complaints=tuple(faults), arrived_at=arrived_at)
        with self._lock:
            self.log.append(logged)
            self._open += 1
            self.most_open = max(self.most_open, self._open)
        try:
            if faults and self._is_strict:
                answer = Answer(status=400, error_text="; ".join(faults))
            else:
                answer = self._next(asked)
            self._stopping.wait(answer.delay_seconds)
            self._send(handler, answer, asked)
        finally:
            with self._lock:
                self._open -= 1
                logged.ended_at = time.monotonic()
                self._is_idle.notify_all()

    def _next(self, asked: Asked) -> Answer:
        if callable(self._answers):
            return self._answers(asked)
        with self._lock:
            answer = self._answers[min(self._used, len(self._answers) - 1)]
            self._used += 1
            return answer

    def _send(self, handler: "_Handler", answer: Answer, asked: Asked) -> None:
        if answer.ending is Ending.RESET_AT_ONCE:
            handler.reset()
        elif answer.status != 200 and answer.ending is Ending.RESET:
            handler.send_whole(answer.status, b"{", {"content-length": "99"})
            handler.reset()
        elif answer.status != 200:
            handler.send_whole(
                answer.status, json.dumps(self.error_body(answer)).encode(), answer.headers
            )
        elif answer.ending is Ending.GARBAGE:
            handler.send_whole(200, b"<html>It works!</html>", {"content-type": "text/html"})
        else:
            self._stream(handler, answer, self.encode(answer, asked))

    def _stream(self, handler: "_Handler", answer: Answer, events: list[bytes]) -> None:
        count = len(events)
        if answer.ending is not Ending.WHOLE:
            count -= self.ended_by
        if answer.sent_events is not None:
            count = answer.sent_events
        handler.begin_stream(answer.headers)
        for event in events[:count]:
            handler.send_chunk(event)
        match answer.ending:
            case Ending.RESET:
                handler.reset()
                return
            case Ending.ERROR_EVENT:
                handler.send_chunk(server_event(self.error_body(answer), name="error"))
            case Ending.TORN_CHARACTER:
                handler.send_chunk('data: {"type": "é'.encode()[:-1])
            case Ending.SILENCE:
                self._stopping.wait(_HANGS_SECONDS)
                handler.reset()
                return
            case _:
                pass
        handler.end_stream()


def server_event(data: Any, *, name: str = "") -> bytes:
    """Returns one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str, count: int = 3) -> list[str]:
    """Returns a text in a few pieces."""
    size = max(1, -(-len(text) // count))
    return [text[at : at + size] for at in range(0, len(text), size)]


def surrogate_faults(value: Any) -> list[str]:
    """Returns a complaint for each text in a JSON value that is no Unicode."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return [f"not valid Unicode: {value!r}"]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in surrogate_faults(part)]
    if isinstance(value, list):
        return [text for item in value for text in surrogate_faults(item)]
    return []


def _parsed(raw: bytes) -> tuple[dict[str, Any], list[str]]:
    try:
        body = json.loads(raw.decode())
    except ValueError as error:
        return {}, [f"the body is no JSON: {error}"]
    if not isinstance(body, dict):
        return {}, ["the body is no object"]
    return body, surrogate_faults(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # with the usual 5 a crew that starts at once waits a second

    def __init__(self, owner: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    # Without this the last small packet of an answer waits 40 ms for the client's acknowledgement.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        try:
            self.server.owner.handle(self)
        except (BrokenPipeError, ConnectionResetError):
            # The client went away, which is its right: that is what a cancelled request does.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the log that counts is the server's."""

    def send_whole(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        told = {"content-type": "application/json", "content-length": str(len(body)), **headers}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self, headers: Mapping[str, str]) -> None:
        self.send_response(200)
        for name, value in {"content-type": "text/event-stream", **headers}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def reset(self) -> None:
        """Ends the connection with a TCP reset."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The descriptor is freed, and the reset sent, when its last owner lets go of it.
        self.rfile.close()
        self.connection.close()
