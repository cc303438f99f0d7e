"""Folders for a moment's use; what a killed process leaves of them, a later sweep removes.

The user of a folder holds a lock on it, which the kernel frees when that process dies. So a sweep
knows which are in use, whatever became of their processes' numbers.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Gives a new folder in `parent`, made where it is missing; it is gone at the end."""
    parent.mkdir(parents=True, exist_ok=True)
    folder, descriptor = _make_held(parent, prefix)
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder)
        finally:
            os.close(descriptor)


def sweep_scratch(parent: Path, prefix: str) -> None:
    """Removes the folders in `parent` that `scratch_folder` made and nobody uses any more."""
    for folder in parent.glob(f"{prefix}*"):
        if not folder.is_dir() or folder.is_symlink():
            continue
        with contextlib.suppress(FileNotFoundError, BlockingIOError):  # gone meanwhile, or in use
            descriptor = _open(folder)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(descriptor)


def _make_held(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        # A sweep may find it before it is locked.
        with contextlib.suppress(FileNotFoundError):
            descriptor = _open(folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.is_dir():
                return folder, descriptor
            os.close(descriptor)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
