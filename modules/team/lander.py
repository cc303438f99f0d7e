"""Takes entries of the merge queue to their end, several at once.

What is checked when and what the results decide is in probe_plan and probe_pace. One turn: take in
what others wrote and did → merge what waits into a chain, in memory → stop checks that are no
longer of it → land, eject or leave waiting what the results decide, else start checks. Turns follow
one another until nothing is left to decide; then the target branch follows, and the next turn
comes when a check ends or somebody stirs. Each turn reads everything anew, so no event is missed.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from modules.git.refs import ENTRIES
from modules.git.repository import Repository
from modules.records.merges import (
    FINAL_STATUSES,
    CheckOutcome,
    Conflict,
    Entry,
    EntryStatus,
    Receipt,
)
from modules.records.queue_records import CheckBegun, EntryReturned, EntrySettled
from modules.team.candidates import Candidates
from modules.team.chain import Chains, Item, Outside, Stack
from modules.team.landings import Landings
from modules.team.probe_pace import Pace
from modules.team.probe_plan import (
    Act,
    Decision,
    Ground,
    Known,
    decide,
    decide_alone,
    plan,
    plan_alone,
)
from modules.team.probes import Probes
from modules.team.proof import Proof
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog

_SURE = 2
"""So many times what has landed must fail alone before it is to blame."""


class Lander:
    """Lands the entries of one target branch; only the holder of the queue's lock may use it."""

    def __init__(
        self,
        repository: Repository,
        log: QueueLog,
        publisher: Publisher,
        probes: Probes,
        *,
        check: str,
        may_land: Callable[[Entry], str | None],
        step: Callable[[str], None],
    ) -> None:
        self._target = repository.target
        self._log = log
        self._publisher = publisher
        self._probes = probes
        self._check = check
        self._step = step
        self._candidates = Candidates(log, publisher, target=self._target, may_land=may_land)
        self._chains = Chains(repository)
        self._landings = Landings(repository, log, publisher, probes, check=check, step=step)
        self._ended: deque[int] = deque()
        self._patience_seconds: float | None = None
        self._stirred = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def joining_problem(self) -> str:
        """Why commits made beside what has landed could not be merged with it."""
        return self._candidates.joining_problem

    @property
    def pause_reason(self) -> str:
        """Why no entry can land now; empty when one can, or none waits."""
        waiting = self._candidates.open_entries()
        if not waiting:
            return ""
        if self._publisher.problem:
            return self._publisher.problem
        if not self._check.strip():
            return "No check is set, so nothing can be proven. Set one (--check, or team.toml)."
        reasons = [self._candidates.stuck_reason(entry) for entry in waiting]
        return reasons[0] if all(reasons) else ""

    @property
    def is_at_work(self) -> bool:
        """True while checks run."""
        return self._probes.lanes_used > 0

    def recover(self) -> None:
        """Makes good whatever a killed run left half done; blocks."""
        self._candidates.clear()
        self._begin()
        self._publisher.look()
        self._publisher.follow(anew=True)

    async def land_next(self) -> Entry | None:
        """Returns the next entry that came to its end, or has to wait for something else to land.

        Returns None when no entry can be taken up. Checks of others go on after it returned.
        """
        self._stirred, self._loop = asyncio.Event(), asyncio.get_running_loop()
        try:
            if not self.is_at_work and not self._ended:
                await asyncio.to_thread(self._begin)
            await self._work()
        except BaseException:
            await self._probes.stop()
            raise
        finally:
            self._loop = None
        return self._log.state.entries[self._ended.popleft()] if self._ended else None

    async def stop(self) -> None:
        """Stops all checks and waits until nothing is left of them."""
        await self._probes.stop()

    def stir(self) -> None:
        """Makes whoever waits in `land_next` look at everything anew; may be called anywhere."""
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self._stirred.set)

    def _begin(self) -> None:
        """Ends what was begun: only one lander works at a time, so it was cut off."""
        self._log.catch_up()
        self._landings.finish()
        for entry in self._candidates.open_entries():
            if entry.status is EntryStatus.CHECKING:
                self._return(entry, "Its check was cut off.")
        self._probes.forget_failures()

    async def _work(self) -> None:
        """Takes turns until an entry came to its end or nothing can be done."""
        is_first = True
        while not self._ended:
            while await self._turn():
                pass
            await asyncio.to_thread(self._publisher.follow, anew=is_first)
            is_first = False
            if self._ended or not self.is_at_work:
                return
            await self._probes.wait(self._stirred, timeout_seconds=self._patience_seconds)
            self._stirred.clear()

    async def _turn(self) -> bool:
        """Decides one thing and returns True, or starts the checks that are wanted."""
        self._patience_seconds = None
        pins = await asyncio.to_thread(self._look)
        if self._publisher.problem or not self._check.strip():
            self._probes.keep(())
            return False
        for entry, reason in self._candidates.objections():
            self._end(entry, EntryStatus.REJECTED, reason)
        items = self._candidates.items()
        now = self._probes.pace(self._log.state.entries_for(self._target), backlog=len(items))
        landed = self._publisher.seen.landed
        ground = Stack(await asyncio.to_thread(self._chains.ground, landed), ())
        if self._judged(ground, self._check) is Ground.BAD:
            return await self._turn_alone(ground, items, pins, now)
        return await self._turn_together(ground, items, pins, now)

    def _look(self) -> Mapping[str, str]:
        """Takes in what others did; returns the pinned commits of open entries."""
        self._log.catch_up()
        names = [f"{ENTRIES}{entry.entry_id}" for entry in self._candidates.open_entries()]
        pins = self._publisher.look(*names)
        self._candidates.look()
        return pins

    async def _turn_together(
        self, ground: Stack, items: Sequence[Item], pins: Mapping[str, str], now: Pace
    ) -> bool:
        length = len(self._candidates.front) + now.lanes * now.chunk
        stacks = await asyncio.to_thread(self._build, ground, items, pins, length)
        known = self._known(ground, stacks)
        suspect = self._suspect(stacks, known)
        judged = self._judged(ground, suspect)
        decision = decide(known, ground=judged)
        if decision is not None and not self._is_patient(decision, stacks, known):
            await self._carry_out(decision, stacks)
            return True
        proven = 0 if decision is None else decision.stack + 1
        wanted = plan(
            known[proven:],
            ground=Ground.GOOD if proven else judged,
            is_ground_running=self._probes.known(ground, (suspect,)).is_running,
            free=now.lanes - self._probes.lanes_used,
            chunk=now.chunk,
        )
        if 0 in wanted:
            self._probes.start(ground, (suspect,), name="landed")
        lengths = [proven + length for length in wanted if length]
        self._start([stacks[length - 1] for length in lengths])
        busy = [n for n, one in enumerate(known, 1) if one.is_running or one.failures]
        links = stacks[max(busy + lengths) - 1].links if busy or lengths else ()
        self._candidates.front = tuple(link.item_id for link in links)
        return False

    async def _turn_alone(
        self, ground: Stack, items: Sequence[Item], pins: Mapping[str, str], now: Pace
    ) -> bool:
        self._candidates.front = ()
        stacks: list[Stack] = []
        for item in items:
            if len(stacks) < now.lanes:
                stacks += await asyncio.to_thread(self._build, ground, [item], pins, 1)
        known = self._known(ground, stacks)
        decision = decide_alone(known)
        if decision is not None:
            await self._carry_out(decision, stacks)
            return True
        free = now.lanes - self._probes.lanes_used
        self._start([stacks[index] for index in plan_alone(known, free=free)])
        return False

    def _build(
        self, ground: Stack, items: Sequence[Item], pins: Mapping[str, str], length: int
    ) -> list[Stack]:
        """Returns the prefixes of the chain; ends the entries that can't land."""
        chain = self._chains.build(ground.top.commit, items, pins=pins, length=length)
        for refusal in chain.refusals:
            if refusal.status is None:
                self._leave(refusal.item, refusal.reason)
            else:
                self._end(refusal.item, refusal.status, refusal.reason, conflicts=refusal.conflicts)
        return chain.prefixes

    def _known(self, ground: Stack, stacks: Sequence[Stack]) -> list[Known]:
        """Stops the checks of all other stacks and returns what is known of these."""
        self._probes.keep([ground.top.commit, *(stack.top.commit for stack in stacks)])
        return [self._probes.known(stack, stack.commands(self._check)) for stack in stacks]

    def _suspect(self, stacks: Sequence[Stack], known: Sequence[Known]) -> str:
        """Returns the command to try on what has landed before anybody is blamed.

        It is empty for a task's own check: that it fails there says nothing.
        """
        for stack, one in zip(stacks, known, strict=True):
            if one.failures:
                receipt = self._failure(stack).receipt
                is_red = receipt.outcome in (CheckOutcome.FAILED, CheckOutcome.TIMED_OUT)
                return "" if is_red and receipt.command != self._check else receipt.command
        return self._check

    def _failure(self, stack: Stack) -> Proof:
        """Returns the newest result that counts against a stack; there is one."""
        return self._probes.failures(stack, stack.commands(self._check))[-1]

    def _judged(self, ground: Stack, command: str) -> Ground:
        known = self._probes.known(ground, (command,))
        if not command or known.passed:
            return Ground.GOOD
        return Ground.BAD if len(known.failures) >= _SURE else Ground.UNKNOWN

    def _is_patient(
        self, decision: Decision, stacks: Sequence[Stack], known: Sequence[Known]
    ) -> bool:
        """True while a landing waits for shorter prefixes, so each gets a proof of its own tree."""
        if decision.act is not Act.LAND or not any(k.is_running for k in known[: decision.stack]):
            return False
        stack = stacks[decision.stack]
        left = self._probes.patience_seconds(stack, stack.commands(self._check))
        self._patience_seconds = left
        return left > 0

    def _start(self, stacks: Sequence[Stack]) -> None:
        begun = [
            CheckBegun(at=self._log.clock(), entry_id=entry_id, tree=tree)
            for entry_id, tree in _not_begun(stacks).items()
        ]
        if begun:
            self._step("begin checks")
            self._log.note(*begun)
        for stack in stacks:
            name = str(stack.links[-1].item_id or "join")
            self._probes.start(stack, stack.commands(self._check), name=name)

    async def _carry_out(self, decision: Decision, stacks: Sequence[Stack]) -> None:
        stack = stacks[decision.stack]
        item = stack.links[-1].item
        match decision.act:
            case Act.LAND:
                await asyncio.to_thread(self._landings.land, stack)
                entries = self._log.state.entries
                ids = [entry.entry_id for entry in stack.entries]
                self._ended += (n for n in ids if entries[n].status in FINAL_STATUSES)
            case Act.EJECT:
                proof = self._failure(stack)
                self._end(item, EntryStatus.FAILED, proof.text, receipt=proof.receipt)
            case Act.WAIT:
                without = f" So it does on {self._target!r} without it; the fault lies there."
                self._leave(item, self._failure(stack).text + without)
            case _:
                assert_never(decision.act)

    def _end(
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

    def _leave(self, item: Item, reason: str) -> None:
        """Lets an item keep its place until something else has landed."""
        if isinstance(item, Outside):
            self._candidates.refuse_joining(reason)
            return
        self._step("leave waiting")
        self._candidates.wait(item, reason)
        self._ended.append(item.entry_id)

    def _return(self, entry: Entry, reason: str) -> None:
        self._log.note(EntryReturned(at=self._log.clock(), entry_id=entry.entry_id, reason=reason))


def _not_begun(stacks: Sequence[Stack]) -> dict[int, str]:
    """Returns the entries no check has begun for, by id, with their trees."""
    links = [link for stack in stacks for link in stack.links]
    return {
        link.item.entry_id: link.step.tree
        for link in links
        if isinstance(link.item, Entry) and link.item.status is EntryStatus.QUEUED
    }
