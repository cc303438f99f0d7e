"""What is written in a watched folder is told at once, and nothing once the watch is over."""

import asyncio
from pathlib import Path

import pytest

from modules.store.folder_watch import watching


def test_file_written_or_renamed_in_any_of_the_folders_is_told(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()

    async def watch() -> None:
        changed = asyncio.Event()
        with watching((one, two), changed.set):
            (one / "a").write_text("x")
            await asyncio.wait_for(changed.wait(), 10)
            (tmp_path / "b").write_text("x")
            changed.clear()
            (tmp_path / "b").rename(two / "b")
            await asyncio.wait_for(changed.wait(), 10)
        changed.clear()
        (one / "c").write_text("x")
        await asyncio.sleep(0)
        assert not changed.is_set()

    asyncio.run(watch())


def test_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    async def watch() -> None:
        with watching((tmp_path / "none",), lambda: None):
            pass

    with pytest.raises(FileNotFoundError):
        asyncio.run(watch())
