"""Living processes: who works in a folder, and what was left over of a run that died.

Where the system has no /proc nobody is found.
"""

import contextlib
import os
import signal
from pathlib import Path

_PROC = Path("/proc")
_KILL_PASSES = 20


def occupants(folder: Path) -> list[str]:
    """Returns the processes whose working directory lies in `folder`, as `pid 12 (bash)`."""
    found = []
    for process in _PROC.glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
            name = (process / "comm").read_text().strip()
        except OSError:
            # It ended meanwhile, or belongs to somebody whose processes we may not look into.
            continue
        if place == folder or folder in place.parents:
            found.append(f"pid {process.name} ({name})")
    return found


def end_marked(mark: str) -> None:
    """Kills every process with a variable in its environment that begins with `mark`."""
    for _ in range(_KILL_PASSES):
        found = marked(mark)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError):  # It ended by itself.
                os.kill(pid, signal.SIGKILL)


def marked(mark: str) -> list[int]:
    """Returns the processes with a variable in their environment that begins with `mark`."""
    data = os.fsencode(mark)
    return sorted(int(p.name) for p in _PROC.glob("[0-9]*") if _carries(p, data))


def _carries(process: Path, mark: bytes) -> bool:
    try:
        return b"\0" + mark in b"\0" + (process / "environ").read_bytes()
    except OSError:
        # It ended meanwhile, or is somebody else's.
        return False
