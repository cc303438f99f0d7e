"""A server that writes logs on its standard output, and floods its standard error."""

import sys

from tests.fakes.mcp_servers.wire import Message, reply, serve, tool, words

NOISE = (
    b"Server v1 started\n"
    b"\n"
    b"[1,2]\n"
    b'{"level": "info", "message": "ready"}\n'
    b'{"jsonrpc": "2.0", "id"\n'
    b"\xff\xfe not UTF-8\n" + b"x" * 1_000_000 + b"\n"
)


def pollute() -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(NOISE)
    sys.stdout.buffer.flush()
    sys.stderr.write("e" * 99 + "\n" + ("f" * 99 + "\n") * 10_000)
    sys.stderr.flush()


def call(request: Message, _name: str, arguments: Message) -> None:
    pollute()
    reply(request, words(str(arguments["text"])))
    pollute()


if __name__ == "__main__":
    pollute()
    serve(lambda _params: {"tools": [tool("echo")]}, call)
