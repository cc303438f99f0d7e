"""Builds chains: entries merged in memory, one on top of the other, onto what has landed.

1. An entry that can't be merged onto those before it stays out until they have landed or gone;
   only what has landed decides whether it can land at all.
2. So it is with an entry that would change nothing on top of those before it.
3. What was made is remembered by what it was made from; making it again gives the same commit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from modules.git.merging import Merged
from modules.git.refs import Head, merge_base, tree_of
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.records.merges import Conflict, Entry, EntryStatus, Strategy
from modules.records.queue_records import NO_ENTRY
from modules.team.landing_plan import (
    Fork,
    GuardTripped,
    Step,
    clashing_paths,
    hand_back,
    knowing_attributes,
    landed_meanwhile,
    plan_entry,
    plan_joining,
    plan_replay,
)

_MOST_REMEMBERED = 2_000


@dataclass(frozen=True, slots=True)
class Outside:
    """Commits that somebody made on the target branch beside what has landed."""

    commit: str


Item = Entry | Outside


@dataclass(frozen=True, slots=True)
class Link:
    """One item of a chain, merged onto the one before it."""

    item: Item
    step: Step

    @property
    def item_id(self) -> int:
        """The entry's id."""
        return self.item.entry_id if isinstance(self.item, Entry) else NO_ENTRY


@dataclass(frozen=True, slots=True)
class Stack:
    """Links on top of what has landed that land together or not at all."""

    landed: Step
    links: tuple[Link, ...]

    @property
    def top(self) -> Step:
        """What would have landed with it."""
        return self.links[-1].step if self.links else self.landed

    @property
    def entries(self) -> list[Entry]:
        """The entries in it, oldest first."""
        return [link.item for link in self.links if isinstance(link.item, Entry)]

    def commands(self, check: str) -> tuple[str, ...]:
        """The commands that must pass on it: the repository's check, then the tasks' own."""
        own = (entry.submission.check for entry in self.entries)
        return tuple(dict.fromkeys(c for c in (check, *own) if c.strip()))


@dataclass(frozen=True, slots=True)
class Refusal:
    """An item that can't land on what has landed."""

    item: Item
    status: EntryStatus | None
    """Its end; None when its merge went wrong in a way that a person has to look into."""
    reason: str
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """What was built."""

    landed: Step
    links: tuple[Link, ...]
    refusals: tuple[Refusal, ...] = ()

    @property
    def prefixes(self) -> list[Stack]:
        """All prefixes but the empty one, shortest first."""
        return [Stack(self.landed, self.links[:n]) for n in range(1, len(self.links) + 1)]


_Made = Step | Merged | GuardTripped | Refusal | None


