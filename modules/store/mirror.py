"""Keeps one file like another for those who see that very file through a mount.

1. What replaces a file by renaming, as git does, is not seen through a mount of the old one. So the
   mirror is written to where it is; a reader may catch it half written, for some microseconds.
2. It has the time of what it was written from: so a look at both tells whether they are alike.
3. Several may write it at once. Each looks at the source again afterwards, so the last one leaves
   what the source is then. No lock parts them: who sees the mirror could hold that for ever.
"""

import os
from pathlib import Path

_Version = tuple[int, int]
"""Of a file: when it was written, in nanoseconds, and how long it is."""
_NOTHING: _Version = (0, 0)


def mirror(source: Path, target: Path) -> None:
    """Gives `target` the content of `source`; it is empty where there is no source."""
    if target.exists() and _version(target) == _version(source):
        return
    while _write(source, target) != _version(source):
        pass


def _write(source: Path, target: Path) -> _Version:
    """Writes the mirror and returns what version of the source it holds."""
    try:
        with source.open("rb") as file:
            content, version = file.read(), _version_of(os.fstat(file.fileno()))
    except FileNotFoundError:
        content, version = b"", _NOTHING
    with target.open("r+b" if target.exists() else "w+b") as file:
        if file.read() != content:
            file.seek(0)
            file.write(content)
            file.truncate()
            file.flush()
        os.utime(file.fileno(), ns=(version[0], version[0]))
    return version


def _version(path: Path) -> _Version:
    try:
        return _version_of(path.stat())
    except FileNotFoundError:
        return _NOTHING


def _version_of(facts: os.stat_result) -> _Version:
    return facts.st_mtime_ns, facts.st_size
