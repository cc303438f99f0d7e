"""A server that tells how it was started: its environment, its folder, its arguments."""

import json
import os
import sys
from pathlib import Path

from tests.fakes.mcp_servers.wire import Message, reply, serve, tool, words


def call(request: Message, _name: str, _arguments: Message) -> None:
    seen = {"env": dict(os.environ), "cwd": str(Path.cwd()), "argv": sys.argv[1:]}
    reply(request, words(json.dumps(seen)))


if __name__ == "__main__":
    serve(lambda _params: {"tools": [tool("tell")]}, call)
