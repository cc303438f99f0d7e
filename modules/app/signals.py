"""What asks a crew at work to end, and the one orderly end it all leads to.

1. SIGINT, SIGTERM, SIGHUP, or a reader that left, cancel the run once. It then stops its workers
   and gives its lock back; the exit code says what asked first.
2. Whatever asks after that changes nothing: the end is under way.
3. Where somebody talks with the lead, SIGINT is a key of theirs and not the end.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from modules.records.exits import Exit

T = TypeVar("T")

_EXITS = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.TERMINATED,
}


class Ending:
    """Whether a run was asked to end, and by what."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end
        self.exit_code: Exit | None = None
        self.on_interrupt: Callable[[], object] | None = None
        """What SIGINT does instead, while somebody talks with the lead."""

    def ask(self, exit_code: Exit) -> None:
        """Ends the run in order; does nothing when it is ending."""
        if self.exit_code is None:
            self.exit_code = exit_code
            self._end()

    def take_signal(self, number: signal.Signals) -> None:
        """Takes in a signal."""
        if number is signal.SIGINT and self.on_interrupt is not None:
            self.on_interrupt()
        else:
            self.ask(_EXITS[number])


def run_until_asked(work: Callable[[Ending], Coroutine[Any, Any, T]]) -> T | Exit:
    """Runs `work` to its end, or in order to the end that something asks for."""

    async def guarded() -> T | Exit:
        ending = Ending(lambda: task.cancel())
        task = asyncio.ensure_future(work(ending))
        with _signals(ending.take_signal):
            try:
                return await task
            except asyncio.CancelledError:
                if ending.exit_code is None:
                    raise
                return ending.exit_code

    return asyncio.run(guarded())


@contextlib.contextmanager
def _signals(take: Callable[[signal.Signals], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in _EXITS:
        loop.add_signal_handler(number, take, number)
    try:
        yield
    finally:
        for number in _EXITS:
            loop.remove_signal_handler(number)
