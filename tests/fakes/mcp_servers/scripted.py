"""A server whose tools and results stand in a JSON file: `{"tools": […], "results": {name: …}}`.

A tool without a result says what it was called with. Usage: `scripted FILE`.
"""

import json
import sys
from pathlib import Path

from tests.fakes.mcp_servers.wire import Message, reply, serve, words


def main(script: Message) -> None:
    def call(request: Message, name: str, arguments: Message) -> None:
        said = words(json.dumps([name, arguments], sort_keys=True))
        reply(request, script.get("results", {}).get(name, said))

    serve(lambda _params: {"tools": script["tools"]}, call)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
