"""Duties that run beside a body, for as long as it does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any


@contextlib.asynccontextmanager
async def guarded(
    failed: "asyncio.Future[None]", duties: Sequence[Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    """Runs `duties` beside the body; the first error of a duty or of `failed` ends both.

    That error is raised then, also where it came at the moment the body ended by itself.
    """
    body = asyncio.current_task()
    tasks = [asyncio.ensure_future(duty) for duty in duties]
    watched = [*tasks, failed]
    troubles: list[BaseException] = []
    is_ending = False

    def note(future: "asyncio.Future[Any]") -> None:
        troubles.extend(_errors_of(future))
        # A body that is ending is not cancelled: it would hit the wait for the duties.
        if troubles and body and not is_ending:
            body.cancel()

    for future in watched:
        future.add_done_callback(note)
    try:
        yield
    except asyncio.CancelledError:
        if not troubles or body is None:
            raise
        body.uncancel()
    finally:
        is_ending = True
        for future in watched:
            future.remove_done_callback(note)
            # Its callback may be due, but not have run yet.
            note(future)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if troubles:
        raise troubles[0]


def _errors_of(future: "asyncio.Future[Any]") -> list[BaseException]:
    """Returns the error a future ended with, if it ended, and with one."""
    if not future.done() or future.cancelled():
        return []
    error = future.exception()
    return [error] if error else []
