"""Writes down what becomes of entries, and hands out those that came to their end."""

from collections import deque
from collections.abc import Callable, Sequence

from modules.records.merges import FINAL_STATUSES, Conflict, Entry, EntryStatus, Receipt
from modules.records.queue_records import CheckBegun, EntryReturned, EntrySettled
from modules.team.candidates import Candidates
from modules.team.chain import Item, Outside, Stack
from modules.team.queue_log import QueueLog


class Outcomes:
    """What became of the entries of one target since somebody last asked."""

    def __init__(
        self, log: QueueLog, candidates: Candidates, *, step: Callable[[str], None]
    ) -> None:
        self._log = log
        self._candidates = candidates
        self._step = step
        self._ended: deque[int] = deque()

    @property
    def is_empty(self) -> bool:
        """True when there is no entry to hand out."""
        return not self._ended

    def next_entry(self) -> Entry | None:
        """Returns the entry that came to its end first, or has to wait, and was not handed out."""
        return self._log.state.entries[self._ended.popleft()] if self._ended else None

    def begin(self, stacks: Sequence[Stack]) -> None:
        """Notes that checks begin on stacks, for the entries that none had begun for."""
        trees = {
            link.item.entry_id: link.step.tree
            for stack in stacks
            for link in stack.links
            if isinstance(link.item, Entry) and link.item.status is EntryStatus.QUEUED
        }
        if trees:
            self._step("begin checks")
            now = self._log.clock()
            self._log.note(*(CheckBegun(at=now, entry_id=i, tree=t) for i, t in trees.items()))

    def landed(self, stack: Stack) -> None:
        """Takes in the entries of a stack that ended with its landing."""
        entries = self._log.state.entries
        ids = [entry.entry_id for entry in stack.entries]
        self._ended += (number for number in ids if entries[number].status in FINAL_STATUSES)

    def end(
        self,
        item: Item,
        status: EntryStatus,
        reason: str,
        *,
        receipt: Receipt | None = None,
        conflicts: tuple[Conflict, ...] = (),
    ) -> None:
        """Takes an item out of the queue for good."""
        if isinstance(item, Outside):
            self._candidates.refuse_joining(reason)
            return
        self._step("end")
        self._log.note(
            EntrySettled(
                at=self._log.clock(),
                entry_id=item.entry_id,
                status=status,
                reason=reason,
                conflicts=conflicts,
                receipt=receipt,
            )
        )
        self._ended.append(item.entry_id)

    def leave(self, item: Item, reason: str) -> None:
        """Lets an item keep its place until something else has landed."""
        if isinstance(item, Outside):
            self._candidates.refuse_joining(reason)
            return
        self._step("leave waiting")
        self._candidates.wait(item, reason)
        self._ended.append(item.entry_id)

    def cut_off(self, entries: Sequence[Entry]) -> None:
        """Puts back the entries whose check ended with the process that ran it."""
        now, reason = self._log.clock(), "Its check was cut off."
        found = [e.entry_id for e in entries if e.status is EntryStatus.CHECKING]
        self._log.note(*(EntryReturned(at=now, entry_id=i, reason=reason) for i in found))
