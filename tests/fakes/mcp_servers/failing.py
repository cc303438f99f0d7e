"""A server that never gets ready.

Usage: `failing silent|exits|refuses FILE`; FILE counts its starts.
"""

import os
import sys
from pathlib import Path

from tests.fakes.mcp_servers.wire import messages, refuse


def main(manner: str, starts: Path) -> int:
    with starts.open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    if manner == "exits":
        print("no licence found for", os.environ.get("LICENCE"), file=sys.stderr)
        return 3
    for request in messages():
        if manner == "refuses" and "id" in request:
            refuse(request, -32000, "not today")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
