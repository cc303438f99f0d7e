"""Checks under way, and what those that ended told.

1. A pass counts for an equal tree and for no more commands than were run; nothing else is reused.
2. What did not pass counts against the very commit it ran on, if its command is among those asked
   for.
3. A run that could not run or found no tests tells nothing of the commit; it is silent.
4. A check nobody needs any more is stopped at once; its lane is free when all of it has ended.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from modules.records.merges import CheckOutcome, Entry, EntryStatus
from modules.team.chain import Stack
from modules.team.probe_pace import Cost, Limits, Pace, cost_after, pace, red_rate
from modules.team.proof import Job, Proof, Prover

_MOST_REMEMBERED = 500
_LEAST_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """One check that ended."""

    commit: str
    commands: tuple[str, ...]
    proof: Proof
    ended_at: float
    """On the event loop's clock."""


@dataclass(eq=False, slots=True)
class _Probe:
    """One check under way."""

    commit: str
    commands: tuple[str, ...]
    lane: int
    task: "asyncio.Task[Proof]"
    is_wanted: bool = True


class Probes:
    """Runs checks on stacks of entries, each in a lane of its own, and remembers their ends."""

    def __init__(self, prover: Prover, *, logs: Path, cores: int, limits: Limits) -> None:
        self._prover = prover
        self._logs = logs
        self._cores = cores
        self._limits = limits
        self._under_way: list[_Probe] = []
        self._passed: dict[str, list[ProbeRun]] = {}
        """By tree."""
        self._missed: dict[str, list[ProbeRun]] = {}
        """By commit."""
        self._cost: Cost | None = None

    @property
    def lanes_used(self) -> int:
        """How many lanes are taken, by checks that are being stopped as well."""
        return len(self._under_way)

    def pace(self, entries: Iterable[Entry], *, backlog: int) -> Pace:
        """Returns how much may be checked at once, going by how `entries` ended."""
        ended = sorted((e for e in entries if e.receipt is not None), key=lambda e: e.changed_at)
        return pace(
            cost=self._cost,
            cores=self._cores,
            rate=red_rate(e.status is EntryStatus.FAILED for e in ended[-_MOST_REMEMBERED:]),
            backlog=backlog,
            limits=self._limits,
        )

    def is_running(self, stack: Stack, commands: Sequence[str]) -> bool:
        """True while the commands are run on the stack's commit."""
        return any(
            probe.is_wanted
            and probe.commit == stack.top.commit
            and set(commands) <= set(probe.commands)
            for probe in self._under_way
        )

    def passed(self, stack: Stack, commands: Sequence[str]) -> ProbeRun | None:
        """Returns the newest run that proves the commands on the stack's tree."""
        runs = self._passed.get(stack.top.tree, [])
        return next((run for run in reversed(runs) if set(commands) <= set(run.commands)), None)

    def misses(self, stack: Stack, commands: Sequence[str]) -> list[ProbeRun]:
        """Returns the runs on the stack's commit in which a command did not pass, oldest first."""
        runs = self._missed.get(stack.top.commit, [])
        return [run for run in runs if run.proof.receipt.command in commands]

    def patience_seconds(self, stack: Stack, commands: Sequence[str]) -> float:
        """Returns how long checks like the one that passed on the stack may still be waited for."""
        run = self.passed(stack, commands)
        if run is None:
            return 0.0
        patience = max(run.proof.receipt.seconds, _LEAST_PATIENCE_SECONDS)
        return max(run.ended_at + patience - asyncio.get_running_loop().time(), 0.0)

    def forget_passes(self, stack: Stack) -> None:
        """Forgets what proved a stack's tree, so that it is tried anew."""
        self._passed.pop(stack.top.tree, None)

    def forget_misses(self, stacks: Iterable[Stack] | None = None) -> None:
        """Forgets what did not pass, of these stacks or of all, so that it is tried anew."""
        if stacks is None:
            self._missed.clear()
            return
        for stack in stacks:
            self._missed.pop(stack.top.commit, None)

    def start(self, stack: Stack, commands: tuple[str, ...], *, name: str) -> None:
        """Starts a check in a free lane; `name` goes into its log's."""
        taken = {probe.lane for probe in self._under_way}
        lane = next(n for n in range(1, len(taken) + 2) if n not in taken)
        commit = stack.top.commit
        before = len(self._missed.get(commit, []))
        again = f"-{before + 1}" if before else ""
        log = self._logs / f"{name}-{commit[:12]}{again}.log"
        job = Job(commit=commit, tree=stack.top.tree, commands=commands, lane=lane, log=log)
        task = asyncio.create_task(self._prover.prove(job))
        self._under_way.append(_Probe(commit, commands, lane, task))

    def keep(self, commits: Iterable[str]) -> None:
        """Stops all checks but those on `commits`."""
        kept = set(commits)
        for probe in self._under_way:
            if probe.commit not in kept and probe.is_wanted:
                probe.is_wanted = False
                probe.task.cancel()

    async def wait(
        self, stirred: asyncio.Event, *, timeout_seconds: float | None
    ) -> list[ProbeRun]:
        """Returns once a check ended, `stirred` is set or the time is over; with what ended."""
        waiting = asyncio.create_task(stirred.wait())
        try:
            await asyncio.wait(
                {waiting, *(probe.task for probe in self._under_way)},
                timeout=timeout_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            waiting.cancel()
        return self._collect()

    async def stop(self) -> None:
        """Stops all checks and waits until nothing is left of them."""
        self.keep(())
        while tasks := {probe.task for probe in self._under_way if not probe.task.done()}:
            await asyncio.wait(tasks)
        self._under_way.clear()

    def _collect(self) -> list[ProbeRun]:
        ended = [probe for probe in self._under_way if probe.task.done()]
        self._under_way = [probe for probe in self._under_way if not probe.task.done()]
        now = asyncio.get_running_loop().time()
        # One that was stopped may have come to its end just before.
        runs = [
            ProbeRun(probe.commit, probe.commands, probe.task.result(), now)
            for probe in ended
            if not probe.task.cancelled()
        ]
        for run in runs:
            self._take(run)
        return runs

    def _take(self, run: ProbeRun) -> None:
        receipt, cpu_seconds = run.proof.receipt, run.proof.cpu_seconds
        if receipt.outcome is not CheckOutcome.PASSED:
            self._missed.setdefault(run.commit, []).append(run)
        else:
            self._passed.setdefault(receipt.tree, []).append(run)
            if cpu_seconds is not None:
                self._cost = cost_after(
                    self._cost, cpu_seconds=cpu_seconds, wall_seconds=receipt.seconds
                )
        for memory in (self._passed, self._missed):
            if len(memory) > _MOST_REMEMBERED:
                del memory[next(iter(memory))]
