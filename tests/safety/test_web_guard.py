"""Every attack runs against a real server on loopback; what guards nothing falls for it."""

import asyncio
import gzip
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from modules.records.errors import ModelFault
from modules.records.web import Elsewhere, Page
from modules.safety.ground import Ground
from modules.safety.web_guard import WebGuard, WebLimits, look_up
from tests.fakes.web import (
    LOOPBACK,
    PUBLIC,
    FakeNet,
    WebAnswer,
    WebServer,
    make_certificate,
)

QUICK = WebLimits(total_seconds=3.0, connect_seconds=1.0)
HTML = {"Content-Type": "text/html; charset=utf-8"}
SECRET = b"what only this machine may see"


def ground(*allowed: str) -> Ground:
    nowhere = Path("/nowhere")
    return Ground(
        root=nowhere,
        main_checkout=nowhere,
        home=nowhere,
        user_folder=nowhere,
        allowed_hosts=allowed,
    )


def redirect(location: str, status: int = 302) -> WebAnswer:
    return WebAnswer(status=status, headers={"Location": location})


def fetch(
    url: str,
    net: FakeNet | None = None,
    *,
    allowed: Sequence[str] = (),
    limits: WebLimits = QUICK,
) -> Page | Elsewhere:
    lookup = look_up if net is None else net.lookup
    return asyncio.run(
        WebGuard(ground(*allowed), limits=limits, lookup=lookup, dial=net).fetch(url)
    )


def refused(url: str, net: FakeNet | None = None, *, allowed: Sequence[str] = ()) -> str:
    with pytest.raises(ModelFault) as caught:
        fetch(url, net, allowed=allowed)
    return str(caught.value)


def unguarded(url: str) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=5) as answer:
        content: bytes = answer.read()
    return content


def named(server: WebServer, names: Mapping[str, Sequence[Sequence[str]]]) -> FakeNet:
    """Returns a net in which the public address and loopback both lead to the server."""
    return FakeNet(names, {PUBLIC: server.port, LOOPBACK: server.port})


def test_page_of_a_public_name_is_fetched_by_its_name() -> None:
    pages = {"/a?b=c": WebAnswer(headers=HTML, body=b"<p>hello</p>")}
    with WebServer(pages) as server:
        net = named(server, {"docs.example.org": [[PUBLIC]]})

        page = fetch("http://docs.example.org/a?b=c#part", net)

    assert page == Page(
        url="http://docs.example.org/a?b=c#part",
        status=200,
        content_type="text/html",
        charset="utf-8",
        body=b"<p>hello</p>",
    )
    assert server.asked == ["docs.example.org /a?b=c"]
    assert net.dialled == [PUBLIC]


def test_loopback_is_refused_and_fetched_once_the_person_opened_it() -> None:
    with WebServer({"/": WebAnswer(headers=HTML, body=SECRET)}) as server:
        assert unguarded(server.url()) == SECRET
        server.asked.clear()

        why = refused(server.url())
        opened = fetch(server.url(), allowed=[f"{LOOPBACK}:{server.port}"])

    assert "port" in why
    assert isinstance(opened, Page)
    assert opened.body == SECRET
    assert server.asked == [f"{LOOPBACK}:{server.port} /"]


def test_name_that_leads_elsewhere_the_second_time_is_looked_up_once() -> None:
    pages = {"/": WebAnswer(headers=HTML, body=b"the public page")}
    with WebServer(pages) as public, WebServer({"/": WebAnswer(body=SECRET)}) as private:
        rebinding = {"rebind.example.org": [[PUBLIC], [LOOPBACK]]}
        routes = {PUBLIC: public.port, LOOPBACK: private.port}
        careless = FakeNet(rebinding, routes)

        async def check_then_connect() -> str:
            first = await careless.lookup("rebind.example.org")
            assert first == [PUBLIC]
            return (await careless.lookup("rebind.example.org"))[0]

        assert asyncio.run(check_then_connect()) == LOOPBACK
        net = FakeNet(rebinding, routes)
        page = fetch("http://rebind.example.org/", net)

    assert isinstance(page, Page)
    assert page.body == b"the public page"
    assert net.lookups == ["rebind.example.org"]
    assert net.dialled == [PUBLIC]
    assert private.asked == []


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param([PUBLIC, "10.0.0.1"], id="mixed"),
        pytest.param([LOOPBACK], id="loopback"),
        pytest.param(["fd00::1"], id="private-v6"),
        pytest.param(["::ffff:127.0.0.1"], id="mapped"),
        pytest.param(["fe80::1%eth0"], id="zone"),
        pytest.param(["169.254.169.254"], id="metadata"),
        pytest.param([], id="none"),
    ],
)
def test_name_with_any_bad_address_is_refused_before_a_connection(addresses: list[str]) -> None:
    with WebServer({"/": WebAnswer(headers=HTML, body=SECRET)}) as server:
        net = named(server, {"some.example.org": [addresses]})

        refused("http://some.example.org/", net)

    assert net.dialled == []
    assert server.asked == []


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "http://localhost/",
        "//localhost/x",
        "http://printer.lan/",
        "http://user:word@docs.example.org/",
        "http://docs.example.org\\@127.0.0.1/",
        "http://127.1/",
        "http://docs.example.org:22/",
        "ht\ttp://127.0.0.1/",
        "http://[::1",
    ],
)
def test_redirect_to_a_bad_place_is_refused(location: str) -> None:
    with WebServer({"/": redirect(location)}) as server:
        net = named(server, {"docs.example.org": [[PUBLIC]]})

        refused("http://docs.example.org/", net)

    assert server.asked == ["docs.example.org /"]
    assert net.dialled == [PUBLIC]


