"""Puts files where an agent can read them: into a folder of its own, which it may have changed.

The agent may have put links into the folder, or one in its place. So only what the folder lies in
is trusted, and the way from there on goes through the fence.
"""

from pathlib import Path

from modules.records.errors import ModelFault
from modules.safety.fence import Fence

OUTPUTS = "outputs"
"""Folder, in a worker's temporary one, where it finds the whole of long results."""


def write_beside(folder: Path, name: str, data: bytes) -> Path:
    """Writes a file into `folder`, making it; returns its path. Raises ModelFault."""
    Fence(folder.parent).write_bytes(f"{folder.name}/{name}", data)
    return folder / name


def laid_beside(temporary: Path, path: Path) -> str:
    """Copies a file to where an agent in a jail can read it; returns where that is, in words."""
    try:
        return str(write_beside(temporary / OUTPUTS, path.name, path.read_bytes()))
    except (ModelFault, OSError) as error:
        return f"a file you can't read, since it could not be laid beside you: {error}"
