"""A server that dies, or goes quiet, when asked to. Usage: `dying FILE`; FILE counts its starts."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.fakes.mcp_servers.wire import Message, refuse, reply, send, serve, tool, words


def die(_request: Message) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exit_with_words(_request: Message) -> None:
    print("out of memory", file=sys.stderr)
    sys.exit(7)


def close_output(_request: Message) -> None:
    os.close(sys.stdout.fileno())


def leave_a_holder(request: Message) -> None:
    # The child keeps this server's pipes open after it is gone.
    with subprocess.Popen(["sleep", "600"]):
        die(request)


def confuse(request: Message) -> None:
    reply({"id": 987_654}, words("for nobody"))
    send({"id": None, "error": {"code": -32700, "message": "parse error"}})
    reply(request, words("for you"))


def flood(_request: Message) -> None:
    sys.stdout.write("x" * 2_000_000)
    sys.stdout.flush()


def mumble(request: Message) -> None:
    print("thinking...", end="")
    reply(request, words("thought"))


TOOLS: dict[str, Callable[[Message], None]] = {
    "die": die,
    "exit": exit_with_words,
    "close": close_output,
    "leave_a_holder": leave_a_holder,
    "flood": flood,
    "confuse": confuse,
    "mumble": mumble,
    "malformed": lambda request: send({"id": request["id"], "result": None}),
    "refuse": lambda request: refuse(request, -32000, "no:\nthe disk is full"),
    "deaf": lambda _request: signal.pause(),
    "quiet": lambda _request: None,
    "stay": lambda request: reply(request, words("still here")),
}


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", encoding="utf-8") as starts:
        starts.write(f"{os.getpid()}\n")
    serve(
        lambda _params: {"tools": [tool(name) for name in TOOLS]},
        lambda request, name, _arguments: TOOLS[name](request),
    )
