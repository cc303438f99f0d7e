"""What an address a tool would fetch leads to; pure, given a way to look names up.

1. Only `http` and `https`; nothing that two parsers read differently: it is refused, not mended.
2. A numeric host is a plain dotted quad or a bracketed IPv6 address; a name has a public suffix.
3. An address must be public: an own table, and Python's, and no multicast, tunnels unwrapped.
4. A name must resolve, and every address it resolves to must be public. Without a resolver only
   the spelling is judged, and names that carry an address count as that address.
5. A name that could be mistaken for another one is asked about.
6. A host the person opened is fetched, wherever it lies.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from modules.records.decisions import Assessment, Risk
from modules.records.record import Record
from modules.safety.address_table import is_public
from modules.safety.ground import Ground
from modules.safety.look_alikes import is_look_alike

Resolver = Callable[[str], Sequence[str]]
"""Takes a host name, returns its addresses; empty where there are none."""

_URL = re.compile(r"(?i:(https?))://([^/?#]*)(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SHOWN = 200
"""Characters of an ill-spelt address that a person or a model is shown."""
_PORTS = frozenset({80, 443, 8080, 8443})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PRIVATE_SUFFIXES = tuple(
    f".{suffix}"
    for suffix in (
        *("local", "localhost", "localdomain", "internal", "intranet", "private", "corp", "home"),
        *("lan", "arpa", "consul", "intra", "test", "example", "invalid", "onion", "alt", "svc"),
    )
)
_LOOPBACK_SERVICES = tuple(
    f".{name}"
    for name in ("localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "rbndr.us", "1u.ms")
)
_METADATA_NAMES = frozenset({"metadata.goog"})
_ADDRESS_SERVICES = tuple(
    f".{name}" for name in ("nip.io", "sslip.io", "xip.io", "traefik.me", "backname.io", "local.gd")
)
_EMBEDDED_QUAD = re.compile(r"(?:^|[.-])(\d{1,3}(?:[.-]\d{1,3}){3})$")
_EMBEDDED_HEX = re.compile(r"(?:^|[.-])([0-9a-f]{8})$")


class Target(Record):
    """The parts of an address that decide."""

    scheme: str
    host: str
    """Lower case, ASCII, without brackets and trailing dot."""
    port: int


def assess_url(url: str, ground: Ground, resolve: Resolver | None = None) -> Assessment:
    """Returns how risky it is to fetch `url`."""
    target = read_url(url)
    if isinstance(target, str):
        return _deny("net:url", f"{url[:_SHOWN]!r} {target}; give a plain http or https address")
    if _is_allowed(target, ground.allowed_hosts):
        return Assessment(risk=Risk.SAFE)
    if target.port not in _PORTS:
        return _deny("net:url", f"port {target.port} is none of the web's ports {sorted(_PORTS)}")
    why = _leads_inside(target.host, resolve)
    if why:
        return _deny("net:private", why)
    if is_look_alike(target.host):
        return Assessment(
            risk=Risk.DANGEROUS,
            categories=("net:lookalike",),
            must_ask=True,
            why=f"{target.host!r} looks like another name",
        )
    return Assessment(risk=Risk.SAFE)


def read_url(url: str) -> Target | str:
    """Returns the parts of `url`, or what is wrong with it."""
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") for c in url):
        return "has blanks or invisible characters"
    match = _URL.fullmatch(url)
    if match is None:
        return "is no http or https address"
    scheme, authority, rest = match.group(1).lower(), match.group(2), match.group(3)
    if "\\" in authority or "\\" in rest.partition("?")[0].partition("#")[0]:
        return "has a backslash"
    if "@" in authority:
        return "carries a user name"
    if "%" in authority:
        return "has an encoded host"
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        return "has a malformed host"
    host = _plain_host(parts.group(1))
    if host is None:
        return "has a malformed host"
    return Target(scheme=scheme, host=host, port=int(parts.group(2) or _DEFAULT_PORTS[scheme]))


def _plain_host(host: str) -> str | None:
    if host.startswith("["):
        return _ipv6(host[1:-1])
    name = host.lower().removesuffix(".") if host.isascii() else _to_ascii(host)
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    if _NUMBER.fullmatch(labels[-1]) and not _is_quad(name):
        return None
    return name


def _ipv6(text: str) -> str | None:
    try:
        return str(IPv6Address(text))
    except ValueError:
        return None


def _is_quad(name: str) -> bool:
    try:
        return str(IPv4Address(name)) == name
    except ValueError:
        return False


def _to_ascii(host: str) -> str:
    """Returns the punycode of a name in other scripts; empty where it only dresses up ASCII."""
    import idna  # only names in other scripts need its tables

    if any(dot in host for dot in "。．｡") or unicodedata.normalize("NFKC", host).isascii():
        return ""
    try:
        return idna.encode(host.removesuffix("."), uts46=True, std3_rules=True).decode()
    except idna.IDNAError:
        return ""


def _leads_inside(host: str, resolve: Resolver | None) -> str:
    """Returns why a host is not on the public internet; empty where it is."""
    address = _address(host)
    if address is not None:
        return "" if is_public(address) else f"{host!r} is no public address"
    dotted = f".{host}"
    if "." not in host or dotted.endswith(_PRIVATE_SUFFIXES):
        return f"{host!r} is a name of some private network"
    if host in _METADATA_NAMES:
        return f"{host!r} is a machine's metadata service"
    if dotted.endswith(_LOOPBACK_SERVICES):
        return f"{host!r} stands for addresses of your own machine"
    embedded = _embedded_address(host)
    if embedded is not None and not is_public(embedded):
        return f"{host!r} stands for {str(embedded)!r}, which is no public address"
    return _resolves_inside(host, resolve) if resolve is not None else ""


def _resolves_inside(host: str, resolve: Resolver) -> str:
    addresses = resolve(host)
    if not addresses:
        return f"{host!r} has no address"
    for text in addresses:
        address = _address(text)
        if address is None or not is_public(address):
            return f"{host!r} leads to {text!r}, which is no public address"
    return ""


def _embedded_address(host: str) -> IPv4Address | None:
    service = next((name for name in _ADDRESS_SERVICES if f".{host}".endswith(name)), None)
    if service is None:
        return None
    name = f".{host}".removesuffix(service)
    quad = _EMBEDDED_QUAD.search(name)
    try:
        if quad is not None:
            return IPv4Address(quad.group(1).replace("-", "."))
    except ValueError:
        return IPv4Address(0)
    hexadecimal = _EMBEDDED_HEX.search(name)
    return IPv4Address(int(hexadecimal.group(1), 16)) if hexadecimal else IPv4Address(0)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _is_allowed(target: Target, allowed: Sequence[str]) -> bool:
    return any(_allows(entry.lower(), target) for entry in allowed)


def _allows(entry: str, target: Target) -> bool:
    address = _address(target.host)
    if address is not None and _is_in_network(address, entry.strip("[]")):
        return True
    host, colon, port = entry.rpartition(":")
    if not colon:
        return entry == target.host
    return host.strip("[]") == target.host and port == str(target.port)


def _is_in_network(address: IPv4Address | IPv6Address, network: str) -> bool:
    try:
        return address in ip_network(network, strict=False)
    except ValueError:
        return False


def _deny(category: str, why: str) -> Assessment:
    return Assessment(risk=Risk.DENY, categories=(category,), why=why)
