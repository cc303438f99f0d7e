"""What the checks that ran tell of a chain and of what has landed."""

from collections.abc import Sequence

from modules.records.merges import CheckOutcome
from modules.team.chain import Stack
from modules.team.probe_plan import Act, Decision, Ground, Known
from modules.team.probes import Probes
from modules.team.proof import Proof

_SURE = 2
"""So many times what has landed must fail alone before it is to blame."""


class Evidence:
    """The results of checks, as far as `check`, the repository's own, and tasks' checks ask."""

    def __init__(self, probes: Probes, *, check: str) -> None:
        self._probes = probes
        self._check = check

    def known(self, stacks: Sequence[Stack]) -> list[Known]:
        """Returns what is known of stacks."""
        return [self._probes.known(stack, stack.commands(self._check)) for stack in stacks]

    def failure(self, stack: Stack) -> Proof:
        """Returns the newest result that counts against a stack; there is one."""
        return self._probes.failures(stack, stack.commands(self._check))[-1]

    def suspect(self, stacks: Sequence[Stack], known: Sequence[Known]) -> str:
        """Returns the command to try on what has landed before anybody is blamed.

        It is empty for a task's own check: that it fails there says nothing.
        """
        for stack, one in zip(stacks, known, strict=True):
            if one.failures:
                receipt = self.failure(stack).receipt
                is_red = receipt.outcome in (CheckOutcome.FAILED, CheckOutcome.TIMED_OUT)
                return "" if is_red and receipt.command != self._check else receipt.command
        return self._check

    def judged(self, ground: Stack, command: str) -> Ground:
        """Returns what a command says of what has landed."""
        known = self._probes.known(ground, (command,))
        if not command or known.passed:
            return Ground.GOOD
        return Ground.BAD if len(known.failures) >= _SURE else Ground.UNKNOWN

    def patience_seconds(
        self, decision: Decision, stacks: Sequence[Stack], known: Sequence[Known]
    ) -> float:
        """Returns how long a landing may wait for shorter prefixes, that each get its own proof."""
        if decision.act is not Act.LAND or not any(k.is_running for k in known[: decision.stack]):
            return 0.0
        stack = stacks[decision.stack]
        return self._probes.patience_seconds(stack, stack.commands(self._check))
