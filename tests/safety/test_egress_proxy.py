"""The proxy of jails: what it lets through, what it refuses, and that nothing goes around it."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from modules.safety.child_environment import child_environment
from modules.safety.egress_proxy import EgressProxy, Streams
from modules.safety.jail import JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import jailed_argv
from tests.safety.grounds import worker_ground
from tests.safety.jail_ground import SYSTEM_PATH, Nobody, need

PUBLIC = "93.184.216.34"
ADDRESSES = {
    "good.org": (PUBLIC,),
    "inside.org": ("127.0.0.1",),
    "mixed.org": (PUBLIC, "10.0.0.1"),
    "shut.org": (PUBLIC,),
}
OPEN = ("good.org", "inside.org", "mixed.org", "gone.org", "good.org:8080")


class Place:
    """A proxy before a server on loopback, which stands for every public address."""

    def __init__(self, folder: Path) -> None:
        self.dialled: list[tuple[str, int]] = []
        self.heard: list[bytes] = []
        self.proxy = EgressProxy(
            folder / "egress", OPEN, worker_ground(), lookup=self._look_up, dial=self._dial
        )
        self._server: asyncio.Server | None = None

    async def _look_up(self, host: str) -> Sequence[str]:
        return ADDRESSES.get(host, ())

    async def _dial(self, address: str, port: int) -> Streams:
        self.dialled.append((address, port))
        if self._server is None:
            raise ConnectionRefusedError
        return await asyncio.open_connection(*self._server.sockets[0].getsockname())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            self.heard.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        writer.close()

    async def __aenter__(self) -> "Place":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        await self.proxy.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.proxy.stop()
        if self._server is not None:
            self._server.close()

    async def ask(self, *parts: bytes) -> bytes:
        """Sends parts, each once the one before was answered, and returns the whole answer."""
        reader, writer = await asyncio.open_unix_connection(self.proxy.path)
        answer = b""
        for part in parts[:-1]:
            writer.write(part)
            answer += await reader.readuntil(b"\r\n\r\n")
        writer.write(parts[-1])
        answer += await reader.read()
        writer.close()
        return answer


@pytest.fixture
def folder() -> Iterator[Path]:
    # Outside of /tmp, which the jail has for its own.
    made = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="crewyard-test-"))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def within(folder: Path, act: Callable[[Place], Awaitable[bytes]]) -> tuple[bytes, Place]:
    async def run() -> tuple[bytes, Place]:
        async with asyncio.timeout(20), Place(folder) as place:
            return await act(place), place

    return asyncio.run(run())


def test_tunnel_to_an_open_host_is_made_to_the_judged_address(folder: Path) -> None:
    answer, place = within(
        folder,
        lambda place: place.ask(b"CONNECT good.org:443 HTTP/1.1\r\n\r\n", b"in the tunnel\r\n\r\n"),
    )

    assert answer.startswith(b"HTTP/1.1 200 Connection established")
    assert answer.endswith(b"hello")
    assert (place.dialled, place.heard) == ([(PUBLIC, 443)], [b"in the tunnel\r\n\r\n"])


def test_plain_request_is_passed_on_without_what_is_for_the_proxy(folder: Path) -> None:
    request = (
        b"GET http://good.org:8080/a?b#c HTTP/1.1\r\nHost: good.org:8080\r\n"
        b"Proxy-Authorization: secret\r\nConnection: keep-alive\r\n\r\n"
    )

    answer, place = within(folder, lambda place: place.ask(request))

    assert answer.endswith(b"hello")
    assert place.dialled == [(PUBLIC, 8080)]
    assert place.heard == [b"GET /a?b HTTP/1.1\r\nHost: good.org:8080\r\nConnection: close\r\n\r\n"]


@pytest.mark.parametrize(
    ("request_line", "why"),
    [
        (b"CONNECT shut.org:443 HTTP/1.1", b"is not open to agents"),
        (b"CONNECT good.org:22 HTTP/1.1", b"is not open to agents"),
        (b"CONNECT good.org.evil.com:443 HTTP/1.1", b"is not open to agents"),
        (b"CONNECT inside.org:443 HTTP/1.1", b"no public address"),
        (b"CONNECT mixed.org:443 HTTP/1.1", b"no public address"),
        (b"CONNECT gone.org:443 HTTP/1.1", b"has no address"),
        (b"CONNECT 127.0.0.1:443 HTTP/1.1", b"is not open to agents"),
        (b"CONNECT 2130706433:443 HTTP/1.1", b"malformed host"),
        (b"CONNECT user@good.org:443 HTTP/1.1", b"takes CONNECT"),
        (b"GET http://shut.org/ HTTP/1.1", b"is not open to agents"),
        (b"GET http://inside.org/ HTTP/1.1", b"no public address"),
        (b"GET https://good.org/ HTTP/1.1", b"takes CONNECT"),
        (b"GET / HTTP/1.1", b"takes CONNECT"),
        (b"\x16\x03\x01 TLS", b"no request it understands"),
        (b"GET http://good.org/" + b"a" * 20_000 + b" HTTP/1.1", b"no request it understands"),
    ],
)
def test_anything_else_is_refused_before_anybody_is_dialled(
    folder: Path, request_line: bytes, why: bytes
) -> None:
    answer, place = within(folder, lambda place: place.ask(request_line + b"\r\n\r\n"))

    assert answer.startswith(b"HTTP/1.1 403 Forbidden")
    assert why in answer
    assert place.dialled == []


def test_socket_file_of_a_dead_lead_is_replaced_and_goes_with_the_proxy(folder: Path) -> None:
    (folder / "egress").write_text("left")

    _, place = within(
        folder, lambda place: place.ask(b"CONNECT good.org:443 HTTP/1.1\r\n\r\n", b"\r\n\r\n")
    )

    assert not place.proxy.path.exists()


PROGRAM = """
import os, socket, urllib.request
def tried(act):
    try:
        return act()
    except OSError as error:
        return type(error).__name__ + ' ' + str(getattr(error, 'code', ''))
