"""Makes sub-agents: each with a conversation, a gate and a journal of its own, below its caller.

1. A sub-agent stands where its caller stands: the same jail, ground and rules, never a higher mode,
   no tool its caller has not. `explore` stands in plan mode.
2. Its requests count for its caller's task and worker as well as for the run.
3. Its name is its caller's with its own behind a slash, and is never given twice.
4. Where it ends, its commands in the background end.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from modules.agent.brain import Head, LocalBrain
from modules.agent.loop import Brain, TurnEnd
from modules.agent.noted_brain import NotedBrain
from modules.agent.subagent import run_subagent
from modules.agent.tool_pool import ToolPool
from modules.app.compaction import AgentCompaction
from modules.app.finishing import finish
from modules.app.gates import Toolset, caller_of, make_pool
from modules.app.house import House
from modules.app.run_hooks import MOST_STOP_BLOCKS, stop_fields
from modules.context.prompts import subagent_prompt
from modules.context.session import Session
from modules.records.decisions import Mode
from modules.records.messages import Message, said
from modules.records.tasks import Task
from modules.records.tooling import ToolResult
from modules.safety.hook_matching import HookEvent
from modules.safety.permissions import Standing
from tools.catalog import LANE_TOOLS
from tools.crew_context import CrewContext, CrewDesk
from tools.lane_context import LaneContext
from tools.subagent import (
    EXPLORE,
    EXPLORE_TOOLS,
    MOST_AT_ONCE,
    MOST_DEPTH,
    SUBAGENT_TOOL,
    SubagentInput,
)
from tools.web import WEB_TOOLS

_PREFIX = "sub-"
"""Of the names of sub-agents' journals, so that no caller's is taken for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Superior:
    """An agent that may have sub-agents, and what it hands on to them."""

    session: Session
    model: str
    """Its SPEC."""
    task: Task | None
    """None for the lead."""
    standing: Callable[[], Standing]
    lane: LaneContext | None
    """None where the lane's tools run in a worker's process."""
    crew: CrewDesk
    allowed: tuple[str, ...] | None
    """Names of the tools it may use; None: all."""


class SubAgent:
    """One sub-agent, ready to be worked for; `subagents` None: it may have none of its own."""

    def __init__(
        self,
        house: House,
        superior: Superior,
        *,
        pool: ToolPool,
        model: LocalBrain,
        subagents: "SubAgents | None",
    ) -> None:
        self._house = house
        self._superior = superior
        self.pool = pool
        self.subagents = subagents
        background = None if superior.lane is None else superior.lane.background
        self.brain: Brain = model if background is None else NotedBrain(model, background.endings)
        self._background = background
        self._blocks = 0

    async def after(self, end: TurnEnd) -> Message | None:
        """Returns what hooks want it to do after a turn; None when it is done."""
        if end.failure or end.awaits or self._blocks == MOST_STOP_BLOCKS:
            return None
        superior = self._superior
        objection = await self._house.run_hooks.objection(
            HookEvent.SUBAGENT_STOP,
            stop_fields(end.text, is_again=self._blocks > 0),
            caller_of(self._house, superior.session, superior.standing()),
        )
        if not objection:
            return None
        self._blocks += 1
        return said(f"A SubagentStop hook sends you back to work: {objection}")

    async def close(self) -> None:
        """Ends what it has in the background and closes its journal."""
        if self._background is not None:
            await self._background.stop_all()
        self._house.standings.pop(self._superior.standing().agent, None)
        self._superior.session.close()


