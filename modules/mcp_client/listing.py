"""A server's whole list of tools, page after page.

1. Every page is asked for; a cursor that comes again, or too many pages, ends the list with a
   warning: what was listed so far stands.
2. A server that knows no tools/list has no tools.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from modules.mcp_client.adapt import Offer, adapt_tools
from modules.mcp_client.link import Refusal

MAX_PAGES = 200
_METHOD_NOT_FOUND = -32601

Request = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]


async def list_tools(server: str, request: Request) -> Offer:
    """Returns what the server offers now; raises what `request` raises."""
    listed: list[object] = []
    cursors: list[str] = []
    while True:
        try:
            page = await request("tools/list", {"cursor": cursors[-1]} if cursors else {})
        except Refusal as refusal:
            if refusal.code != _METHOD_NOT_FOUND or cursors:
                raise
            return Offer()
        tools = page.get("tools")
        listed += tools if isinstance(tools, list) else []
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return adapt_tools(server, listed)
        if cursor in cursors or len(cursors) == MAX_PAGES:
            offer = adapt_tools(server, listed)
            cut = f"Its list of tools does not end; it was cut after {len(cursors) + 1} pages."
            return Offer(tools=offer.tools, warnings=(cut, *offer.warnings))
        cursors.append(cursor)
