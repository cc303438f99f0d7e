"""Takes entries of the merge queue to their end, one at a time; the rules are in merge_rules.

An entry is merged in memory, checked on exactly that commit, and landed: intent in the journal →
compare-and-swap of what has landed → done in the journal → the target branch follows. A crash
between any two of these is made good by `recover`: the commit exists and is the same again, and
ancestry tells which steps were done.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from modules.git.refs import RefMoved, durable, is_ancestor, move_ref
from modules.git.repository import Repository
from modules.records.merges import Conflict, Entry, EntryStatus, Receipt
from modules.records.queue_records import (
    NO_ENTRY,
    NO_TASK,
    AnyQueueRecord,
    CheckBegun,
    EntryReturned,
    EntrySettled,
    LandingAbandoned,
    LandingDone,
    LandingIntended,
)
from modules.team.landing_plan import GuardTripped, NoPlan, Plan, make_joining_plan, make_plan
from modules.team.merge_rules import Position, Verdict, next_entry, verdict
from modules.team.proof import Proof, Prover
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog


class _Stuck(NamedTuple):
    """An entry whose check proved nothing."""

    landed: str
    """What had landed then."""
    changed_at: datetime
    """The entry's own; a retry changes it."""
    reason: str


class Lander:
    """Lands the entries of one target branch; only the holder of the queue's lock may use it."""

    def __init__(
        self,
        repository: Repository,
        log: QueueLog,
        publisher: Publisher,
        prover: Prover,
        *,
        check: str,
        may_land: Callable[[Entry], str | None],
        step: Callable[[str], None],
    ) -> None:
        self._repository = repository
        self._git = repository.git
        self._target = repository.target
        self._log = log
        self._publisher = publisher
        self._prover = prover
        self._check = check
        self._may_land = may_land
        self._step = step
        self._stuck: dict[int, _Stuck] = {}
        self._joined = ("", "")
        """What had landed and the target branch, when joining them was last tried."""
        self.joining_problem = ""
        """Why commits made beside what has landed could not be merged with it."""

    @property
    def pause_reason(self) -> str:
        """Why no entry can land now; empty when one can, or none waits."""
        waiting = self._log.state.open_entries(self._target)
        if not waiting:
            return ""
        if self._publisher.problem:
            return self._publisher.problem
        if not self._check.strip():
            return "No check is set, so nothing can be proven. Set one (--check, or team.toml)."
        reasons = [self._stuck_reason(entry) for entry in waiting]
        return reasons[0] if all(reasons) else ""

    def recover(self) -> None:
        """Makes good whatever a killed run left half done; blocks."""
        self._log.catch_up()
        self._stuck.clear()
        self._publisher.begin()
        self._finish_what_was_begun()
        self._publisher.publish()

    async def land_next(self) -> Entry | None:
        """Takes the entry whose turn it is to its end; None when none can be taken up."""
        await asyncio.to_thread(self._prepare)
        if self._publisher.problem or not self._check.strip():
            return None
        await self._join_outside_commits()
        waiting = self._log.state.open_entries(self._target)
        entry = next_entry(
            (entry for entry in waiting if not self._stuck_reason(entry)), now=self._log.clock()
        )
        return None if entry is None else await self._take(entry)

    def _prepare(self) -> None:
        self._log.catch_up()
        self._finish_what_was_begun()
        self._publisher.publish()
        landed = self._publisher.landed
        self._stuck = {key: stuck for key, stuck in self._stuck.items() if stuck.landed == landed}

    def _finish_what_was_begun(self) -> None:
        """Only one lander works at a time, so whatever is under way now was cut off."""
        self._finish_landing()
        for entry in self._log.state.open_entries(self._target):
            if entry.status is EntryStatus.CHECKING:
                self._return(entry, "Its check was cut off.")

    def _stuck_reason(self, entry: Entry) -> str:
        stuck = self._stuck.get(entry.entry_id)
        return stuck.reason if stuck is not None and stuck.changed_at == entry.changed_at else ""

    async def _take(self, entry: Entry) -> Entry:
        if objection := self._objection(entry):
            return self._settle(entry, EntryStatus.REJECTED, objection)
        landed = self._publisher.landed
        try:
            plan = await asyncio.to_thread(make_plan, self._repository, entry, landed=landed)
        except GuardTripped as error:
            return self._wait(entry, landed, str(error))
        if isinstance(plan, NoPlan):
            return self._settle(entry, plan.status, plan.reason, conflicts=plan.conflicts)
        self._log.note(CheckBegun(at=self._log.clock(), entry_id=entry.entry_id, tree=plan.tree))
        return await self._prove_and_land(entry, plan)

    async def _prove_and_land(self, entry: Entry, plan: Plan) -> Entry:
        commands = [c for c in (self._check, entry.submission.check) if c.strip()]
        log = self._repository.paths.checks / f"{entry.entry_id}-{plan.commit[:12]}.log"
        proof = await self._prover.prove(plan.commit, commands, log=log)
        decided = verdict(proof.receipt.outcome)
        if decided is Verdict.TRY_LANDED:
            decided = await self._whose_fault(proof, plan)
        if decided is Verdict.FAIL:
            return self._settle(entry, EntryStatus.FAILED, proof.text, receipt=proof.receipt)
        if decided is not Verdict.LAND:
            return self._wait(entry, plan.landed, proof.text)
        if objection := self._objection(entry):
            return self._settle(entry, EntryStatus.REJECTED, objection, receipt=proof.receipt)
        await asyncio.to_thread(self._land, entry.entry_id, plan, proof.receipt)
        return self._current(entry)

    async def _whose_fault(self, proof: Proof, plan: Plan) -> Verdict:
        """Runs a check that proved nothing on what has landed, where the entry has no part."""
        receipt = proof.receipt
        log = (self._repository.root / receipt.log).with_suffix(".landed.log")
        there = await self._prover.prove(plan.landed, [receipt.command], log=log)
        return verdict(receipt.outcome, on_landed=there.receipt.outcome)

    def _land(self, entry_id: int, plan: Plan, receipt: Receipt) -> None:
        """Lands a proven plan; does nothing when its entry was taken out meanwhile."""

        def intend() -> list[AnyQueueRecord]:
            entry = self._log.state.entries.get(entry_id)
            is_checking = entry is not None and entry.status is EntryStatus.CHECKING
            if entry_id != NO_ENTRY and not is_checking:
                return []
            return [
                LandingIntended(
                    at=self._log.clock(),
                    entry_id=entry_id,
                    target=self._target,
                    from_commit=plan.landed,
                    to_commit=plan.commit,
                    receipt=receipt,
                )
            ]

        self._step("intend to land")
        self._log.write(intend)
        self._finish_landing()
        self._publisher.publish()
        self._step("end")

    def _finish_landing(self) -> None:
        """Takes an intended landing to its end, wherever it was left."""
        intent = self._log.state.landing
        if intent is None or intent.target != self._target:
            return
        self._step("land")
        landed = self._moved(intent)
        self._step("record the landing")
        now, to = self._log.clock(), intent.to_commit
        if is_ancestor(self._git, to, landed):
            done = LandingDone(at=now, entry_id=intent.entry_id, target=self._target, to_commit=to)
            self._log.note(done)
        else:
            self._log.note(
                LandingAbandoned(
                    at=now,
                    entry_id=intent.entry_id,
                    target=self._target,
                    to_commit=to,
                    reason=f"What has landed moved to {landed[:12]} meanwhile.",
                )
            )
        self._step("publish the landing")

    def _moved(self, intent: LandingIntended) -> str:
        """Moves what has landed if it is still where it was; returns where it is."""
        if self._publisher.landed == intent.from_commit:
            try:
                ref, git = self._publisher.landed_ref, durable(self._git)
                move_ref(git, ref, new=intent.to_commit, old=intent.from_commit)
            except RefMoved:
                return self._publisher.landed
            return intent.to_commit
        return self._publisher.landed

    async def _join_outside_commits(self) -> None:
        """Merges commits made beside what has landed into it, when they pass the check together."""
        if self._publisher.where is not Position.BESIDE:
            self.joining_problem = ""
            return
        landed, outside = self._publisher.landed, self._publisher.target
        if self._joined == (landed, outside):
            return
        self._joined = (landed, outside)
        problem = await self._join(landed, outside)
        self.joining_problem = problem and (
            f"{self._target!r} has commits of its own that could not be merged with what has "
            f"landed: {problem} Merge them yourself: git merge {self._publisher.landed_ref}"
        )

    async def _join(self, landed: str, outside: str) -> str:
        plan = await asyncio.to_thread(
            make_joining_plan,
            self._repository,
            landed=landed,
            target=outside,
            when=self._log.clock(),
        )
        if isinstance(plan, NoPlan):
            return plan.reason
        log = self._repository.paths.checks / f"join-{plan.commit[:12]}.log"
        proof = await self._prover.prove(plan.commit, [self._check], log=log)
        if verdict(proof.receipt.outcome) is not Verdict.LAND:
            return proof.text
        await asyncio.to_thread(self._land, NO_ENTRY, plan, proof.receipt)
        return ""

    def _objection(self, entry: Entry) -> str | None:
        return None if entry.submission.task == NO_TASK else self._may_land(entry)

    def _settle(
        self,
        entry: Entry,
        status: EntryStatus,
        reason: str,
        *,
        receipt: Receipt | None = None,
        conflicts: tuple[Conflict, ...] = (),
    ) -> Entry:
        self._log.note(
            EntrySettled(
                at=self._log.clock(),
                entry_id=entry.entry_id,
                status=status,
                reason=reason,
                conflicts=conflicts,
                receipt=receipt,
            )
        )
        return self._current(entry)

    def _wait(self, entry: Entry, landed: str, reason: str) -> Entry:
        """Leaves an entry queued until something else lands or somebody retries it."""
        self._return(entry, reason)
        waiting = self._current(entry)
        self._stuck[entry.entry_id] = _Stuck(landed, waiting.changed_at, reason)
        return waiting

    def _return(self, entry: Entry, reason: str) -> None:
        self._log.note(EntryReturned(at=self._log.clock(), entry_id=entry.entry_id, reason=reason))

    def _current(self, entry: Entry) -> Entry:
        return self._log.state.entries[entry.entry_id]
