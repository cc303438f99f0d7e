"""Proves a commit: runs checks on exactly that commit, in one of the queue's own worktrees."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from modules.git.check_tree import check_tree_path, check_tree_problem, point_check_tree
from modules.git.refs import LANDED, read_ref
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.records.merges import CheckOutcome, Receipt
from modules.team.check import CheckRun, Wrap, run_check
from modules.team.check_rules import failed_tests
from modules.team.preparation import Preparation
from modules.team.threads import to_its_end

_LANE_VARIABLE = "CREWYARD_CHECK_LANE"


@dataclass(frozen=True, slots=True)
class Proof:
    """A receipt, with what else a run told."""

    receipt: Receipt
    why: str = ""
    """The reason where the check proved nothing."""
    failed_tests: tuple[str, ...] = ()
    cpu_seconds: float | None = None
    """None when some command did not end by itself."""

    @property
    def is_red(self) -> bool:
        """True when a command failed, or its time ran out: that tells of the tree."""
        return self.receipt.outcome in (CheckOutcome.FAILED, CheckOutcome.TIMED_OUT)

    @property
    def is_silent(self) -> bool:
        """True when it told nothing of the tree: it found no tests, or could not run."""
        return not self.is_red and self.receipt.outcome is not CheckOutcome.PASSED

    @property
    def text(self) -> str:
        """What happened, in a sentence."""
        receipt = self.receipt
        match receipt.outcome:
            case CheckOutcome.PASSED:
                return f"The check {receipt.command!r} passed."
            case CheckOutcome.FAILED:
                return f"The check {receipt.command!r} failed (exit code {receipt.exit_code})."
            case CheckOutcome.TIMED_OUT:
                return f"The check {receipt.command!r} did not end in {receipt.seconds:.0f} s."
            case CheckOutcome.NO_TESTS:
                return f"The check {receipt.command!r} found no tests."
            case CheckOutcome.COULD_NOT_RUN:
                return f"The check {receipt.command!r} could not run: {self.why}"


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be proven: commands on one commit, in the worktree of one lane."""

    commit: str
    tree: str
    commands: tuple[str, ...]
    lane: int
    log: Path


class Prover(Protocol):
    """Proves commits, several at once when each has a lane of its own."""

    async def prove(self, job: Job) -> Proof:
        """Runs the commands, one after the other, until one does not pass."""
        ...


class TreeProver:
    """Runs checks in worktrees, one for each lane."""

    def __init__(
        self,
        repository: Repository,
        *,
        timeout_seconds: float,
        environment: Mapping[str, str],
        wrap: Wrap,
        preparation: Preparation,
        on_log: Callable[[Path], None],
    ) -> None:
        self._repository = repository
        self._timeout_seconds = timeout_seconds
        self._environment = environment
        self._wrap = wrap
        self._preparation = preparation
        self._on_log = on_log

    async def prove(self, job: Job) -> Proof:
        """Runs the commands, one after the other, until one does not pass."""
        try:
            proof = await self._prove(job)
        except asyncio.CancelledError:
            # Nobody will ask for the log of a check that was stopped.
            job.log.unlink(missing_ok=True)
            raise
        await to_its_end(lambda: self._on_log(job.log))
        return proof

    async def _prove(self, job: Job) -> Proof:
        obstacle = await to_its_end(lambda: self._prepare(job)) or await self._set_up(job)
        runs: list[CheckRun] = []
        for command in job.commands:
            runs.append(obstacle or await self._run(command, job))
            if runs[-1].outcome is not CheckOutcome.PASSED:
                break
        else:
            command = " && ".join(job.commands)
        last = runs[-1]
        receipt = Receipt(
            tree=job.tree,
            command=command,
            outcome=last.outcome,
            exit_code=last.exit_code,
            seconds=round(sum(run.seconds for run in runs), 3),
            log=str(job.log.relative_to(self._repository.root)),
        )
        times = [run.cpu_seconds for run in runs if run.cpu_seconds is not None]
        return Proof(
            receipt,
            last.why,
            () if last.outcome is CheckOutcome.PASSED else failed_tests(last.tail),
            sum(times) if len(times) == len(runs) else None,
        )

    def _prepare(self, job: Job) -> CheckRun | None:
        """Brings the worktree to the commit; returns the run that can't be when that fails."""
        try:
            job.log.unlink(missing_ok=True)
            keep = self._preparation.keeps
            if keep and self._repository.git.fields("ls-tree", "-z", job.commit, *keep):
                # What was set up would be mixed with what is committed.
                self._preparation.forget(check_tree_path(self._repository, job.lane))
                keep = ()
            self._point(job, job.commit, keep)
            if keep and self._preparation.is_due(check_tree_path(self._repository, job.lane)):
                self._point(job, job.commit, ())
        except (GitFault, OSError) as error:
            # A full disk, say; the queue waits and tells a person.
            return CheckRun(CheckOutcome.COULD_NOT_RUN, None, 0.0, why=str(error))
        return None

    def _point(self, job: Job, commit: str, keep: Sequence[str]) -> None:
        folder = point_check_tree(self._repository, job.lane, commit, keep=keep)
        self._preparation.furnish(folder)

    async def _set_up(self, job: Job) -> CheckRun | None:
        """Sets the worktree up where that is due; returns the run that can't be when it fails.

        What serves other checks, too, is made by code that has landed, never by what is checked.
        """
        folder = check_tree_path(self._repository, job.lane)
        if not await to_its_end(lambda: self._preparation.is_due(folder)):
            return None
        keep = self._preparation.keeps
        try:
            is_lasting = bool(keep) and await to_its_end(lambda: self._is_as_landed(job, folder))
            why = await self._preparation.set_up(
                folder,
                environment=self._variables(job),
                scratch=self._repository.paths.temporary / folder.name,
                log=job.log,
                is_lasting=is_lasting,
            )
            if is_lasting and not why:
                await to_its_end(lambda: self._point(job, job.commit, keep))
        except (GitFault, OSError) as error:
            why = str(error)
        return CheckRun(CheckOutcome.COULD_NOT_RUN, None, 0.0, why=why) if why else None

    def _is_as_landed(self, job: Job, folder: Path) -> bool:
        """Brings the worktree to what has landed if the same is set up for it; else leaves it."""
        git, target = self._repository.git, self._repository.target
        landed = read_ref(git, LANDED + target) or read_ref(git, self._repository.target_ref)
        if not landed or git.fields("ls-tree", "-z", job.commit, *self._preparation.keeps):
            return False
        wanted = self._preparation.key(folder)
        self._point(job, landed, ())
        if self._preparation.key(folder) == wanted:
            return True
        self._point(job, job.commit, ())
        return False

    def _variables(self, job: Job) -> dict[str, str]:
        folder = check_tree_path(self._repository, job.lane)
        own = self._preparation.variables(folder)
        return {**self._environment, **own, _LANE_VARIABLE: str(job.lane)}

    async def _run(self, command: str, job: Job) -> CheckRun:
        folder = check_tree_path(self._repository, job.lane)
        run = await run_check(
            command,
            folder=folder,
            timeout_seconds=self._timeout_seconds,
            environment=self._variables(job),
            log_path=job.log,
            scratch=self._repository.paths.temporary / folder.name,
            wrap=self._wrap,
        )
        if run.outcome is not CheckOutcome.PASSED:
            return run
        why = await to_its_end(lambda: check_tree_problem(self._repository, job.lane, job.commit))
        return replace(run, outcome=CheckOutcome.COULD_NOT_RUN, why=why) if why else run
