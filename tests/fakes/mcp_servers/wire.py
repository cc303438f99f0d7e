"""The least of an MCP server: JSON lines on standard input and output, by the standard library."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

Message = dict[str, Any]


def send(message: Message) -> None:
    """Writes one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def reply(request: Message, result: Message) -> None:
    """Answers a request."""
    send({"id": request["id"], "result": result})


def refuse(request: Message, code: int, message: str) -> None:
    """Answers a request with an error."""
    send({"id": request["id"], "error": {"code": code, "message": message}})


def tool(name: str, **more: object) -> Message:
    """Returns a tool as tools/list tells it."""
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **more}


def words(text: str) -> Message:
    """Returns a tool's result of one text block."""
    return {"content": [{"type": "text", "text": text}]}


def messages() -> Iterator[Message]:
    """Yields what the client sends, until it closes its end."""
    for line in sys.stdin:
        yield json.loads(line)


def serve(
    tools: Callable[[Message], Message],
    call: Callable[[Message, str, Message], None],
) -> None:
    """Serves until the input ends; `tools` answers tools/list, `call` tools/call."""
    for request in messages():
        params = request.get("params", {})
        if "id" not in request:
            continue
        if request["method"] == "initialize":
            reply(
                request,
                {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "fake", "version": "1"},
                },
            )
        elif request["method"] == "tools/list":
            reply(request, tools(params))
        elif request["method"] == "tools/call":
            call(request, params["name"], params.get("arguments", {}))
        else:
            refuse(request, -32601, "Method not found")
