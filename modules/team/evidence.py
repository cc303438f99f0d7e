"""What the checks that ran tell of a chain and of what has landed.

What has landed is tried with the repository's own check alone: that a task's check fails there says
nothing, the task may well be what makes it pass.
"""

from collections.abc import Sequence

from modules.team.chain import Stack
from modules.team.probe_plan import Act, Decision, Ground, Known, Silence
from modules.team.probes import ProbeRun, Probes
from modules.team.proof import Proof

_SURE = 2
"""So many times what has landed must not pass before it is to blame."""


class Evidence:
    """The results of checks, as far as `check`, the repository's own, and tasks' checks ask."""

    def __init__(self, probes: Probes, *, check: str) -> None:
        self._probes = probes
        self._check = check

    def known(self, ground: Stack, stacks: Sequence[Stack]) -> list[Known]:
        """Returns what is known of stacks on what has landed."""
        passed = self._probes.passed(ground, (self._check,))
        return [self._known(stack, passed) for stack in stacks]

    def failure(self, stack: Stack) -> Proof:
        """Returns the newest result that counts against a stack; there is one."""
        return self._misses(stack)[-1].proof

    def ground(self, ground: Stack, stacks: Sequence[Stack] = ()) -> Ground:
        """Returns what is known of what has landed, as far as badness of `stacks` asks for it.

        That of a task's own check asks for nothing. Runs that told nothing ask for what what has
        landed tells after them.
        """
        misses = next(filter(None, map(self._misses, stacks)), [])
        reds = [run for run in misses if run.proof.is_red]
        if reds and reds[-1].proof.receipt.command != self._check:
            return Ground.GOOD
        since = misses[0].ended_at if misses and not reds else 0.0
        passed = self._probes.passed(ground, (self._check,))
        if passed is not None and passed.ended_at > since:
            return Ground.GOOD
        missed = [run for run in self._own_misses(ground) if run.ended_at > since]
        return Ground.BAD if len(missed) >= _SURE else Ground.UNKNOWN

    def ground_failure(self, ground: Stack) -> Proof:
        """Returns the newest result that counts against what has landed; there is one."""
        return self._own_misses(ground)[-1].proof

    def is_ground_running(self, ground: Stack) -> bool:
        """True while what has landed is being checked."""
        return self._probes.is_running(ground, (self._check,))

    def patience_seconds(
        self, decision: Decision, stacks: Sequence[Stack], known: Sequence[Known]
    ) -> float:
        """Returns how long a landing may wait for shorter prefixes, that each get its own proof."""
        if decision.act is not Act.LAND or not any(k.is_running for k in known[: decision.stack]):
            return 0.0
        stack = stacks[decision.stack]
        return self._probes.patience_seconds(stack, stack.commands(self._check))

    def _known(self, stack: Stack, ground_passed: ProbeRun | None) -> Known:
        commands = stack.commands(self._check)
        misses = self._misses(stack)
        return Known(
            passed=self._probes.passed(stack, commands) is not None,
            failures=tuple(frozenset(m.proof.failed_tests) for m in misses if m.proof.is_red),
            silence=_silence([m for m in misses if m.proof.is_silent], ground_passed),
            is_running=self._probes.is_running(stack, commands),
        )

    def _misses(self, stack: Stack) -> list[ProbeRun]:
        return self._probes.misses(stack, stack.commands(self._check))

    def _own_misses(self, ground: Stack) -> list[ProbeRun]:
        return self._probes.misses(ground, (self._check,))


def _silence(silent: Sequence[ProbeRun], ground_passed: ProbeRun | None) -> Silence:
    if not silent:
        return Silence.NONE
    if ground_passed is None:
        return Silence.SOME
    is_sure = silent[0].ended_at < ground_passed.ended_at < silent[-1].ended_at
    return Silence.SURE if is_sure else Silence.SOME
