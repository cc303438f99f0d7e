"""A server whose tool `run` runs a shell command and gives back what it printed."""

import subprocess

from tests.fakes.mcp_servers.wire import Message, reply, serve, tool, words


def call(request: Message, _name: str, arguments: Message) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", str(arguments["command"])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=20,
        check=False,
    )
    reply(request, words(f"{done.stdout}exit {done.returncode}"))


if __name__ == "__main__":
    serve(lambda _params: {"tools": [tool("run")]}, call)
