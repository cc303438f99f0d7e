"""One HTTP request over a connection to addresses that were judged; no name is looked up here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpcore2

from modules.records.errors import ModelFault
from modules.safety.url_risk import Target

if TYPE_CHECKING:
    from modules.safety.web_guard import WebLimits

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HEADERS = (
    (b"User-Agent", b"crewyard"),
    (b"Accept", b"text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8"),
    (b"Accept-Encoding", b"identity"),
    (b"Connection", b"close"),
)
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request; the body is empty where it was not wanted."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """Returns a header's value, empty where there is none."""
        return next((value for key, value in self.headers if key == name), "")


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the given addresses alone, whatever the name."""

    def __init__(
        self, addresses: Sequence[str], dial: httpcore2.AsyncNetworkBackend, seconds: float
    ) -> None:
        self._addresses = addresses
        self._dial = dial
        self._seconds = seconds

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Returns a connection to the first of the addresses that takes one."""
        fault: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in self._addresses:
            try:
                return await self._dial.connect_tcp(
                    address, port, self._seconds, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                fault = error
        raise fault


async def get(
    url: str,
    target: Target,
    addresses: Sequence[str],
    *,
    limits: "WebLimits",
    dial: httpcore2.AsyncNetworkBackend | None,
) -> Answer:
    """Returns the answer of one of `addresses`; raises ModelFault where there is none to take."""
    backend = PinnedBackend(addresses, dial or httpcore2.AnyIOBackend(), limits.connect_seconds)
    try:
        async with (
            httpcore2.AsyncConnectionPool(network_backend=backend) as pool,
            pool.stream("GET", _url(url, target), headers=_headers(target)) as response,
        ):
            headers = tuple(
                (key.decode("latin-1").lower(), _decoded(value)) for key, value in response.headers
            )
            answer = Answer(response.status, headers, b"")
            if 300 <= response.status < 400:
                return answer
            _refuse_packed(url, answer, limits.body_bytes)
            body = bytearray()
            async for chunk in response.aiter_stream():
                body += chunk
                _refuse_large(url, len(body), limits.body_bytes)
            return Answer(response.status, headers, bytes(body))
    except (
        httpcore2.NetworkError,
        httpcore2.TimeoutException,
        httpcore2.ProtocolError,
    ) as error:
        raise ModelFault(
            f"{url!r} can't be fetched: {str(error) or type(error).__name__}."
        ) from error


def _url(url: str, target: Target) -> httpcore2.URL:
    # From the parts that were judged: a second parser could read another host out of the text.
    rest = url.partition("://")[2].partition("#")[0]
    start = next((place for place, sign in enumerate(rest) if sign in "/?"), len(rest))
    path = quote(rest[start:], safe=_VISIBLE)
    return httpcore2.URL(
        scheme=target.scheme,
        host=target.host,
        port=target.port,
        target=path if path.startswith("/") else f"/{path}",
    )


def _headers(target: Target) -> list[tuple[bytes, bytes]]:
    host = f"[{target.host}]" if ":" in target.host else target.host
    if target.port != _DEFAULT_PORTS[target.scheme]:
        host = f"{host}:{target.port}"
    return [(b"Host", host.encode("ascii")), *_HEADERS]


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _refuse_packed(url: str, answer: Answer, limit_bytes: int) -> None:
    encoding = answer.header("content-encoding").strip().lower()
    if encoding not in ("", "identity"):
        raise ModelFault(f"{url!r} came packed ({encoding!r}), though plain text was asked for.")
    length = answer.header("content-length")
    if length.isdecimal():
        _refuse_large(url, int(length), limit_bytes)


def _refuse_large(url: str, size_bytes: int, limit_bytes: int) -> None:
    if size_bytes > limit_bytes:
        raise ModelFault(f"{url!r} is larger than {limit_bytes} bytes, the most that is fetched.")