class Chains:
    """Builds the chains of one repository."""

    def __init__(self, repository: Repository, strategy: Strategy) -> None:
        self._repository = repository
        self._strategy = strategy
        self._git = repository.git
        self._steps: dict[str, Step] = {}
        self._made: dict[tuple[str, str], _Made] = {}
        self._heads: dict[str, Head] = {}
        self._forks: dict[str, Fork | None] = {}

    def forget(self) -> None:
        """Makes everything anew from now on: commits nobody points to may have been collected."""
        for memory in (self._steps, self._made, self._heads, self._forks):
            memory.clear()

    def build(
        self, landed: str, items: Sequence[Item], *, heads: Mapping[str, Head], length: int
    ) -> Chain:
        """Returns the chain of the first `length` items that go on top of each other; blocks.

        `heads` are the commits that are pinned, by id.
        """
        try:
            return self._build(landed, items, heads, length)
        except GitFault:
            # A commit made before, which nothing points to, may have been collected since.
            self.forget()
            return self._build(landed, items, heads, length)

    def _build(
        self, landed: str, items: Sequence[Item], heads: Mapping[str, Head], length: int
    ) -> Chain:
        ground = self.ground(landed)
        self._heads |= heads
        links, refusals = list[Link](), list[Refusal]()
        for item in items:
            if len(links) == length:
                break
            made = self._on(item, links[-1].step) if links else self._on_ground(item, ground)
            if links and not isinstance(made, Step):
                made = self._on_ground(item, ground)
                if isinstance(made, Step):
                    continue
            if isinstance(made, Step):
                links.append(Link(item, made))
            else:
                refusals.append(self._refusal(item, made, ground))
        return Chain(self._steps[ground.commit], tuple(links), tuple(refusals))

    def ground(self, landed: str) -> Step:
        """Returns what has landed as something to merge onto; blocks."""
        if landed not in self._steps or len(self._made) > _MOST_REMEMBERED:
            # Somebody else's commits: forks from before may lie elsewhere now.
            self.forget()
            self._steps[landed] = Step(landed, tree_of(self._git, landed))
        return self._steps[landed]

    def landed_meanwhile(self, item: Item, ground: Step) -> str:
        """Returns what an item was checked together with, in a sentence; blocks."""
        fork = self._forks.get(_head(item))
        return landed_meanwhile(self._repository, fork=fork, landed=ground) if fork else ""

    def _on_ground(self, item: Item, ground: Step) -> _Made:
        """Merges an item onto what has landed, by replaying its commits when need be."""
        made = self._on(item, ground)
        if isinstance(item, Outside) or not isinstance(made, Merged):
            return made
        key = (ground.commit, f"replay of {_key(item)}")
        if key not in self._made:
            fork, head = self._fork(item, ground), self._heads[_head(item)]
            step = fork and plan_replay(
                self._repository,
                item,
                head=head,
                fork=fork,
                landed=self._steps[ground.commit],
                strategy=self._strategy,
            )
            self._made[key] = self._remembered(step) if step else made
        return self._made[key]

    def _on(self, item: Item, onto: Step) -> _Made:
        key = (onto.commit, _key(item))
        if key not in self._made:
            self._made[key] = self._remembered(self._make(item, onto))
        return self._made[key]

    def _make(self, item: Item, onto: Step) -> _Made:
        head = self._heads.get(_head(item))
        if head is None:
            reason = f"The commit {_head(item)[:12]} is gone."
            return Refusal(item, EntryStatus.FAILED, reason)
        if isinstance(item, Outside):
            return plan_joining(self._repository, head=head, onto=onto)
        fork = self._fork(item, onto)
        if fork is None:
            reason = "The commit shares no history with what has landed."
            return Refusal(item, EntryStatus.FAILED, reason)
        if fork.commit != onto.commit:
            onto = knowing_attributes(self._git, self._steps[onto.commit])
            self._steps[onto.commit] = onto
        try:
            return plan_entry(
                self._repository, item, head=head, fork=fork, onto=onto, strategy=self._strategy
            )
        except GuardTripped as error:
            return error

    def _fork(self, entry: Entry, onto: Step) -> Fork | None:
        """Returns where an entry and what has landed part: landings only move away from there."""
        head = _head(entry)
        if head not in self._forks:
            commit = entry.fork or merge_base(self._git, onto.commit, head)
            self._forks[head] = Fork(commit, self._tree(commit)) if commit else None
        return self._forks[head]

    def _tree(self, commit: str) -> str:
        known = self._steps.get(commit) or self._heads.get(commit)
        return known.tree if known is not None else tree_of(self._git, commit)

    def _remembered(self, made: _Made) -> _Made:
        if isinstance(made, Step):
            self._steps[made.commit] = made
        return made

    def _refusal(self, item: Item, made: _Made, ground: Step) -> Refusal:
        match made:
            case Refusal():
                return made
            case Merged() if isinstance(item, Outside):
                reason = f"they conflict in {clashing_paths(made)}"
                return Refusal(item, EntryStatus.CONFLICTED, reason)
            case Merged() if isinstance(item, Entry) and (fork := self._forks[_head(item)]):
                reason, conflicts = hand_back(
                    self._repository, item, made, fork=fork, landed=ground
                )
                return Refusal(item, EntryStatus.CONFLICTED, reason, conflicts)
            case GuardTripped():
                return Refusal(item, None, str(made))
            case _:
                reason = "All that it changes has landed already."
                return Refusal(item, EntryStatus.NO_CHANGES, reason)


def _head(item: Item) -> str:
    return item.commit if isinstance(item, Outside) else item.submission.commit


def _key(item: Item) -> str:
    return item.commit if isinstance(item, Outside) else f"entry {item.entry_id}"
