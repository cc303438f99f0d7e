"""What may be in the next chain, in which order, and why the rest of the queue waits.

1. An entry that can't be told good or bad on what has landed waits until something else lands or it
   is retried. So does one whose merge a person has to look into.
2. Commits made beside what has landed take part like an entry, in front of those nothing is known
   of. Once refused they are tried again when they or what has landed differ; while entries wait,
   only when they themselves do.
"""

from collections.abc import Callable, Set
from datetime import datetime
from typing import NamedTuple

from modules.records.merges import Entry
from modules.records.queue_records import NO_ENTRY, NO_TASK, EntryReturned
from modules.team.chain import Item, Outside
from modules.team.merge_rules import Position, in_turn
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog


class _Stuck(NamedTuple):
    """An entry that keeps its place until something else has landed."""

    landed: str
    """What had landed then."""
    changed_at: datetime
    """The entry's own; a retry changes it."""
    reason: str


class Candidates:
    """The entries and outside commits of one target that may be checked now."""

    def __init__(
        self,
        log: QueueLog,
        publisher: Publisher,
        *,
        target: str,
        may_land: Callable[[Entry], str | None],
    ) -> None:
        self._log = log
        self._publisher = publisher
        self._target = target
        self._may_land = may_land
        self._stuck: dict[int, _Stuck] = {}
        self._refused = ("", "")
        """The outside commits that could not be joined last, and what had landed then."""
        self.front: tuple[int, ...] = ()
        """Ids of those that lead the chain because something is known of them."""
        self.joining_problem = ""
        """Why commits made beside what has landed could not be merged with it."""

    def open_entries(self) -> list[Entry]:
        """Returns the entries that have not come to their end, oldest first."""
        return self._log.state.open_entries(self._target)

    def clear(self) -> None:
        """Forgets who waits: all are tried again."""
        self._stuck.clear()

    def look(self) -> None:
        """Lets those go on that waited for something to land, if it has."""
        seen = self._publisher.seen
        self._stuck = {k: s for k, s in self._stuck.items() if s.landed == seen.landed}
        if seen.where is not Position.BESIDE:
            self.joining_problem = ""

    def objections(self) -> list[tuple[Entry, str]]:
        """Returns the entries that may not land, each with the reason."""
        asked = [e for e in self.open_entries() if e.submission.task != NO_TASK]
        found = [(entry, self._may_land(entry)) for entry in asked]
        return [(entry, reason) for entry, reason in found if reason]

    def items(self, ids: Set[int]) -> list[Item]:
        """Returns what may be in the chain, in its order; of entries those with one of `ids`."""
        known = [entry for entry in self.open_entries() if entry.entry_id in ids]
        waiting = [entry for entry in known if not self.stuck_reason(entry)]
        entries = in_turn(waiting, first=self.front, now=self._log.clock())
        if not self._is_joining(has_entries=bool(entries)):
            return list(entries)
        before = self.front[: self.front.index(NO_ENTRY)] if NO_ENTRY in self.front else self.front
        place = sum(entry.entry_id in before for entry in entries)
        return [*entries[:place], Outside(self._publisher.seen.target), *entries[place:]]

    def wait(self, entry: Entry, reason: str) -> None:
        """Leaves an entry queued until something else lands or somebody retries it."""
        self._log.note(EntryReturned(at=self._log.clock(), entry_id=entry.entry_id, reason=reason))
        waiting = self._log.state.entries[entry.entry_id]
        landed = self._publisher.seen.landed
        self._stuck[entry.entry_id] = _Stuck(landed, waiting.changed_at, reason)

    def refuse_joining(self, reason: str) -> None:
        """Gives up on the commits beside what has landed, until they or it differ."""
        self._refused = (self._publisher.seen.target, self._publisher.seen.landed)
        self.joining_problem = (
            f"{self._target!r} has commits of its own that could not be merged with what has "
            f"landed: {reason} Merge them yourself: git merge {self._publisher.landed_ref}"
        )

    def stuck_reason(self, entry: Entry) -> str:
        """Returns why an entry waits for something else; empty when it doesn't."""
        stuck = self._stuck.get(entry.entry_id)
        return stuck.reason if stuck is not None and stuck.changed_at == entry.changed_at else ""

    def _is_joining(self, *, has_entries: bool) -> bool:
        seen = self._publisher.seen
        if seen.where is not Position.BESIDE:
            return False
        target, landed = self._refused
        return seen.target != target or (seen.landed != landed and not has_entries)
