"""A server, and a child of it, that ignore the end of their input and SIGTERM.

Usage: `stubborn FILE`; FILE gets the two process ids.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.fakes.mcp_servers.wire import Message, reply, serve, tool, words


def call(request: Message, _name: str, _arguments: Message) -> None:
    reply(request, words("no"))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL) as child:
        Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}\n", encoding="utf-8")
        serve(lambda _params: {"tools": [tool("no")]}, call)
        while True:
            time.sleep(600)
