"""The merge queue's journal as one process sees it: state, appends, and who is told."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from modules.records.merges import Entry
from modules.records.queue_records import AnyQueueRecord
from modules.store.journal import Journal
from modules.store.paths import Paths
from modules.team.queue_state import QueueState


class QueueLog:
    """The journal, its fold, and the news of every entry that changed.

    It may be used from several threads. `on_change` is called in the thread of the event loop once
    there is one (`join_loop`), else in the thread that made the change.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        clock: Callable[[], datetime],
        on_change: Callable[[Entry], None],
    ) -> None:
        self.clock = clock
        self.state = QueueState()
        self._on_change = on_change
        self._lock = threading.RLock()
        self._changed: list[Entry] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._journal: Journal[AnyQueueRecord] = Journal(
            paths.queue, AnyQueueRecord, apply=self._apply
        )
        self._journal.catch_up()
        # What was there before is history, no news.
        self._changed.clear()

    @property
    def skipped_lines(self) -> int:
        """Lines of the journal that could not be read."""
        return self._journal.skipped_lines

    def join_loop(self) -> None:
        """Lets the running event loop's thread be the one that hears of changes."""
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()

    def catch_up(self) -> None:
        """Takes in what other processes wrote."""
        with self._lock:
            self._journal.catch_up()
            changed = self._taken()
        self._tell(changed)

    def write(self, decide: Callable[[], Sequence[AnyQueueRecord]]) -> None:
        """Appends what `decide` returns, decided on the newest state; on disk when it returns."""
        with self._lock:
            self._journal.append(decide)
            changed = self._taken()
        self._tell(changed)

    def note(self, *records: AnyQueueRecord) -> None:
        """Appends records that need no decision."""
        self.write(lambda: records)

    def entries(self) -> list[Entry]:
        """Returns all entries, oldest first."""
        with self._lock:
            return [self.state.entries[key] for key in sorted(self.state.entries)]

    def _apply(self, record: AnyQueueRecord) -> None:
        self._changed += self.state.apply(record)

    def _taken(self) -> list[Entry]:
        changed, self._changed = self._changed, []
        return changed

    def _tell(self, changed: Sequence[Entry]) -> None:
        for entry in changed:
            if self._loop is None or threading.get_ident() == self._loop_thread:
                self._on_change(entry)
            else:
                self._loop.call_soon_threadsafe(self._on_change, entry)
