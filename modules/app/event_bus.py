"""Hands every event of a run to whoever listens, in order, at once."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from modules.records.events import AnyEvent, Noticed


class EventBus:
    """The run's events; listeners must not block and must not raise."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self._listeners: list[Callable[[AnyEvent], None]] = []
        self._waiting: set[asyncio.Future[None]] = set()

    def listen(self, listener: Callable[[AnyEvent], None]) -> None:
        """Adds a listener for every event from now on."""
        self._listeners.append(listener)

    def emit(self, event: AnyEvent) -> None:
        """Tells all listeners."""
        for listener in self._listeners:
            listener(event)
        self.stir()

    def stir(self) -> None:
        """Wakes whoever waits in `stirred`: something is different, event or not."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def stirred(self) -> None:
        """Returns at the next event or stir."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def notice(self, text: str) -> None:
        """Tells the person one line."""
        self.emit(Noticed(at=self.clock(), text=text))
