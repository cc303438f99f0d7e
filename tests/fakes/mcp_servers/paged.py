"""A server that lists 101 tools, 50 on a page; with the argument `endless` the list never ends."""

import sys

from tests.fakes.mcp_servers.wire import Message, reply, serve, tool, words

PAGE = 50
COUNT = 101


def page(params: Message) -> Message:
    first = int(params.get("cursor", 0))
    last = min(first + PAGE, COUNT)
    listed: Message = {"tools": [tool(f"t{number}") for number in range(first, last)]}
    if "endless" in sys.argv:
        listed["nextCursor"] = str(first)
    elif last < COUNT:
        listed["nextCursor"] = str(last)
    return listed


if __name__ == "__main__":
    serve(page, lambda request, name, _arguments: reply(request, words(f"this is {name}")))
