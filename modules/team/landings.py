"""Moves what has landed: intent in the journal → compare-and-swap → done in the journal.

A crash between any two of these is made good by `finish`: the commit exists and is the same again,
and ancestry tells which steps were done.
"""

from collections.abc import Callable

from modules.git.refs import RefMoved, is_ancestor, read_commit, read_ref
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.records.merges import FINAL_STATUSES, Entry, EntryStatus, Receipt
from modules.records.queue_records import (
    NO_ENTRY,
    AnyQueueRecord,
    CheckBegun,
    FlakeSeen,
    Landing,
    LandingAbandoned,
    LandingDone,
    LandingIntended,
)
from modules.team.chain import Stack
from modules.team.probes import Probes
from modules.team.proof import Proof
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog

_SHOWN = 5


class Landings:
    """Lands proven stacks on one target; only the holder of the queue's lock may use it."""

    def __init__(
        self,
        repository: Repository,
        log: QueueLog,
        publisher: Publisher,
        probes: Probes,
        *,
        check: str,
        step: Callable[[str], None],
    ) -> None:
        self._git = repository.git
        self._target = repository.target
        self._log = log
        self._publisher = publisher
        self._probes = probes
        self._check = check
        self._step = step

    def land(self, stack: Stack) -> None:
        """Lands a proven stack; does nothing when one of its entries was taken out meanwhile."""
        run = self._probes.passed(stack, stack.commands(self._check))
        if run is None:
            raise RuntimeError(f"{stack.top.commit} has no proof.")
        proof = run.proof
        parts, flakes = self._parts(stack, proof.receipt)

        def intend() -> list[AnyQueueRecord]:
            entries = [self._log.state.entries[part.entry_id] for part in parts]
            if any(entry.status in FINAL_STATUSES for entry in entries):
                return []
            begun = [
                CheckBegun(at=self._log.clock(), entry_id=entry.entry_id, tree=proof.receipt.tree)
                for entry in entries
                if entry.status is EntryStatus.QUEUED
            ]
            intent = LandingIntended(
                at=self._log.clock(),
                target=self._target,
                from_commit=stack.landed.commit,
                to_commit=stack.top.commit,
                receipt=proof.receipt,
                landings=tuple(parts),
            )
            return [*begun, *flakes, intent]

        self._step("intend to land")
        self._log.write(intend)
        self.finish()

    def finish(self) -> None:
        """Takes an intended landing to its end, wherever it was left."""
        intent = self._log.state.landing
        if intent is None or intent.target != self._target:
            return
        self._step("land")
        obstacle = self._move(intent)
        self._step("record the landing")
        now, to = self._log.clock(), intent.to_commit
        if obstacle:
            abandoned = LandingAbandoned(at=now, target=self._target, to_commit=to, reason=obstacle)
            self._log.note(abandoned)
            return
        done = [(part.entry_id, part.commit) for part in intent.landings] or [(NO_ENTRY, to)]
        self._log.note(
            *(
                LandingDone(at=now, entry_id=entry_id, target=self._target, to_commit=commit)
                for entry_id, commit in done
            )
        )

    def _move(self, intent: LandingIntended) -> str:
        """Moves what has landed if it is still where it was; returns why it has not landed."""
        ref, new = self._publisher.landed_ref, intent.to_commit
        try:
            self._publisher.land(intent.from_commit, new)
        except GitFault as error:
            if not read_commit(self._git, new):
                return f"The commit {new[:12]} it should land as is gone."
            landed = read_ref(self._git, ref)
            if landed and is_ancestor(self._git, new, landed):
                return ""
            if not isinstance(error, RefMoved):
                raise
            if landed == intent.from_commit:
                return f"The branch {self._target!r} moved meanwhile."
            return f"What has landed moved to {landed[:12]} meanwhile."
        return ""

    def _parts(self, stack: Stack, proof: Receipt) -> tuple[list[Landing], list[FlakeSeen]]:
        """Returns what each entry lands with, and the flaky checks among them."""
        parts: list[Landing] = []
        flakes: list[FlakeSeen] = []
        for length, link in enumerate(stack.links, 1):
            below = Stack(stack.landed, stack.links[: length - 1])
            prefix = Stack(stack.landed, stack.links[:length])
            commands = prefix.commands(self._check)
            own = self._probes.passed(prefix, commands)
            misses = [run.proof for run in self._probes.misses(prefix, commands)]
            seen = [self._flake(proof) for proof in misses if proof.is_red]
            flakes += seen
            if isinstance(link.item, Entry):
                part = Landing(
                    entry_id=link.item.entry_id,
                    commit=link.step.commit,
                    onto=below.top.commit,
                    receipt=own.proof.receipt if own else proof,
                    proven_as=(link.step if own else stack.top).commit,
                    flaky=tuple(sorted({n for one in seen for n in one.tests or (one.command,)})),
                    note=" ".join([link.step.note, *map(self._told, seen)]).strip(),
                )
                parts.append(part)
        return parts, flakes

    def _flake(self, failed: Proof) -> FlakeSeen:
        return FlakeSeen(
            at=self._log.clock(),
            tree=failed.receipt.tree,
            command=failed.receipt.command,
            log=failed.receipt.log,
            tests=failed.failed_tests,
        )

    def _told(self, flake: FlakeSeen) -> str:
        counts = self._log.state.flakes
        names = flake.tests or (flake.command,)
        told = ", ".join(f"{name!r} (time {counts[name] + 1})" for name in names[:_SHOWN])
        return f"Flaky: {told} failed, then passed; see {flake.log}."
