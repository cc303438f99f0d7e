"""Makes the gate of each agent: which tools it has, how it stands, who is asked, what is kept."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from modules.agent.tool_pool import PooledTool, ToolPool, pooled
from modules.app.beside import laid_beside
from modules.app.gatekeeping import AgentHooks, HookedAsker, SessionWatcher
from modules.app.house import House
from modules.app.questions import PersonAsker
from modules.context.session import Session
from modules.context.spill import bound_output
from modules.mcp_client.values import McpTool
from modules.records.decisions import Risk, ToolSubject
from modules.records.errors import ModelFault
from modules.records.messages import ToolCall, ToolSpec
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from modules.safety.hooks import Caller
from modules.safety.permissions import Standing, meets_rule
from modules.team.addresses import LEAD
from tools.crew_context import CrewContext
from tools.lane_context import LaneContext
from tools.subagent import Delegate

OUTPUT_CHARACTERS = 60_000


class McpInput(Record):
    """The input of a server's tool; the server itself checks it."""

    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Toolset:
    """What goes into one agent's pool."""

    lane_tools: tuple[Tool[Any, LaneContext], ...]
    lane: LaneContext | None
    """None where the lane's tools run in a worker's process."""
    crew_tools: tuple[Tool[Any, CrewContext], ...]
    crew: CrewContext
    allowed: tuple[str, ...] | None = None
    """Names of the tools the agent may use beside its crew's; None: all."""
    subagent_tools: tuple[Tool[Any, Delegate], ...] = ()
    subagents: Delegate | None = None
    """None where sub-agents run in a worker's process."""


def make_pool(
    house: House,
    *,
    session: Session,
    toolset: Toolset,
    standing: Callable[[], Standing],
) -> ToolPool:
    """Returns the pool of one agent; MCP tools come and go with their servers."""
    own = _own_tools(toolset)

    def tools() -> Mapping[str, PooledTool]:
        return own | {
            tool.name: _mcp_tool(house, tool)
            for tool in house.mcp.tools()
            if toolset.allowed is None or tool.name in toolset.allowed
        }

    def meets(rule: str, call: ToolCall) -> bool:
        return _meets(tools(), standing(), rule, call)

    agent = standing().agent
    house.standings[agent] = standing
    hooks = AgentHooks(house.hooks, lambda: caller_of(house, session, standing(), meets))
    watcher = SessionWatcher(agent=agent, session=session, events=house.events, standing=standing)
    person = PersonAsker(
        house.questions,
        agent=agent,
        offer=lambda call, subject, decision: house.permissions.offer(
            standing(), call.name, subject, decision
        ),
        remember=house.permissions.remember,
    )
    return ToolPool(
        tools,
        standing=standing,
        permissions=house.permissions,
        hooks=hooks,
        asker=HookedAsker(hooks, person, watcher.warned),
        watcher=watcher,
        trim=_trimmer(house, None if toolset.lane else standing().ground.tmp),
        clock=time.monotonic,
    )


def _meets(tools: Mapping[str, PooledTool], standing: Standing, rule: str, call: ToolCall) -> bool:
    """Returns whether a call meets a rule; a call that can't be judged meets every rule."""
    tool = tools.get(call.name)
    if tool is None:
        return True
    try:
        subject = tool.subject(tool.read(call.input))
    except ModelFault:
        return True
    return meets_rule(standing, rule, call.name, call.input, subject)


def caller_of(
    house: House,
    session: Session,
    standing: Standing,
    meets: Callable[[str, ToolCall], bool] | None = None,
) -> Caller:
    """Returns the agent as its hooks are told of it."""
    return Caller(
        session_id=session.session_id,
        transcript=house.paths.sessions / f"{session.session_id}.jsonl",
        folder=standing.ground.root,
        mode=standing.mode,
        agent="" if standing.agent == LEAD else standing.agent,
        role=standing.role,
        meets=meets,
    )


def _own_tools(toolset: Toolset) -> dict[str, PooledTool]:
    def is_allowed(name: str) -> bool:
        return toolset.allowed is None or name in toolset.allowed

    pool = {
        tool.name: _pooled(tool, toolset.lane)
        for tool in toolset.lane_tools
        if is_allowed(tool.name)
    }
    pool |= {
        tool.name: _pooled(tool, toolset.subagents)
        for tool in toolset.subagent_tools
        if is_allowed(tool.name)
    }
    return pool | {tool.name: _pooled(tool, toolset.crew) for tool in toolset.crew_tools}


def _pooled(tool: Tool[Any, Any], context: object) -> PooledTool:
    async def run(given: Record) -> ToolResult:
        return await tool.run(given, context)

    return pooled(
        tool.name,
        tool.description,
        tool.input,
        place=tool.place,
        subject=tool.subject,
        run=None if context is None else run,
        least_risk=tool.least_risk,
        overlaps=tool.overlaps,
        waits=tool.waits,
    )


def _mcp_tool(house: House, tool: McpTool) -> PooledTool:
    async def run(given: Record) -> ToolResult:
        if not isinstance(given, McpInput):
            raise TypeError(f"An MCP tool was given {given!r}.")
        result = await house.mcp.call(tool.server, tool.tool, given.arguments)
        return ToolResult(text=result.text, is_error=result.is_error)

    return PooledTool(
        spec=ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema),
        place=Place.LEAD,
        read=lambda raw: McpInput(arguments=raw),
        subject=lambda given: ToolSubject(risk=Risk.DANGEROUS),
        run=run,
        least_risk=Risk.DANGEROUS,
    )


def _trimmer(house: House, jailed_in: Path | None) -> Callable[[str, str], str]:
    """Returns what bounds results; `jailed_in` is the temporary folder of who sees no other."""

    def trim(call_id: str, text: str) -> str:
        return bound_output(
            house.mask.masked(text),
            limit=OUTPUT_CHARACTERS,
            spill_folder=house.paths.outputs,
            name=call_id,
            where=str if jailed_in is None else partial(laid_beside, jailed_in),
        )

    return trim
