"""Living processes that work in a folder, so that nobody loses the ground under their feet."""

from pathlib import Path

_PROC = Path("/proc")


def occupants(folder: Path) -> list[str]:
    """Returns the processes whose working directory lies in `folder`, as `pid 12 (bash)`.

    Where the system has no /proc it knows of none.
    """
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
