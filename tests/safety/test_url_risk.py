"""Tests of modules/safety/url_risk.py, modules/safety/address_table.py and look_alikes.py."""

from collections.abc import Callable, Sequence
from ipaddress import ip_address

import pytest
from msgspec.structs import replace

from modules.records.decisions import Risk
from modules.safety.address_table import is_public
from modules.safety.url_risk import assess_url
from tests.safety.grounds import worker_ground


def resolver(addresses: dict[str, tuple[str, ...]]) -> Callable[[str], Sequence[str]]:
    return lambda host: addresses.get(host, ())


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.python.org/3/",
        "http://Example.ORG/a?b=c#d",
        "https://example.org:8443/",
        "http://example.org:8080",
        "https://example.org./",
        "https://example.org?u=http://10.0.0.1/",
        "https://example.org/#@192.168.0.1/",
        "https://9.9.9.9/",
        "https://[2620:fe::9]/",
        "https://müller.de/",
        "https://例え.jp/",
        "https://пример.рф/",
        "https://кто.рф/",
        "https://fr.wikipedia.org/wiki/Été",
        "http://9.9.9.9.nip.io/",
        "http://172.32.1.1/",
    ],
)
def test_assess_url_when_it_is_public_then_it_is_safe(url: str) -> None:
    assert assess_url(url, worker_ground()).risk is Risk.SAFE


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://example.org/",
            "file:///etc/hosts",
            "javascript:x",
            "data:,x",
            "ws://example.org/",
        ),
        *("//example.org/", "example.org", "http:example.org", "http:/example.org", "http://", ""),
        *("http:///x", "http://u:p@example.org/", "http://example.org@10.0.0.1/", "http://@a.org/"),
        *("http://a.org\\@127.0.0.1/", "http://a.org\\b", "http://a .org/", "http://a\t.org/"),
        *(" http://a.org/", "http://a.org/ ", "http://a.org\n/", "http://a\u200b.org/"),
        *("http://%61.org/", "http://a%00.org/", "http://a.org:22/", "http://a.org:0/"),
        *("http://a.org:70000/", "http://a.org:x/", "http://a.org:80:80/", "http://[::1/"),
        *("http://[fe80::1%251]/", "http://a..org/", "http://-a.org/", f"http://{'a' * 64}.org/"),
        *("http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/"),
        *("http://0177.0.0.1/", "http://017700000001/", "http://0/", "http://1.2.3.4.5/"),
        *("http://256.0.0.1/", "http://1.2.3/", "http://１２７.0.0.1/", "http://127。0。0。1/"),
        *("http://ｌocalhost/", "http://localhost/", "http://LOCALHOST./", "http://a.localhost/"),
        *("http://printer/", "http://nas.local/", "http://db.internal/", "http://router.lan/"),
        *("http://x.home.arpa/", "http://x.corp/", "http://x.example/", "http://x.onion/"),
        *("http://metadata.google.internal/", "http://app.localtest.me/", "http://x.lvh.me/"),
        *("http://10.0.0.1.nip.io/", "http://192-168-0-1.sslip.io/", "http://c0a80001.nip.io/"),
        *("http://metadata.goog/", "http://kubernetes.default.svc/"),
        *("http://[::ffff:0:127.0.0.1]/", "http://[2002:a9fe:a9fe::1]/", "http://169.254.43518/"),
        *("http://a.127.0.0.1.xip.io/", "http://7f000001.c0a80001.rbndr.us/"),
    ],
)
def test_assess_url_when_it_is_odd_or_leads_inside_then_it_is_denied(url: str) -> None:
    found = assess_url(url, worker_ground())

    assert (found.risk, bool(found.why)) == (Risk.DENY, True)


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.1", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.2", "169.254.169.254"),
        *("172.16.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1"),
        *("198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("168.63.129.16", "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"),
        *(
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "1::",
            "4000::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
        ),
        *("fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"),
    ],
)
def test_is_public_when_an_address_is_special_then_it_is_not(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "172.32.0.1", "::ffff:8.8.8.8", "2606:4700::1111"])
def test_is_public_when_an_address_is_anybodys_then_it_is(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "https://gооgle.com/",
        "https://аррӏе.com/",
        "https://xn--pple-43d.com/",
        "https://pаypal.org/",
    ],
)
def test_assess_url_when_a_name_mimics_another_then_a_person_is_asked(url: str) -> None:
    found = assess_url(url, worker_ground())

    assert (found.risk, found.must_ask) == (Risk.DANGEROUS, True)


def test_assess_url_when_a_name_is_resolved_then_every_address_must_be_public() -> None:
    resolve = resolver(
        {
            "good.org": ("93.184.216.34", "2606:2800:220:1::1"),
            "mixed.org": ("93.184.216.34", "10.0.0.1"),
            "private.org": ("fd00::1",),
            "odd.org": ("not an address",),
        }
    )

    risks = [
        assess_url(f"https://{name}.org/", worker_ground(), resolve).risk
        for name in ("good", "mixed", "private", "odd", "missing")
    ]

    assert risks == [Risk.SAFE, Risk.DENY, Risk.DENY, Risk.DENY, Risk.DENY]


def test_assess_url_when_the_person_opened_a_host_then_only_that_one_is_fetched() -> None:
    ground = replace(
        worker_ground(),
        allowed_hosts=("localhost:3000", "127.0.0.0/8", "DEV.internal", "[::1]:8080"),
    )

    risks = {
        url: assess_url(url, ground).risk
        for url in (
            "http://localhost:3000/",
            "http://localhost:3001/",
            "http://127.0.0.5:9000/",
            "http://dev.internal/",
            "http://[::1]:8080/",
            "http://[::1]:8443/",
            "http://10.0.0.1/",
        )
    }

    assert [url for url, risk in risks.items() if risk is Risk.SAFE] == [
        "http://localhost:3000/",
        "http://127.0.0.5:9000/",
        "http://dev.internal/",
        "http://[::1]:8080/",
    ]
