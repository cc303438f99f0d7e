"""Wakes a waiter when another process writes below a folder; no polling."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles import Change

_QUIET_MILLISECONDS = 20


async def changes(folder: Path) -> AsyncIterator[frozenset[Path]]:
    """Yields the files that changed directly in `folder`, several changes at once as one.

    The first set is empty: from then on nothing is missed, so what came before is worth a look.
    """
    from watchfiles import awatch

    batches = awatch(
        folder,
        recursive=False,
        step=_QUIET_MILLISECONDS,
        debounce=_QUIET_MILLISECONDS * 5,
        watch_filter=None,
    )
    first = asyncio.ensure_future(anext(batches))
    try:
        # The watch is set up in the first step of `first`, before it waits for anything.
        await asyncio.sleep(0)
        yield frozenset()
        yield _paths(await first)
    finally:
        first.cancel()
    async for batch in batches:
        yield _paths(batch)


def _paths(batch: set[tuple["Change", str]]) -> frozenset[Path]:
    return frozenset(Path(path) for _, path in batch)
