"""An agent's folder for tests, and a look at the processes it left."""

import os
from collections.abc import Callable
from pathlib import Path

from modules.safety.fence import Fence
from tools.lane_context import LaneContext


def make_lane(
    root: Path,
    *,
    temporary: Path | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> LaneContext:
    """Returns a context on `root`, which is made."""
    root.mkdir(parents=True, exist_ok=True)
    return LaneContext(
        root=root,
        environment={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(root.parent)},
        temporary=temporary or root.parent / "temporary",
        fence=Fence(root),
        wrap=lambda argv: argv,
        on_progress=on_progress,
    )


def processes_named(marker: str) -> list[int]:
    """Returns the processes with `marker` in their command line."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and marker.encode() in _command_line(process):
            found.append(int(process.name))
    return found


def children_named(marker: str) -> list[int]:
    """Returns this process's own children with `marker` in their command line."""
    return [pid for pid in processes_named(marker) if _parent(pid) == os.getpid()]


def _parent(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(status.split("\nPPid:", 1)[1].split(maxsplit=1)[0])


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        # It ended between the listing and the look.
        return b""
