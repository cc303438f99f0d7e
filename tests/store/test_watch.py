"""Changes of other processes wake a waiter, from the first look on."""

import asyncio
from pathlib import Path

import pytest

from modules.store.watch import changes


def test_first_look_misses_nothing_that_comes_after_it(tmp_path: Path) -> None:
    async def first_two() -> list[frozenset[Path]]:
        watching = changes(tmp_path)
        sets = [await anext(watching)]
        (tmp_path / "board.jsonl").write_text("changed")
        sets.append(await anext(watching))
        return sets

    assert asyncio.run(first_two()) == [frozenset(), {tmp_path / "board.jsonl"}]


def test_changes_go_on_and_leave_out_what_lies_deeper(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()

    async def seen() -> set[Path]:
        watching = changes(tmp_path)
        await anext(watching)
        found: set[Path] = set()
        for name in ("a", "b"):
            (tmp_path / "deep" / name).write_text("x")
            (tmp_path / name).write_text("x")
            while tmp_path / name not in found:
                found |= await anext(watching)
        return found

    found = asyncio.run(seen())

    assert found >= {tmp_path / "a", tmp_path / "b"}
    assert found <= set(tmp_path.iterdir())


def test_watch_ends_at_once_when_its_waiter_is_cancelled(tmp_path: Path) -> None:
    async def wait_and_cancel() -> float:
        async def consume() -> None:
            async for _ in changes(tmp_path):
                pass

        waiter = asyncio.create_task(consume())
        await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        waiter.cancel()
        await asyncio.wait([waiter])
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(wait_and_cancel()) < 2


def test_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    async def watch() -> None:
        async for _ in changes(tmp_path / "none"):
            pass

    with pytest.raises(FileNotFoundError):
        asyncio.run(watch())
