"""Looks at the queue and its branch, and builds chains of what it saw.

1. An entry is in a chain only if its pinned commit was seen; one submitted since waits for the next
   look.
2. What can't land on what has landed comes to its end here, without a check.
"""

from collections.abc import Mapping, Sequence, Set

from modules.git.refs import ENTRIES, Head
from modules.records.merges import EntryStatus
from modules.team.candidates import Candidates
from modules.team.chain import Chains, Item, Stack
from modules.team.merge_rules import Position
from modules.team.outcomes import Outcomes
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog


class ChainSource:
    """The entries and branches of one target as they were last looked at; all of it blocks."""

    def __init__(
        self,
        log: QueueLog,
        publisher: Publisher,
        candidates: Candidates,
        chains: Chains,
        outcomes: Outcomes,
    ) -> None:
        self._log = log
        self._publisher = publisher
        self._candidates = candidates
        self._chains = chains
        self._outcomes = outcomes
        self._heads: Mapping[str, Head] = {}
        """The commits of open entries and branches, by id."""
        self._pinned: Set[int] = frozenset()
        """The entries that were open."""

    def look(self) -> None:
        """Takes in what others did, to entries and to branches."""
        self._log.catch_up()
        open_entries = self._candidates.open_entries()
        names = [f"{ENTRIES}{entry.entry_id}" for entry in open_entries]
        self._heads = {tip.commit: tip for tip in self._publisher.look(*names).values()}
        self._pinned = {entry.entry_id for entry in open_entries}
        self._candidates.look()

    def look_after(self, landed: Stack) -> None:
        """Looks anew after a landing, if that isn't the plain move it was meant to be."""
        seen = self._publisher.seen
        if seen.landed != landed.top.commit:
            self._chains.forget()
            self.look()
        elif seen.where not in (Position.LEVEL, Position.BEHIND):
            self.look()
        self._candidates.look()

    def reject_objected(self) -> bool:
        """Ends the entries that may no longer land; returns whether there were any."""
        objections = self._candidates.objections()
        for entry, reason in objections:
            self._outcomes.end(entry, EntryStatus.REJECTED, reason)
        return bool(objections)

    def items(self) -> list[Item]:
        """Returns what may be in the chain, in its order."""
        return self._candidates.items(self._pinned)

    def ground(self) -> Stack:
        """Returns what has landed, with nothing on top."""
        return Stack(self._chains.ground(self._publisher.seen.landed), ())

    def build(self, ground: Stack, items: Sequence[Item], length: int) -> list[Stack]:
        """Returns the prefixes of the chain; ends the entries that can't land."""
        chain = self._chains.build(ground.top.commit, items, heads=self._heads, length=length)
        for refusal in chain.refusals:
            if refusal.status is None:
                self._outcomes.leave(refusal.item, refusal.reason)
            else:
                self._outcomes.end(
                    refusal.item, refusal.status, refusal.reason, conflicts=refusal.conflicts
                )
        return chain.prefixes

    def build_each(self, ground: Stack, items: Sequence[Item], count: int) -> list[Stack]:
        """Returns the first items, `count` of them, each alone on the ground."""
        stacks: list[Stack] = []
        for item in items:
            if len(stacks) < count:
                stacks += self.build(ground, [item], 1)
        return stacks
