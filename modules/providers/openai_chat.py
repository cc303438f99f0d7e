"""Talks to OpenAI, and to servers that speak its chat completions format, through its SDK.

The SDK keeps the connection, the headers and the key; the request goes to it as ready JSON and the
answer is read as it comes: the SDK's own conversion walks the whole history at every request
(0.46 ms a message) and a compatible server may send what its types do not expect.
"""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from modules.providers.event_stream import read_events
from modules.providers.failures import (
    Failure,
    Refused,
    Service,
    broken_connection,
    read_failure,
    sort_failure,
)
from modules.providers.openai_answer import OpenAiAnswer
from modules.providers.openai_dialect import Dialect, learn
from modules.providers.openai_request import encode_body, encode_message
from modules.providers.well_formed import well_formed
from modules.providers.wire_history import WireHistory
from modules.records.messages import ModelReply, ModelRequest

if TYPE_CHECKING:
    import httpx2
    import openai

_CONNECT_SECONDS = 10.0
_PATH = "/chat/completions"
_STREAMED: bool = True  # a literal True would ask for the SDK's own way of reading the stream
_VENDOR_DOMAIN = "openai.com"
_NO_KEY = "x"  # the SDK insists on a key; a server that needs none ignores it


class OpenAiChat:
    """A provider; the SDK is imported at the first request."""

    def __init__(
        self,
        service: Service,
        *,
        base_url: str,
        dialect: Dialect,
        clock: Callable[[], datetime],
        silence_seconds: float = 300.0,
    ) -> None:
        self._service = service
        self._key = service.key or _NO_KEY
        self._base_url = base_url
        self._dialect = dialect
        self._clock = clock
        self._silence_seconds = silence_seconds
        self._history = WireHistory()
        self._client: openai.AsyncOpenAI | None = None

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        """Returns the whole answer to `request`."""
        origin = f"{self._service.name}:{request.model}"
        response = await self._post_understood(request, origin)
        answer = OpenAiAnswer(request, origin=origin)
        async with contextlib.aclosing(read_events(response)) as events:
            async for chunk in events:
                if chunk.get("error"):
                    raise self._sorted(read_failure(None, chunk, response.headers))
                words = answer.add(chunk)
                if words:
                    on_text(well_formed(words))
        return answer.reply()

    async def close(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.close()

    async def _post_understood(self, request: ModelRequest, origin: str) -> "httpx2.Response":
        """Posts the request, in another dialect where the server complains of its form."""
        dialect, tried = self._dialect, [self._dialect]
        while True:
            try:
                return await self._post(request, origin, dialect)
            except Refused as refused:
                better = _better_dialect(dialect, refused.failure, request)
                if better is None or better in tried:
                    raise self._sorted(refused.failure) from refused
                tried.append(better)
                dialect = self._dialect = better

    async def _post(
        self, request: ModelRequest, origin: str, dialect: Dialect
    ) -> "httpx2.Response":
        client = await self._connected()  # which imports what follows, without blocking
        import httpx2
        import openai

        settled, still_open = self._history.prepare(
            request,
            origin=origin,
            encode=partial(encode_message, dialect=dialect),
            variant=dialect.reasoning_field,
        )
        body = encode_body(request, settled, still_open, dialect)
        try:
            return await client.post(
                _PATH,
                cast_to=httpx2.Response,
                content=body,
                options={"headers": self._headers()},
                stream=_STREAMED,
            )
        except openai.APIStatusError as error:
            headers = error.response.headers
            raise Refused(read_failure(error.status_code, error.body, headers)) from error
        except (openai.APIConnectionError, httpx2.RequestError) as error:
            raise broken_connection(self._service, error) from error

    def _headers(self) -> "dict[str, str | openai.Omit]":
        """Returns headers that come before those the SDK takes from the environment."""
        import openai

        headers: dict[str, str | openai.Omit] = {"Authorization": f"Bearer {self._key}"}
        if _VENDOR_DOMAIN not in self._base_url:
            # Whose account it is is nobody else's business.
            headers |= dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), openai.Omit())
        return headers

    def _sorted(self, failure: Failure) -> Exception:
        return sort_failure(failure, service=self._service, now=self._clock())

    async def _connected(self) -> "openai.AsyncOpenAI":
        if self._client is None:
            # The import takes seconds; in a thread the console and other agents go on meanwhile.
            await asyncio.to_thread(import_module, "openai")
        import httpx2
        import openai

        if self._client is None:
            self._client = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                timeout=httpx2.Timeout(self._silence_seconds, connect=_CONNECT_SECONDS),
                max_retries=0,
            )
        return self._client


def _better_dialect(dialect: Dialect, failure: Failure, request: ModelRequest) -> Dialect | None:
    if failure.status not in (400, 422) or failure.is_overflow:
        return None
    return learn(dialect, failure.text, wanted_tokens=request.max_output_tokens)
