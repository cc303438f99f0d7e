"""Waits for the disk in a thread, so that an event loop need not.

1. `synced` returns once everything that was written before it was asked for is on disk.
2. One sync runs at a time. All who ask while it runs share the next one.
3. A sync that fails fails for all who shared it. Where none of them waits any more, since each was
   cancelled, whoever asks next is told.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from modules.records.errors import PersonFault

_log = logging.getLogger(__name__)


class SharedSync:
    """Syncs one file for whoever asks on one event loop; `sync` blocks, it may raise PersonFault.

    The thread begins with the first to ask and ends with `close`.
    """

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._thread: ThreadPoolExecutor | None = None
        self._turn = asyncio.Lock()
        self._asked = 0
        self._done = 0
        """The last of those who asked that a sync has served."""
        self._fault: PersonFault | None = None
        self._failed = 0
        """The last of those whom the sync that failed was for."""
        self._is_told = True

    async def synced(self) -> None:
        """Returns once what was written before is on disk; raises PersonFault when it can't be."""
        self._asked += 1
        mine = self._asked
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sync")
        async with self._turn:
            if self._done < mine:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._thread, self._serve, self._asked)
        if self._fault is not None and (mine <= self._failed or not self._is_told):
            self._is_told = True
            raise self._fault

    def close(self) -> None:
        """Ends the thread; waits for the sync it is at."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
        if not self._is_told:
            _log.warning("%s", self._fault)

    def _serve(self, last: int) -> None:
        try:
            self._sync()
        except PersonFault as error:
            self._fault, self._failed, self._is_told = error, last, False
        self._done = last
