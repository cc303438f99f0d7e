"""An event loop whose time jumps to the next timer instead of passing."""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from tests.fakes.clock import START

ResultT = TypeVar("ResultT")


class _JumpingSelector(selectors.DefaultSelector):
    """Waits for nothing: what it would wait for a timer is added to the time at once."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("Everybody waits, and no timer runs.")
        self.passed += max(0.0, timeout)
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop for code that waits for timers and its own events alone."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Returns the seconds that passed."""
        return self._jumping.passed

    def now(self) -> datetime:
        """Returns the date the loop is at."""
        return START + timedelta(seconds=self.time())


def run_in_virtual_time(main: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Runs `main` as asyncio.run does; a dead lock is an AssertionError."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def virtual_now() -> datetime:
    """Returns the date of the running VirtualTimeLoop: a clock for code under test."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        raise TypeError(f"{loop!r} has no virtual time.")
    return loop.now()
