"""Keeps one file like another for those who see that very file through a mount.

What replaces a file by renaming, as git does, is not seen through a mount of the old one. So the
mirror is written to where it is; a reader may catch it half written, for some microseconds.
"""

import fcntl
from pathlib import Path


def mirror(source: Path, target: Path) -> None:
    """Gives `target` the content of `source`; it is empty where there is no source."""
    if _is_older(source, target):
        return
    with target.open("r+b" if target.exists() else "w+b") as file:
        # Who waited here must not write what it read before another wrote something newer.
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            content = source.read_bytes()
        except FileNotFoundError:
            content = b""
        if file.read() == content:
            return
        file.seek(0)
        file.write(content)
        file.truncate()


def _is_older(source: Path, target: Path) -> bool:
    """True where a look at the contents is not needed."""
    try:
        return source.stat().st_mtime_ns < target.stat().st_mtime_ns
    except FileNotFoundError:
        return False