def test_redirect_from_an_opened_host_to_loopback_is_refused() -> None:
    with (
        WebServer({"/": WebAnswer(body=SECRET, headers=HTML)}) as inner,
        WebServer({"/": redirect(inner.url())}) as outer,
    ):
        assert unguarded(outer.url()) == SECRET
        inner.asked.clear()

        refused(outer.url(), allowed=[f"{LOOPBACK}:{outer.port}"])

    assert inner.asked == []


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://other.example.org/x", Elsewhere(url="https://other.example.org/x")),
        ("//other.example.org", Elsewhere(url="http://other.example.org")),
        ("http://docs.example.org:8080/", Elsewhere(url="http://docs.example.org:8080/")),
    ],
)
def test_redirect_to_another_place_is_handed_back(location: str, expected: Elsewhere) -> None:
    with WebServer({"/": redirect(location)}) as server:
        found = fetch("http://docs.example.org/", named(server, {"docs.example.org": [[PUBLIC]]}))

    assert found == expected
    assert server.asked == ["docs.example.org /"]


def test_redirects_on_one_host_are_followed_and_each_is_judged() -> None:
    pages = {
        "/a": redirect("b/c"),
        "/b/c": redirect("/d", 301),
        "/d": WebAnswer(headers=HTML, body=b"there"),
    }
    with WebServer(pages) as server:
        net = named(server, {"docs.example.org": [[PUBLIC], [PUBLIC], [LOOPBACK]]})

        refused("http://docs.example.org/a", net)
        steady = named(server, {"docs.example.org": [[PUBLIC]]})
        page = fetch("http://docs.example.org/a", steady)

    assert net.dialled == [PUBLIC, PUBLIC]
    assert isinstance(page, Page)
    assert (page.url, page.body) == ("http://docs.example.org/d", b"there")


@pytest.mark.parametrize("hops", [5, 6])
def test_more_than_five_redirects_are_not_followed(hops: int) -> None:
    pages = {f"/{number}": redirect(f"/{number + 1}") for number in range(hops)}
    pages[f"/{hops}"] = WebAnswer(headers=HTML, body=b"the end")
    with WebServer(pages) as server:
        allowed = [f"{LOOPBACK}:{server.port}"]
        if hops == 5:
            assert isinstance(fetch(server.url("/0"), allowed=allowed), Page)
        else:
            assert "5 redirects" in refused(server.url("/0"), allowed=allowed)

    assert len(server.asked) == 6


def test_redirect_that_leads_in_a_circle_ends() -> None:
    with WebServer({"/": redirect("/")}) as server:
        refused(server.url(), allowed=[LOOPBACK])

    assert len(server.asked) == 6


def test_answer_without_an_end_is_dropped_at_the_limit() -> None:
    page = WebAnswer(headers=HTML, body=b"x" * 100_000, is_endless=True)
    with WebServer({"/": page}) as server:
        why = refused(server.url(), allowed=[LOOPBACK])

    assert "larger than 5000000 bytes" in why


def test_answer_that_says_it_is_too_large_is_not_read() -> None:
    headers = {**HTML, "Content-Length": "6000000"}
    with WebServer({"/": WebAnswer(headers=headers, is_slow=True)}) as server:
        why = refused(server.url(), allowed=[LOOPBACK])

    assert "larger than" in why


