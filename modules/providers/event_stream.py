"""Reads a streamed answer: server-sent events to JSON objects.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html. Only `data` matters here;
both wire formats name the event inside it. A server that streams nothing and answers with one JSON
object is understood as well. Whatever ends the reading early is a TransientFault.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any

from modules.records.errors import TransientFault

if TYPE_CHECKING:
    import httpx2

_DONE = b"[DONE]"
_LAST_EVENT = "message_stop"
_DRAIN_SECONDS = 0.5


class EventStream:
    """Cuts bytes into the data of events."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Takes the next bytes and returns the data of the events they complete."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [data for line in lines if (data := self._take(line.removesuffix(b"\r")))]

    def finish(self) -> list[bytes]:
        """Returns what the stream's end completes: an event without its blank line."""
        data = [self._take(self._rest), self._take(b"")]
        return [item for item in data if item]

    def _take(self, line: bytes) -> bytes:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data = b"\n".join(self._data)
            self._data = []
            return data
        return b""


async def read_events(response: "httpx2.Response") -> AsyncGenerator[dict[str, Any], None]:
    """Yields the JSON objects of a streamed answer until its end, and closes the response."""
    import httpx2  # comes with the vendor SDKs, which are imported when first needed

    try:
        async with contextlib.aclosing(_objects(response)) as objects:
            async for event in objects:
                yield event
    except httpx2.TimeoutException as error:
        raise TransientFault("The model sent nothing for too long.") from error
    except httpx2.RequestError as error:
        reason = str(error) or type(error).__name__
        raise TransientFault(f"The connection to the model broke: {reason}.") from error
    finally:
        await response.aclose()


async def _objects(response: "httpx2.Response") -> AsyncGenerator[dict[str, Any], None]:
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/html"):
        raise TransientFault("The server sent a web page; its base URL may be wrong.")
    if kind.startswith("application/json"):
        yield _decoded(await response.aread())
        return
    stream, chunks = EventStream(), response.aiter_bytes()
    async for chunk in chunks:
        for data in stream.feed(chunk):
            event = {"type": _LAST_EVENT} if data == _DONE else _decoded(data)
            yield event
            if event.get("type") == _LAST_EVENT:
                await _drain(chunks)
                return
    for data in stream.finish():
        yield {"type": _LAST_EVENT} if data == _DONE else _decoded(data)


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise TransientFault("The model's answer could not be read: it is not JSON.") from error
    return event if isinstance(event, dict) else {}


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Reads the end of the body, so the connection can be used again."""
    import httpx2

    # The answer is whole: a body that never ends, or ends badly, costs its connection alone.
    with contextlib.suppress(TimeoutError, httpx2.RequestError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
