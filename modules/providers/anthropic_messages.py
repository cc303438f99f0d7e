"""Talks to Anthropic's Messages API through the official SDK.

The SDK keeps the connection, the headers and the key; the request goes to it as ready JSON and the
answer is read as it comes, because its own conversion costs more with every message of the history.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING

from modules.providers.anthropic_answer import AnthropicAnswer
from modules.providers.anthropic_request import encode_body, encode_message
from modules.providers.event_stream import read_events
from modules.providers.failures import (
    Failure,
    Refused,
    Service,
    broken_connection,
    read_failure,
    sort_failure,
)
from modules.providers.well_formed import well_formed
from modules.providers.wire_history import WireHistory
from modules.records.messages import ModelReply, ModelRequest, Reasoning

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

_CONNECT_SECONDS = 10.0
_PATH = "/v1/messages"
_STREAMED: bool = True  # a literal True would ask for the SDK's own way of reading the stream
_REASONING_REFUSED = re.compile(r"\bthinking\b.*\b(?:signature|block)|\bsignature\b", re.IGNORECASE)


class AnthropicMessages:
    """A provider; the SDK is imported at the first request."""

    def __init__(
        self,
        service: Service,
        *,
        base_url: str,
        clock: Callable[[], datetime],
        silence_seconds: float = 300.0,
    ) -> None:
        self._service = service
        self._base_url = base_url
        self._clock = clock
        self._silence_seconds = silence_seconds
        self._history = WireHistory(binds_reasoning=True)
        self._client: AsyncAnthropic | None = None

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        """Returns the whole answer to `request`."""
        origin = f"{self._service.name}:{request.model}"
        try:
            response = await self._post(request, origin)
        except Refused as refused:
            if not _is_about_reasoning(refused.failure, request):
                raise self._sorted(refused.failure) from refused
            self._history.drop_reasoning(request, origin=origin)
            response = await self._post_again(request, origin)
        return await self._read(response, AnthropicAnswer(request, origin=origin), on_text)

    async def close(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.close()

    async def _post(self, request: ModelRequest, origin: str) -> "httpx2.Response":
        client = await self._connected()  # which imports what follows, without blocking
        import anthropic
        import httpx2

        settled, still_open = self._history.prepare(request, origin=origin, encode=encode_message)
        body = encode_body(request, settled, still_open)
        try:
            return await client.post(
                _PATH,
                cast_to=httpx2.Response,
                content=body,
                # These come before headers the SDK takes from the environment.
                options={"headers": {"Authorization": f"Bearer {self._service.key}"}},
                stream=_STREAMED,
            )
        except anthropic.APIStatusError as error:
            headers = error.response.headers
            raise Refused(read_failure(error.status_code, error.body, headers)) from error
        except (anthropic.APIConnectionError, httpx2.RequestError) as error:
            raise broken_connection(self._service, error) from error

    async def _post_again(self, request: ModelRequest, origin: str) -> "httpx2.Response":
        try:
            return await self._post(request, origin)
        except Refused as refused:
            raise self._sorted(refused.failure) from refused

    async def _read(
        self, response: "httpx2.Response", answer: AnthropicAnswer, on_text: Callable[[str], None]
    ) -> ModelReply:
        async with contextlib.aclosing(read_events(response)) as events:
            async for event in events:
                if event.get("type") == "error":
                    raise self._sorted(read_failure(None, event, response.headers))
                words = answer.add(event)
                if words:
                    on_text(well_formed(words))
        return answer.reply()

    def _sorted(self, failure: Failure) -> Exception:
        return sort_failure(failure, service=self._service, now=self._clock())

    async def _connected(self) -> "AsyncAnthropic":
        if self._client is None:
            # The import takes seconds; in a thread the console and other agents go on meanwhile.
            await asyncio.to_thread(import_module, "anthropic")
        import anthropic
        import httpx2

        if self._client is None:
            self._client = anthropic.AsyncAnthropic(
                api_key=self._service.key,
                base_url=self._base_url,
                timeout=httpx2.Timeout(self._silence_seconds, connect=_CONNECT_SECONDS),
                max_retries=0,
            )
        return self._client


def _is_about_reasoning(failure: Failure, request: ModelRequest) -> bool:
    """Returns whether the server takes reasoning in the history for somebody else's."""
    return (
        failure.status == 400
        and bool(_REASONING_REFUSED.search(failure.text))
        and any(isinstance(block, Reasoning) for m in request.messages for block in m.blocks)
    )
