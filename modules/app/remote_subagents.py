"""The sub-agents of one worker: they work in its process, their models and gates are here.

One begins when the call that asks for it has passed the gate, and ends with that call or with the
worker. The worker speaks for it by that call; it can name none that did not pass.
"""

from typing import Protocol

from modules.app.subagents import SubAgent
from modules.records.protocol import Via
from modules.team.broker import WorkerBroken
from tools.subagent import MOST_AT_ONCE, SubagentInput


class Maker(Protocol):
    """Whoever makes the sub-agents of one caller."""

    def make(self, given: SubagentInput) -> SubAgent:
        """Makes one that has not begun yet."""
        ...


class RemoteSubAgents:
    """Those at work, by the calls that lead to them."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self._at_work: dict[Via, SubAgent] = {}

    def begin(self, via: Via, given: SubagentInput) -> None:
        """Makes the sub-agent a call asks for."""
        beside = sum(via[:-1] == other[:-1] for other in self._at_work)
        above = self.at(via[:-1]).subagents if len(via) > 1 else self._maker
        if above is None or via in self._at_work or beside == MOST_AT_ONCE:
            raise WorkerBroken(f"The worker can't begin a sub-agent by the calls {via!r}.")
        self._at_work[via] = above.make(given)

    def at(self, via: Via) -> SubAgent:
        """Returns one at work; raises WorkerBroken when there is none."""
        if via not in self._at_work:
            raise WorkerBroken(f"The worker speaks for a sub-agent that is not there: {via!r}.")
        return self._at_work[via]

    async def end(self, via: Via) -> None:
        """Ends the one a call began, where it did begin one, and those below it before."""
        below = [other for other in self._at_work if other[: len(via)] == via]
        for other in sorted(below, key=len, reverse=True):
            await self._at_work.pop(other).close()

    async def end_all(self) -> None:
        """Ends those that are left."""
        await self.end(())
