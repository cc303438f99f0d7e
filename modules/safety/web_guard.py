"""Fetches an address for an agent, and lets no answer lead anywhere that was not judged.

1. Every hop is judged as the gate judges an address, and again with what its name leads to. A name
   is looked up once for each hop; connected is to the addresses that were judged, and no others.
2. Redirects, at most five, are followed on the same host and port alone, https instead of http
   included. Any other place is handed back: the gate has to see it. So is http after https.
3. No proxy, no cookie, no credential, nothing of this program's environment goes along.
4. Nothing compressed is taken, and nothing but text. What is too large or takes too long in all is
   refused whole.
"""

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from modules.records.decisions import Risk
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.web import Elsewhere, Page
from modules.safety.ground import Ground
from modules.safety.url_risk import Target, assess_url, read_url

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkBackend

    from modules.safety.web_wire import Answer

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT_TYPES = frozenset(
    {
        *("application/json", "application/xml", "application/xhtml+xml", "application/javascript"),
        *("application/x-javascript", "application/ecmascript", "application/yaml"),
        *("application/x-yaml", "application/toml", "application/x-sh", "application/sql"),
        *("application/x-ndjson", "application/graphql", "image/svg+xml"),
    }
)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]+)""", re.IGNORECASE)

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""Takes a host name, returns its addresses; empty where it has none."""


class WebLimits(Record):
    """How much and how long a fetch may take."""

    total_seconds: float = 20.0
    connect_seconds: float = 5.0
    """For each address of a name."""
    body_bytes: int = 5_000_000


async def look_up(host: str) -> Sequence[str]:
    """Returns the addresses the system knows for a name, in its order."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class WebGuard:
    """The one way to the web; `dial` opens the connections, the system's own by default."""

    def __init__(
        self,
        ground: Ground,
        *,
        limits: WebLimits = WebLimits(),  # noqa: B008 - a frozen record
        lookup: Lookup = look_up,
        dial: "AsyncNetworkBackend | None" = None,
    ) -> None:
        self._ground = ground
        self._limits = limits
        self._lookup = lookup
        self._dial = dial

    async def fetch(self, url: str) -> Page | Elsewhere:
        """Returns what lies at an address the gate has let pass.

        Raises ModelFault, which says why, when it is not fetched.
        """
        try:
            async with asyncio.timeout(self._limits.total_seconds):
                return await self._follow(url)
        except TimeoutError as error:
            raise ModelFault(
                f"{url!r} took longer than {self._limits.total_seconds:g} s in all."
            ) from error

    async def _follow(self, url: str) -> Page | Elsewhere:
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._get(url)
            location = answer.header("location")
            if answer.status not in _REDIRECTS or not location:
                return _page(url, answer)
            there = _joined(url, location)
            self._judge(there)
            if not _is_same_place(url, there):
                return Elsewhere(url=there, is_downgrade=_is_downgrade(url, there))
            url = there
        raise ModelFault(f"{url!r} leads on and on: more than {MOST_REDIRECTS} redirects.")

    async def _get(self, url: str) -> "Answer":
        from modules.safety.web_wire import get

        target = self._judge(url)
        addresses = tuple(await self._lookup(target.host))
        self._judge(url, addresses)
        return await get(url, target, addresses, limits=self._limits, dial=self._dial)

    def _judge(self, url: str, addresses: Sequence[str] | None = None) -> Target:
        """Returns the parts of a good address; raises ModelFault for any other."""
        resolve = None if addresses is None else lambda host: addresses
        found = assess_url(url, self._ground, resolve)
        target = read_url(url)
        if found.risk is Risk.DENY or isinstance(target, str):
            raise ModelFault(f"The address is not fetched: {found.why}.")
        return target


def _joined(url: str, location: str) -> str:
    # The library would take tabs and line breaks out of it, and so make two readings of one text.
    if any(unicodedata.category(sign) in ("Cc", "Cf", "Zs", "Zl", "Zp") for sign in location):
        raise ModelFault(f"{url!r} leads to an address with blanks or invisible characters.")
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise ModelFault(f"{url!r} leads to {location!r}, which is no address.") from error


def _is_same_place(url: str, there: str) -> bool:
    old, new = read_url(url), read_url(there)
    if isinstance(old, str) or isinstance(new, str) or old.host != new.host:
        return False
    is_upgrade = (old.scheme, old.port, new.scheme, new.port) == ("http", 80, "https", 443)
    return is_upgrade or (old.scheme, old.port) == (new.scheme, new.port)


def _is_downgrade(url: str, there: str) -> bool:
    old, new = read_url(url), read_url(there)
    if isinstance(old, str) or isinstance(new, str):
        return False
    return old.host == new.host and (old.scheme, new.scheme) == ("https", "http")


def _page(url: str, answer: "Answer") -> Page:
    declared = answer.header("content-type")
    content_type = declared.partition(";")[0].strip().lower()
    charset = _CHARSET.search(declared)
    if not _is_text(content_type, answer.body):
        raise ModelFault(f"{url!r} is {content_type or 'something'!r}, and only text is fetched.")
    return Page(
        url=url,
        status=answer.status,
        content_type=content_type,
        charset=charset.group(1) if charset else "",
        body=answer.body,
    )


def _is_text(content_type: str, body: bytes) -> bool:
    if not content_type:
        return b"\0" not in body
    if content_type.startswith("text/") or content_type in _TEXT_TYPES:
        return True
    return content_type.endswith(("+json", "+xml", "+yaml"))
