"""A server that dies, or goes quiet, when asked to. Usage: `dying FILE`; FILE counts its starts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.fakes.mcp_servers.wire import Message, reply, send, serve, tool, words


def call(request: Message, name: str, _arguments: Message) -> None:
    match name:
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            print("out of memory", file=sys.stderr)
            sys.exit(7)
        case "close":
            os.close(sys.stdout.fileno())
        case "leave_a_holder":
            # The child keeps this server's pipes open after it is gone.
            with subprocess.Popen(["sleep", "600"]):
                os.kill(os.getpid(), signal.SIGKILL)
        case "confuse":
            reply({"id": 987_654}, words("for nobody"))
            send({"id": None, "error": {"code": -32700, "message": "parse error"}})
            reply(request, words("for you"))
        case "malformed":
            send({"id": request["id"], "result": None})
        case "flood":
            sys.stdout.write("x" * 2_000_000)
            sys.stdout.flush()
        case "stay":
            reply(request, words("still here"))
        case "quiet":
            pass


TOOLS = ("die", "exit", "close", "leave_a_holder", "confuse", "malformed", "flood", "stay", "quiet")

if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", encoding="utf-8") as starts:
        starts.write(f"{os.getpid()}\n")
    serve(lambda _params: {"tools": [tool(name) for name in TOOLS]}, call)
