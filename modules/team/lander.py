"""Takes entries of the merge queue to their end, several at once.

What is checked when and what the results decide is in probe_plan and probe_pace. One turn: take in
what others wrote and did → merge what waits into a chain, in memory → stop checks that are no
longer of it → land, eject or leave waiting what the results decide, else start checks. Turns follow
one another until nothing is left to decide; then the target branch follows, and the next turn
comes when a check ends or somebody stirs. Each row of turns begins with a look at everything, so no
event is missed. Only what is proven already lands without one; that fails if anything has moved.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

from modules.git.repository import Repository
from modules.records.merges import Entry, EntryStatus, Strategy
from modules.team.alarm import Alarm
from modules.team.candidates import Candidates
from modules.team.chain import Chains, Item, Stack
from modules.team.chain_source import ChainSource
from modules.team.evidence import Evidence
from modules.team.landings import Landings
from modules.team.outcomes import Outcomes
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
    plan_each,
)
from modules.team.probes import Probes
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog
from modules.team.threads import to_its_end


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
        strategy: Strategy,
        proves_each: bool = False,
        may_land: Callable[[Entry], str | None],
        step: Callable[[str], None],
    ) -> None:
        self._target = repository.target
        self._log = log
        self._publisher = publisher
        self._probes = probes
        self._check = check
        self._proves_each = proves_each
        """True where every commit needs a proof of its own, not only what a landing ends with."""
        self._candidates = Candidates(log, publisher, target=self._target, may_land=may_land)
        self._chains = Chains(repository, strategy)
        self._outcomes = Outcomes(log, self._candidates, step=step)
        self._source = ChainSource(log, publisher, self._candidates, self._chains, self._outcomes)
        self._evidence = Evidence(probes, check=check)
        self._alarm = Alarm(log, self._evidence, probes, target=self._target, check=check)
        self._landings = Landings(repository, log, publisher, probes, check=check, step=step)
        self._stacks: Sequence[Stack] = ()
        """The prefixes of the last turn's chain."""
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
        return (self.alarm or reasons[0]) if all(reasons) else ""

    @property
    def alarm(self) -> str:
        """How what has landed fails the check by itself; empty when it isn't known to."""
        raised = self._alarm.raised
        return raised.why if raised is not None else ""

    @property
    def retry_seconds(self) -> float | None:
        """How long until entries that wait should be taken up again though nothing changed."""
        return self._alarm.retry_seconds

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
            if not self.is_at_work and self._outcomes.is_empty:
                await to_its_end(self._begin)
            await self._work()
        except BaseException:
            await self._probes.stop()
            raise
        finally:
            self._loop = None
        return self._outcomes.next_entry()

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
        self._outcomes.cut_off(self._candidates.open_entries())
        self._probes.forget_misses()
        self._alarm.begin()

    async def _work(self) -> None:
        """Takes turns until an entry came to its end or nothing can be done."""
        is_first = True
        while self._outcomes.is_empty:
            if not await self._land_what_passed() or self._candidates.open_entries():
                await to_its_end(self._source.look)
                while await self._turn():
                    pass
            await to_its_end(partial(self._publisher.follow, anew=is_first))
            is_first = False
            if not self._outcomes.is_empty or not self.is_at_work:
                return
            ended = await self._probes.wait(self._stirred, timeout_seconds=self._patience_seconds)
            self._stirred.clear()
            if any(run.proof.is_silent for run in ended):
                # Its commit may have been collected; then the same is made again.
                self._chains.forget()

    async def _land_what_passed(self) -> bool:
        """Lands at once what is proven of the last turn's chain; anything else needs a look."""
        stacks, self._stacks = self._stacks, ()
        if not stacks:
            return False
        known = self._evidence.known(Stack(stacks[0].landed, ()), stacks)
        decision = decide(known, ground=Ground.UNKNOWN, proves_each=self._proves_each)
        if decision is None or self._is_patient(decision, stacks, known):
            return False
        if self._source.reject_objected():
            return False
        await self._carry_out(decision, stacks)
        return True

    async def _turn(self) -> bool:
        """Decides one thing and returns True, or starts the checks that are wanted."""
        self._patience_seconds = None
        if self._publisher.problem or not self._check.strip():
            self._probes.keep(())
            return False
        self._source.reject_objected()
        items = self._source.items()
        now = self._probes.pace(self._log.state.entries_for(self._target), backlog=len(items))
        ground = await to_its_end(self._source.ground)
        if self._alarm.is_over(ground):
            self._candidates.clear()
            return True
        self._alarm.check_if_due(ground, free=now.lanes - self._probes.lanes_used)
        if self._alarm.is_on(ground):
            return await self._turn_alone(ground, items, now)
        return await self._turn_together(ground, items, now)

    async def _turn_together(self, ground: Stack, items: Sequence[Item], now: Pace) -> bool:
        length = len(self._candidates.front) + now.lanes * now.chunk
        stacks = await to_its_end(lambda: self._source.build(ground, items, length))
        known = self._known(ground, stacks)
        judged = self._evidence.ground(ground, stacks)
        decision = decide(known, ground=judged, proves_each=self._proves_each)
        if judged is Ground.BAD and (decision is None or decision.act is not Act.LAND):
            self._alarm.sound(ground)
            return True
        if decision is not None and not self._is_patient(decision, stacks, known):
            await self._carry_out(decision, stacks)
            return True
        proven = 0 if decision is None else decision.stack + 1
        planned = plan_each if self._proves_each else partial(plan, chunk=now.chunk)
        wanted = planned(
            known[proven:],
            ground=Ground.GOOD if proven else judged,
            is_ground_running=self._evidence.is_ground_running(ground),
            free=now.lanes - self._probes.lanes_used,
        )
        if 0 in wanted:
            self._alarm.check(ground)
        lengths = [proven + length for length in wanted if length]
        self._start([stacks[length - 1] for length in lengths])
        busy = [n for n, one in enumerate(known, 1) if one.is_running or one.is_bad]
        self._stacks = stacks
        links = stacks[max(busy + lengths) - 1].links if busy or lengths else ()
        self._candidates.front = tuple(link.item_id for link in links)
        return False

    async def _turn_alone(self, ground: Stack, items: Sequence[Item], now: Pace) -> bool:
        self._candidates.front = ()
        stacks = await to_its_end(lambda: self._source.build_each(ground, items, now.lanes))
        known = self._known(ground, stacks)
        decision = decide_alone(known)
        if decision is not None:
            await self._carry_out(decision, stacks)
            return True
        free = now.lanes - self._probes.lanes_used
        self._start([stacks[index] for index in plan_alone(known, free=free)])
        return False

    def _known(self, ground: Stack, stacks: Sequence[Stack]) -> list[Known]:
        """Stops the checks of all other stacks and returns what is known of these."""
        self._probes.keep([ground.top.commit, *(stack.top.commit for stack in stacks)])
        return self._evidence.known(ground, stacks)

    def _is_patient(
        self, decision: Decision, stacks: Sequence[Stack], known: Sequence[Known]
    ) -> bool:
        left = self._evidence.patience_seconds(decision, stacks, known)
        self._patience_seconds = left or None
        return left > 0

    def _start(self, stacks: Sequence[Stack]) -> None:
        self._outcomes.begin(stacks)
        for stack in stacks:
            name = str(stack.links[-1].item_id or "join")
            self._probes.start(stack, stack.commands(self._check), name=name)

    async def _carry_out(self, decision: Decision, stacks: Sequence[Stack]) -> None:
        stack = stacks[decision.stack]
        item = stack.links[-1].item
        match decision.act:
            case Act.LAND:
                await to_its_end(lambda: self._landings.land(stack))
                await to_its_end(lambda: self._source.look_after(stack))
                self._outcomes.landed(stack)
            case Act.EJECT:
                proof = self._evidence.failure(stack)
                told = await to_its_end(lambda: self._chains.landed_meanwhile(item, stack.landed))
                reason = proof.text + told
                self._outcomes.end(item, EntryStatus.FAILED, reason, receipt=proof.receipt)
            case Act.WAIT:
                without = f" So it does on {self._target!r} without it; the fault lies there."
                self._outcomes.leave(item, self._evidence.failure(stack).text + without)
                # Should it be retried, it starts with a clean slate.
                self._probes.forget_misses([stack])
            case _:
                assert_never(decision.act)
