"""Public names of MCP tools, `mcp__<server>__<tool>`.

1. A name holds letters, digits, `_` and `-` alone, 64 at most: what every provider takes.
2. A part that is legal and short enough stays as it is. Of any other the illegal characters become
   `_`, the rest is cut, and a hash of the original follows. So a name depends on its own server and
   tool alone, and is the same after a restart, whatever else runs.
3. A server's part holds no `__` and does not end with `_`: where it ends is never in doubt.
4. Where one name still has two claimants (one is spelled like another's hash), each of them gets
   a hash of both its originals instead.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

PREFIX = "mcp__"
MAX_NAME_LENGTH = 64
MAX_SERVER_LENGTH = 32
_HASH_LENGTH = 8

_PLAIN_SERVER = re.compile(r"(?!.*__)[a-zA-Z0-9_-]*[a-zA-Z0-9-]")
_PLAIN_TOOL = re.compile(r"[a-zA-Z0-9_-]+")

Origin = tuple[str, str]
"""Server and tool, as they call themselves."""


def public_name(server: str, tool: str) -> str:
    """Returns the name a model, a permission rule and a hook know the tool by."""
    front = f"{PREFIX}{_server_part(server)}__"
    room = MAX_NAME_LENGTH - len(front)
    if len(tool) <= room and _PLAIN_TOOL.fullmatch(tool):
        return front + tool
    return front + _hashed(re.sub(r"[^a-zA-Z0-9_-]+", "_", tool), of=tool, limit=room)


def distinct_names(origins: Iterable[Origin]) -> dict[Origin, str]:
    """Returns the public name of each tool, no two alike."""
    names = {origin: public_name(*origin) for origin in sorted(set(origins))}
    while doubled := _claimed_twice(names.values()):
        for (server, tool), name in names.items():
            if name in doubled:
                of = f"{server}\0{tool}\0{name}"
                names[server, tool] = _hashed(name, of=of, limit=MAX_NAME_LENGTH)
    return names


def _server_part(server: str) -> str:
    if len(server) <= MAX_SERVER_LENGTH and _PLAIN_SERVER.fullmatch(server):
        return server
    return _hashed(re.sub(r"[^a-zA-Z0-9-]+", "_", server), of=server, limit=MAX_SERVER_LENGTH)


def _hashed(stem: str, *, of: str, limit: int) -> str:
    digest = hashlib.sha256(of.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    kept = stem[: limit - len(digest) - 1].strip("_")
    return f"{kept}_{digest}" if kept else digest


def _claimed_twice(names: Iterable[str]) -> set[str]:
    return {name for name, claims in Counter(names).items() if claims > 1}
