"""Who gets which tools."""

from collections.abc import Collection
from typing import Any

from modules.records.tooling import Tool
from tools.background import BACKGROUND_TOOLS
from tools.board import BOARD_TOOLS
from tools.context import CONTEXT_TOOLS
from tools.crew_context import CrewContext
from tools.files import FILE_TOOLS
from tools.lane_context import LaneContext
from tools.mcp import MCP_TOOLS
from tools.merge import MERGE_TOOLS, SUBMIT_TOOL
from tools.network_command import NETWORK_TOOLS
from tools.person import PERSON_TOOLS
from tools.plan import PLAN_TOOL, PLAN_TOOLS
from tools.search import SEARCH_TOOLS
from tools.shell import SHELL_TOOLS
from tools.subagent import SUBAGENT_TOOL
from tools.team import ASK_TOOL, MESSAGE_TOOL, TEAM_TOOLS
from tools.todo import TODO_TOOLS
from tools.web import WEB_TOOLS
from tools.worktree import WORKTREE_TOOLS

LANE_TOOLS: tuple[Tool[Any, LaneContext], ...] = (
    *SHELL_TOOLS,
    *BACKGROUND_TOOLS,
    *FILE_TOOLS,
    *SEARCH_TOOLS,
    *TODO_TOOLS,
)
"""Run in the agent's own process and folder: the lead's and every worker's."""

LEAD_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    *BOARD_TOOLS,
    *TEAM_TOOLS,
    *WORKTREE_TOOLS,
    *MERGE_TOOLS,
    *PERSON_TOOLS,
    *MCP_TOOLS,
    *PLAN_TOOLS,
    *WEB_TOOLS,
    *CONTEXT_TOOLS,
)
"""The lead's alone, in its process."""

WORKER_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    SUBMIT_TOOL,
    ASK_TOOL,
    MESSAGE_TOOL,
    *PERSON_TOOLS,
    *CONTEXT_TOOLS,
)
"""Every worker's, run in the lead's process."""


WORKER_TOOL_NAMES = frozenset(
    tool.name
    for tools in (
        LANE_TOOLS,
        WORKER_TOOLS,
        WEB_TOOLS,
        NETWORK_TOOLS,
        (PLAN_TOOL,),
        (SUBAGENT_TOOL,),
    )
    for tool in tools
)
"""All a worker can have, but for the tools of MCP servers."""


def worker_tools(
    allowed: Collection[str] | None, *, needs_plan: bool, may_ask_for_network: bool
) -> tuple[Tool[Any, CrewContext], ...]:
    """Returns a worker's tools that run in the lead's process; `allowed` None: all."""
    plan = (PLAN_TOOL,) if needs_plan else ()
    network = (*WEB_TOOLS, *(NETWORK_TOOLS if may_ask_for_network else ()))
    return (
        *WORKER_TOOLS,
        *plan,
        *(tool for tool in network if allowed is None or tool.name in allowed),
    )
