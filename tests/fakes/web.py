"""A web on loopback: a server that answers what a test wrote, and names that lead to it."""

import datetime
import ssl
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

import httpcore2

LOOPBACK = "127.0.0.1"
PUBLIC = "93.184.216.34"
"""Stands for some public address; a FakeNet leads it to the server."""


@dataclass(frozen=True, kw_only=True)
class WebAnswer:
    """What the server says to requests for one path."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_endless: bool = False
    """The body is sent again and again until nobody reads it."""
    is_slow: bool = False
    """The body comes byte by byte, and never ends."""


class WebServer:
    """Answers on a port of its own; keeps what it was asked for, as `host path`."""

    def __init__(self, pages: Mapping[str, WebAnswer], *, certificate: Path | None = None) -> None:
        self.pages = dict(pages)
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._closing = threading.Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked.append(f"{self.headers['Host']} {self.path}")
                web.headers.append(dict(self.headers.items()))
                web.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def url(self, path: str = "/") -> str:
        """Returns the address of a path by the server's own number."""
        return f"http://{LOOPBACK}:{self.port}{path}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Sends what the test wrote."""
        page = self.pages.get(request.path, WebAnswer(status=404, body=b"not here"))
        request.send_response(page.status)
        for name, value in page.headers.items():
            request.send_header(name, value)
        if not (page.is_endless or page.is_slow or "Content-Length" in page.headers):
            request.send_header("Content-Length", str(len(page.body)))
        request.end_headers()
        try:
            for chunk in self._chunks(page):
                request.wfile.write(chunk)
                request.wfile.flush()
        except OSError:
            return  # the reader has had enough

    def _chunks(self, page: WebAnswer) -> Iterable[bytes]:
        yield page.body
        while page.is_endless and not self._closing.is_set():
            yield page.body
        while page.is_slow and not self._closing.wait(0.05):
            yield b"."

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class FakeNet(httpcore2.AsyncNetworkBackend):
    """Names and addresses: those told lead to a port of loopback, whatever port is asked for."""

    def __init__(
        self, names: Mapping[str, Sequence[Sequence[str]]], routes: Mapping[str, int]
    ) -> None:
        self._names = names
        """For each name what its lookups give, one after the other; the last again and again."""
        self._routes = routes
        self._loopback = httpcore2.AnyIOBackend()
        self.lookups: list[str] = []
        self.dialled: list[str] = []

    async def lookup(self, host: str) -> Sequence[str]:
        """Looks a name up; numbers stand for themselves."""
        answers = self._names.get(host, [[host] if host[0].isdigit() else []])
        answer = answers[min(self.lookups.count(host), len(answers) - 1)]
        self.lookups.append(host)
        return answer

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connects to where an address leads."""
        self.dialled.append(host)
        if host not in self._routes:
            raise httpcore2.ConnectError(f"no route to {host}")
        return await self._loopback.connect_tcp(LOOPBACK, self._routes[host], timeout)


def make_certificate(path: Path, *names: str) -> Path:
    """Writes a certificate for `names` with its key, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
