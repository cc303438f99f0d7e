"""Puts files where an agent can read them: into a folder of its own, which it may have changed.

The agent may have put links into the folder, or one in its place. So only what the folder lies in
is trusted, and the way from there on goes through the fence.
"""

from pathlib import Path

from modules.safety.fence import Fence


def write_beside(folder: Path, name: str, data: bytes) -> Path:
    """Writes a file into `folder`, making it; returns its path. Raises ModelFault."""
    Fence(folder.parent).write_bytes(f"{folder.name}/{name}", data)
    return folder / name
