"""Work that blocks, done in a thread and never left alone there."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

_ResultT = TypeVar("_ResultT")


async def to_its_end(work: Callable[[], _ResultT]) -> _ResultT:
    """Does `work` in a thread; cancelled meanwhile it still waits until that is done."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        while not thread.done():
            # A second cancellation is no reason to go either; the first one is passed on below.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({thread})
        if not thread.cancelled():
            thread.exception()
        raise