def direct():
    socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 5)
    return 'connected'
print(tried(direct))
for host in ('good.org', 'shut.org', 'inside.org'):
    url = f'http://{host}/'
    print(host, tried(lambda: urllib.request.urlopen(url, timeout=10).read().decode()))
"""


@pytest.mark.slow
def test_jail_reaches_open_hosts_through_the_proxy_and_nothing_else(folder: Path) -> None:
    need(SandboxKind.BWRAP)

    async def run(network: str) -> list[str]:
        async with asyncio.timeout(60), Place(folder) as place:
            listener = await asyncio.start_server(
                lambda reader, writer: writer.close(), "127.0.0.1"
            )
            port = listener.sockets[0].getsockname()[1]
            spec = JailSpec(
                folder=folder / "work",
                temporary=folder / "tmp",
                network="proxy" if network == "proxy" else "shared",
                egress=place.proxy.path,
            )
            spec.folder.mkdir(exist_ok=True)
            prepare_jail(spec, SandboxKind.BWRAP, person=Nobody())
            variables = {"PATH": SYSTEM_PATH}
            environment = child_environment(variables, temporary=spec.temporary, network="proxy")
            process = await asyncio.create_subprocess_exec(
                *jailed_argv([sys.executable, "-c", PROGRAM], spec, SandboxKind.BWRAP),
                env=environment | {"PORT": str(port)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
            out, _ = await process.communicate()
            listener.close()
            return out.decode().splitlines()

    assert asyncio.run(run("shared"))[0] == "connected"
    assert asyncio.run(run("proxy")) == [
        "ConnectionRefusedError ",
        "good.org hello",
        "shut.org HTTPError 403",
        "inside.org HTTPError 403",
    ]
