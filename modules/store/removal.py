"""Removes whole folders, even where somebody closed parts of them to everybody."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path


def remove_tree(path: Path) -> None:
    """Removes `path`, whatever it is; does nothing where there is nothing."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, onerror=_allow_and_retry)


def _allow_and_retry(remove: Callable[[str], object], name: str, _: object) -> None:
    """Opens a folder that nobody may write to, and what is in it."""
    for path in (Path(name).parent, Path(name)):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IRWXU)
    if remove in (os.rmdir, os.unlink):
        remove(name)
    else:
        shutil.rmtree(name, onerror=_allow_and_retry)
