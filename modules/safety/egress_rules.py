"""Which hosts a jail's proxy lets through; pure.

1. An entry is `host`, `host:port` or `*.host`, which stands for every name below the host.
2. Without a port an entry stands for 443 and 80.
3. Names are compared in lower case, without a dot at the end. What no entry names stays shut.
"""

from collections.abc import Iterable

_USUAL_PORTS = frozenset({80, 443})


def is_open(host: str, port: int, entries: Iterable[str]) -> bool:
    """True where one of the entries names the host and the port."""
    name = host.lower().removesuffix(".")
    return any(_names(entry.lower(), name, port) for entry in entries)


def _names(entry: str, name: str, port: int) -> bool:
    wanted, colon, number = entry.rpartition(":")
    if not colon:
        wanted = entry
    if port not in (_USUAL_PORTS if not colon else {int(number)}):
        return False
    if wanted.startswith("*."):
        return name.endswith(wanted[1:])
    return name == wanted.removesuffix(".")