class SubAgents:
    """The sub-agents of one caller; runs them where the caller's loop runs in this process."""

    def __init__(self, house: House, superior: Superior, *, depth: int = 0) -> None:
        self._house = house
        self._superior = superior
        self._depth = depth
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._last = 0

    async def run_subagent(self, given: SubagentInput) -> ToolResult:
        """Runs one to its end and returns its last words."""
        async with self._slots:
            made = self.make(given)
            try:
                return await run_subagent(made.brain, made.pool, given.prompt, after=made.after)
            finally:
                await finish(made.close())

    def make(self, given: SubagentInput) -> SubAgent:
        """Makes one that has not begun yet."""
        house, above = self._house, self._superior
        own, session = self._begin(given)
        name = f"{above.standing().agent}/{own}"
        only_reads = given.kind == EXPLORE
        task = above.task

        def standing() -> Standing:
            held = above.standing()
            return replace(
                held,
                agent=name,
                role=given.kind,
                mode=Mode.PLAN if only_reads else held.mode,
                is_explorer=only_reads,
            )

        session.open(
            agent=name,
            role=given.kind,
            task=None if task is None else task.task_id,
            attempt=0 if task is None else task.attempt,
        )
        superior = Superior(
            session=session,
            model=above.model,
            task=task,
            standing=standing,
            lane=None if above.lane is None else above.lane.afresh(),
            crew=above.crew,
            allowed=_allowed(above.allowed, only_reads=only_reads),
        )
        may_have = self._depth + 1 < MOST_DEPTH and not only_reads
        below = SubAgents(house, superior, depth=self._depth + 1) if may_have else None
        pool = make_pool(
            house, session=session, toolset=_toolset(superior, below), standing=standing
        )
        model = self._brain(superior, pool, only_reads=only_reads)
        return SubAgent(house, superior, pool=pool, model=model, subagents=below)

    def _brain(self, superior: Superior, pool: ToolPool, *, only_reads: bool) -> LocalBrain:
        house, task, stands = self._house, superior.task, superior.standing()
        task_id = None if task is None else task.task_id
        system = subagent_prompt(
            name=stands.agent,
            caller=self._superior.standing().agent,
            root=str(stands.ground.root),
            only_reads=only_reads,
        )
        return house.models.brain(
            superior.model,
            session=superior.session,
            pool=pool,
            head=lambda model: Head(
                agent=stands.agent,
                task="" if task is None else task.draft.subject,
                model=model,
                system=system,
            ),
            needs=AgentCompaction(
                house,
                agent=stands.agent,
                task=task_id,
                outputs=_outputs(house, superior),
                caller=lambda: caller_of(house, superior.session, superior.standing()),
                facts=lambda: "",
            ),
            task=task_id,
        )

    def _begin(self, given: SubagentInput) -> tuple[str, Session]:
        """Returns a name that this caller gave to none before, and a journal for it."""
        stem = self._superior.session.session_id.removeprefix(_PREFIX)
        while True:
            self._last += 1
            own = f"{given.kind}-{self._last}"
            path = self._house.paths.sessions / f"{_PREFIX}{stem}-{own}.jsonl"
            if not path.exists():
                return own, Session(path, clock=self._house.clock)


def _allowed(above: tuple[str, ...] | None, *, only_reads: bool) -> tuple[str, ...] | None:
    if not only_reads:
        return above
    return tuple(sorted(EXPLORE_TOOLS if above is None else EXPLORE_TOOLS & set(above)))


def _outputs(house: House, superior: Superior) -> Path:
    """Returns where the sub-agent can read what is kept of its conversation."""
    own = superior.standing().ground.tmp
    return house.paths.outputs if superior.lane or own is None else own / "outputs"


def _toolset(superior: Superior, below: SubAgents | None) -> Toolset:
    allowed = superior.allowed
    return Toolset(
        lane_tools=LANE_TOOLS,
        lane=superior.lane,
        crew_tools=tuple(tool for tool in WEB_TOOLS if allowed is None or tool.name in allowed),
        crew=CrewContext(agent=superior.standing().agent, crew=superior.crew),
        allowed=allowed,
        subagent_tools=() if below is None else (SUBAGENT_TOOL,),
        subagents=None if superior.lane is None else below,
    )
