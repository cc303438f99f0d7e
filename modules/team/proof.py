"""Proves a commit: runs checks on exactly that commit, in the queue's own worktree."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modules.git.check_tree import check_tree_path, check_tree_problem, point_check_tree
from modules.git.refs import tree_of
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.records.merges import CheckOutcome, Receipt
from modules.team.check import CheckRun, Wrap, run_check

_NUMBER = 1


@dataclass(frozen=True, slots=True)
class Proof:
    """A receipt, and the reason where the check proved nothing."""

    receipt: Receipt
    why: str = ""

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


class Prover:
    """Runs checks one at a time in one worktree."""

    def __init__(
        self,
        repository: Repository,
        *,
        timeout_seconds: float,
        environment: Mapping[str, str],
        wrap: Wrap,
    ) -> None:
        self._repository = repository
        self._timeout_seconds = timeout_seconds
        self._environment = environment
        self._wrap = wrap

    async def prove(self, commit: str, commands: Sequence[str], *, log: Path) -> Proof:
        """Runs the commands on `commit`, one after the other, until one does not pass."""
        tree = await asyncio.to_thread(tree_of, self._repository.git, commit)
        obstacle = await asyncio.to_thread(self._prepare, commit, log)
        seconds = 0.0
        for command in commands:
            run = obstacle or await self._run(command, commit, log)
            seconds += run.seconds
            if run.outcome is not CheckOutcome.PASSED:
                break
        else:
            command = " && ".join(commands)
        receipt = Receipt(
            tree=tree,
            command=command,
            outcome=run.outcome,
            exit_code=run.exit_code,
            seconds=round(seconds, 3),
            log=str(log.relative_to(self._repository.root)),
        )
        return Proof(receipt, run.why)

    def _prepare(self, commit: str, log: Path) -> CheckRun | None:
        """Brings the worktree to the commit; returns the run that can't be when that fails."""
        try:
            log.unlink(missing_ok=True)
            point_check_tree(self._repository, _NUMBER, commit)
        except (GitFault, OSError) as error:
            # A full disk, say; the queue waits and tells a person.
            return CheckRun(CheckOutcome.COULD_NOT_RUN, None, 0.0, why=str(error))
        return None

    async def _run(self, command: str, commit: str, log: Path) -> CheckRun:
        folder = check_tree_path(self._repository, _NUMBER)
        run = await run_check(
            command,
            folder=folder,
            timeout_seconds=self._timeout_seconds,
            environment=self._environment,
            log_path=log,
            scratch=self._repository.paths.temporary / folder.name,
            wrap=self._wrap,
        )
        if run.outcome is not CheckOutcome.PASSED:
            return run
        why = await asyncio.to_thread(check_tree_problem, self._repository, _NUMBER, commit)
        return replace(run, outcome=CheckOutcome.COULD_NOT_RUN, why=why) if why else run