def test_answer_that_drips_is_dropped_when_all_the_time_is_up() -> None:
    limits = WebLimits(total_seconds=0.5)
    with (
        WebServer({"/": WebAnswer(headers=HTML, is_slow=True)}) as server,
        pytest.raises(ModelFault, match=r"longer than 0\.5 s"),
    ):
        fetch(server.url(), allowed=[LOOPBACK], limits=limits)


def test_packed_answer_is_refused_unread() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    with WebServer({"/": WebAnswer(headers={**HTML, "Content-Encoding": "gzip"}, body=bomb)}) as s:
        assert len(gzip.decompress(unguarded(s.url()))) == 20_000_000

        why = refused(s.url(), allowed=[LOOPBACK])

    assert "packed" in why
    assert s.headers[-1]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("content_type", "body", "is_text"),
    [
        ("text/plain", b"words", True),
        ("application/json", b"{}", True),
        ("application/vnd.api+json", b"{}", True),
        ("", b"words", True),
        ("", b"\0\1", False),
        ("application/pdf", b"%PDF", False),
        ("image/png", b"\x89PNG", False),
        ("application/octet-stream", b"words", False),
    ],
)
def test_only_text_is_fetched(content_type: str, body: bytes, *, is_text: bool) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    with WebServer({"/": WebAnswer(headers=headers, body=body)}) as server:
        if is_text:
            assert isinstance(fetch(server.url(), allowed=[LOOPBACK]), Page)
        else:
            assert "only text" in refused(server.url(), allowed=[LOOPBACK])


def test_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        WebServer({"/": WebAnswer(headers=HTML, body=b"direct")}) as server,
        WebServer({}) as proxy,
    ):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        page = fetch(server.url(), allowed=[LOOPBACK])

    assert isinstance(page, Page)
    assert page.body == b"direct"
    assert proxy.asked == []


def test_nothing_of_this_program_goes_along() -> None:
    with WebServer({"/": WebAnswer(headers=HTML, body=b"x")}) as server:
        fetch(server.url(), allowed=[LOOPBACK])

    assert set(server.headers[0]) == {
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Encoding",
        "Connection",
    }


def test_refused_connection_is_told_and_the_next_address_is_tried() -> None:
    with WebServer({"/": WebAnswer(headers=HTML, body=b"second")}) as server:
        names = {"two.example.org": [["93.184.216.35", PUBLIC]], "gone.example.org": [["1.1.1.1"]]}
        net = named(server, names)

        page = fetch("http://two.example.org/", net)
        why = refused("http://gone.example.org/", net)

    assert isinstance(page, Page)
    assert page.body == b"second"
    assert "can't be fetched" in why


def test_error_of_the_server_is_a_page_with_its_status() -> None:
    with WebServer({}) as server:
        page = fetch(server.url("/none"), allowed=[LOOPBACK])

    assert isinstance(page, Page)
    assert (page.status, page.body) == (404, b"not here")


def test_https_to_http_is_handed_back_as_a_downgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path / "tls.pem", "docs.example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    pages = {"/": redirect("http://docs.example.org/plain")}
    with WebServer(pages, certificate=certificate) as server:
        net = named(server, {"docs.example.org": [[PUBLIC]]})

        found = fetch("https://docs.example.org/", net)

    assert found == Elsewhere(url="http://docs.example.org/plain", is_downgrade=True)
    assert server.asked == ["docs.example.org /"]


def test_http_to_https_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = make_certificate(tmp_path / "tls.pem", "docs.example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure_pages = {"/": WebAnswer(headers=HTML, body=b"secure")}
    plain_pages = {"/": redirect("https://docs.example.org/")}
    with (
        WebServer(secure_pages, certificate=certificate) as secure,
        WebServer(plain_pages) as plain,
    ):
        names = {"docs.example.org": [[PUBLIC], ["93.184.216.35"]]}
        net = FakeNet(names, {PUBLIC: plain.port, "93.184.216.35": secure.port})

        page = fetch("http://docs.example.org/", net)

    assert isinstance(page, Page)
    assert (page.url, page.body) == ("https://docs.example.org/", b"secure")


def test_certificate_of_another_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path / "tls.pem", "docs.example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    pages = {"/": WebAnswer(headers=HTML, body=b"an impostor's")}
    with WebServer(pages, certificate=certificate) as server:
        names = {"bank.example.org": [[PUBLIC]], "docs.example.org": [[PUBLIC]]}
        net = named(server, names)
        assert isinstance(fetch("https://docs.example.org/", net), Page)
        server.asked.clear()

        refused("https://bank.example.org/", net)

    assert server.asked == []
