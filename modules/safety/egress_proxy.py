"""The one way out of a jail that has no network: a small proxy in the lead, behind a socket file.

1. It speaks `CONNECT` and plain `GET http://…`; nothing else is understood, so nothing else passes.
2. A host must be among those the person opened (`egress_rules`), and is judged as the gate judges
   an address. Its name is looked up once; every address must be public, and connected is to those
   addresses alone. Whatever a person would have to be asked about is refused.
3. What goes through an open tunnel is not looked at: an open host can be sent anything.
4. A refusal is told to the program inside, with what to do.
"""

import asyncio
import contextlib
import os
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from modules.records.decisions import Risk
from modules.safety.egress_rules import is_open
from modules.safety.ground import Ground
from modules.safety.url_risk import Target, assess_url, read_url
from modules.safety.web_guard import Lookup, look_up

_LONGEST_HEAD_BYTES = 16_384
_HEAD_SECONDS, _CONNECT_SECONDS = 30.0, 10.0
_CHUNK_BYTES = 65_536
_REQUEST = re.compile(r"([A-Z]+) (\S+) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"[^/?#@]+:[0-9]{1,5}")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[str, int], Awaitable[Streams]]
"""Opens a connection to an address."""


class _Refused(Exception):
    """A request that is not let through; the message says why."""


class EgressProxy:
    """Lets jailed processes reach the hosts a person opened, through the socket file `path`."""

    def __init__(
        self,
        path: Path,
        hosts: Sequence[str],
        ground: Ground,
        *,
        lookup: Lookup = look_up,
        dial: Dial = asyncio.open_connection,
    ) -> None:
        self.path = path
        self._hosts = tuple(hosts)
        self._ground = ground
        self._lookup = lookup
        self._dial = dial
        self._server: asyncio.Server | None = None
        self._served: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begins to listen; a socket file a dead lead left is replaced."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(
            self._take, sock=_bound(self.path), limit=_LONGEST_HEAD_BYTES
        )

    async def stop(self) -> None:
        """Ends every connection and stops listening."""
        if self._server is None:
            return
        self._server.close()
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)
        self.path.unlink(missing_ok=True)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._served.add(task)
        task.add_done_callback(self._served.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A program that goes away, or a host that does, ends the one connection.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                await self._answer(reader, writer)
            except _Refused as refused:
                body = f"{refused}\n".encode()
                head = f"HTTP/1.1 403 Forbidden\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                await writer.drain()
            finally:
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.LimitOverrunError) as error:
            raise _Refused("The proxy was sent no request it understands.") from error
        first, _, rest = head.decode("latin-1").partition("\r\n")
        url, forwarded = _read_request(first, rest)
        there = await self._connect(url)
        try:
            if forwarded:
                there[1].write(forwarded.encode("latin-1"))
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _join((reader, writer), there)
        finally:
            there[1].close()

    async def _connect(self, url: str) -> Streams:
        """Returns a connection to one of the addresses that were judged."""
        target, addresses = await self._judge(url)
        for address in addresses:
            with contextlib.suppress(OSError, TimeoutError):  # the next address may answer
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return await self._dial(address, target.port)
        raise _Refused(f"{target.host} can't be reached.")

    async def _judge(self, url: str) -> tuple[Target, tuple[str, ...]]:
        target = read_url(url)
        if isinstance(target, str):
            raise _Refused(f"{url!r} {target}.")
        if not is_open(target.host, target.port, self._hosts):
            raise _Refused(
                f"{target.host}:{target.port} is not open to agents. The person opens hosts in "
                "their own settings, under [sandbox] hosts."
            )
        addresses = tuple(await self._lookup(target.host))
        found = assess_url(url, self._ground, lambda host: addresses)
        if found.risk is not Risk.SAFE:
            raise _Refused(f"{target.host} is not reached: {found.why}.")
        return target, addresses


def _read_request(first: str, rest: str) -> tuple[str, str]:
    """Returns the address a request is for, and what to send there first: nothing for a tunnel."""
    match = _REQUEST.fullmatch(first)
    if match is None:
        raise _Refused("The proxy was sent no request it understands.")
    method, wanted = match.groups()
    if method == "CONNECT" and _AUTHORITY.fullmatch(wanted):
        return f"https://{wanted}/", ""
    target = read_url(wanted)
    if isinstance(target, str) or target.scheme != "http":
        raise _Refused("The proxy takes CONNECT and addresses that begin with http://.")
    path = re.sub(r"(?i)^http://[^/?#]*", "", wanted).partition("#")[0]
    lines = [line for line in rest.split("\r\n") if line and not _is_for_proxy(line)]
    head = [f"{method} {path if path.startswith('/') else f'/{path}'} HTTP/1.1", *lines]
    return wanted, "\r\n".join([*head, "Connection: close", "", ""])


def _is_for_proxy(line: str) -> bool:
    return line.partition(":")[0].strip().lower() in (
        *("connection", "proxy-connection", "proxy-authorization", "keep-alive"),
    )


async def _join(inner: Streams, outer: Streams) -> None:
    """Copies both ways until either side has ended."""
    ways = {
        asyncio.create_task(_copy(inner[0], outer[1])),
        asyncio.create_task(_copy(outer[0], inner[1])),
    }
    try:
        await asyncio.wait(ways)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK_BYTES):
        sink.write(data)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()


def _bound(path: Path) -> socket.socket:
    """Returns a socket at `path`, however long that is: the kernel takes 107 bytes."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return listener
