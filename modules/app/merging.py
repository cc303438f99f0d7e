"""Drives the merge queue, and tells board, waiting workers and events what comes of it.

Only a landing record of the queue completes a task that had changes; after a crash `settle_board`
makes the board say what the queue's journal says. A verdict that no worker waits for any more
gives the task back to the board.
"""

import asyncio
import contextlib
from collections.abc import Callable

from modules.app.event_bus import EventBus
from modules.records.events import EntryChanged, TargetFails, TargetHeld
from modules.records.merges import FINAL_STATUSES, Entry, EntryStatus, Submission
from modules.records.queue_records import NO_TASK
from modules.records.tasks import Claim, TaskStatus
from modules.team.board_rules import current_claim
from modules.team.merge_queue import MergeQueue
from modules.team.task_board import BoardRefusal, TaskBoard

_TO_GO_ON_WITH = frozenset({EntryStatus.CONFLICTED, EntryStatus.FAILED})


class MergeDriver:
    """Lands what the queue holds for as long as it runs."""

    def __init__(
        self,
        queue: MergeQueue,
        board: TaskBoard,
        events: EventBus,
        *,
        after_landing: Callable[[], object],
    ) -> None:
        self._queue = queue
        self._board = board
        self._events = events
        self._after_landing = after_landing
        """Blocks; runs off the event loop."""
        self._wake = asyncio.Event()
        self._waiting: set[asyncio.Future[None]] = set()
        self._awaited: set[int] = set()
        """Entries whose worker waits for the verdict."""
        self._is_landing = False
        self._held_for = ""
        self._alarm = ""

    def wake(self) -> None:
        """Makes the driver look at the queue anew."""
        self._wake.set()

    @property
    def is_busy(self) -> bool:
        """True while an entry is being landed or could be."""
        return self._is_landing or (not self._queue.pause_reason and self._has_open_entry())

    async def run(self) -> None:
        """Lands what can land until it is cancelled."""
        try:
            while True:
                await self._land()
        finally:
            await self._queue.stop()

    async def _land(self) -> None:
        """Takes in what came of one entry; waits to be woken when none can be taken up."""
        self._wake.clear()
        self._is_landing = True
        try:
            entry = await self._queue.land_next()
        finally:
            self._is_landing = False
        if entry is not None and entry.status is EntryStatus.MERGED:
            await asyncio.to_thread(self._after_landing)
        self._tell_held()
        self._tell_alarm()
        self._settle_waiting()
        self._events.stir()
        if entry is None:
            # What could not be checked is tried again though nobody stirs.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._queue.retry_seconds):
                    await self._wake.wait()

    async def submit(self, submission: Submission) -> Entry:
        """Puts a submission in the queue and returns its entry."""
        entry = await asyncio.to_thread(self._queue.submit, submission)
        self.wake()
        return entry

    def holds(self, claim: Claim) -> bool:
        """Returns whether work of this claim is in the queue without a verdict."""
        return any(
            entry.status not in FINAL_STATUSES and _is_of(entry, claim)
            for entry in self._queue.entries()
        )

    async def verdict(self, entry_id: int) -> tuple[Entry, str]:
        """Returns the entry once it is final, or as it stands with the reason the queue pauses."""
        self._awaited.add(entry_id)
        try:
            while True:
                entry = self._queue.entry(entry_id)
                if entry.status in FINAL_STATUSES:
                    return entry, ""
                if self._queue.pause_reason and not self._is_landing:
                    return entry, self._queue.pause_reason
                await self._next_step()
        finally:
            self._awaited.discard(entry_id)

    async def _next_step(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def changed(self, entry: Entry) -> None:
        """Takes in that an entry stands elsewhere; the queue calls this."""
        self._events.emit(
            EntryChanged(
                at=entry.changed_at,
                entry=entry.entry_id,
                task=entry.submission.task,
                status=str(entry.status),
                commit=entry.submission.commit,
                reason=entry.reason,
                landed_as=entry.landed_as,
            )
        )
        if entry.submission.task == NO_TASK:
            pass  # a revert or outside work belongs to no task
        elif entry.status is EntryStatus.MERGED:
            self._complete(entry)
        elif entry.status in FINAL_STATUSES and entry.entry_id not in self._awaited:
            self._give_back(entry)
        if entry.status in FINAL_STATUSES:
            self._settle_waiting()

    def settle_board(self) -> None:
        """Makes the board say what the queue's journal says: after a crash between the two."""
        for entry in self._queue.entries():
            if entry.status is EntryStatus.MERGED and entry.submission.task != NO_TASK:
                self._complete(entry)

    def may_land(self, entry: Entry) -> str | None:
        """Returns why an entry may no longer land, None when it may."""
        try:
            task = self._board.task(entry.submission.task)
        except BoardRefusal as refusal:
            return str(refusal)
        if task.status is TaskStatus.CANCELLED:
            return f"Task {task.task_id} was cancelled."
        if task.status is TaskStatus.COMPLETED:
            return f"Task {task.task_id} is completed already."
        claim = current_claim(task)
        if (claim.attempt, claim.generation) != (
            entry.submission.attempt,
            entry.submission.generation,
        ):
            return (
                f"Attempt {entry.submission.attempt} of task {task.task_id} has ended; "
                f"attempt {task.attempt} is the current one."
            )
        return None

    def _complete(self, entry: Entry) -> None:
        if entry.receipt is None:
            raise RuntimeError(f"Entry {entry.entry_id} is merged without a receipt.")
        task = self._board.task(entry.submission.task)
        if task.status is not TaskStatus.COMPLETED:
            self._board.complete_landed(
                task.task_id, receipt=entry.receipt, landed_as=entry.landed_as
            )

    def _give_back(self, entry: Entry) -> None:
        """Frees the task of work that came back from the queue when its worker has gone."""
        task = self._board.task(entry.submission.task)
        claim = current_claim(task)
        if not _is_of(entry, claim):
            return
        if task.status is TaskStatus.IN_REVIEW:
            self._board.release(
                claim, reason=f"{entry.status}: {entry.reason}", is_failure=False, by="queue"
            )
        elif task.status is TaskStatus.PARKED and entry.status in _TO_GO_ON_WITH:
            # It rested for a review, or for the queue; that is over.
            self._board.retry(task.task_id, by="queue")

    def _has_open_entry(self) -> bool:
        return any(entry.status not in FINAL_STATUSES for entry in self._queue.entries())

    def _settle_waiting(self) -> None:
        for future in list(self._waiting):
            if not future.done():
                future.set_result(None)

    def _tell_held(self) -> None:
        reason = self._queue.hold_reason
        if reason and reason != self._held_for:
            self._events.emit(
                TargetHeld(
                    at=self._events.clock(),
                    target=self._queue.target,
                    landed=self._queue.landed,
                    why=reason,
                )
            )
        self._held_for = reason

    def _tell_alarm(self) -> None:
        why = self._queue.alarm
        if why and why != self._alarm:
            self._events.emit(
                TargetFails(
                    at=self._events.clock(),
                    target=self._queue.target,
                    landed=self._queue.landed,
                    why=why,
                )
            )
        self._alarm = why


def _is_of(entry: Entry, claim: Claim) -> bool:
    work = entry.submission
    return (work.task, work.attempt, work.generation) == (
        claim.task,
        claim.attempt,
        claim.generation,
    )
