"""Tools for the crew's worktrees (lanes)."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from modules.records.decisions import Risk, ToolSubject
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext


class WorktreeList(Record):
    """Input of worktree_list."""


class WorktreeInfo(Record):
    """Input of worktree_info."""

    name: Annotated[str, Meta(min_length=1, description="A worktree's name from worktree_list.")]


class WorktreeCloseout(Record):
    """Input of worktree_closeout."""

    name: Annotated[str, Meta(min_length=1, description="A worktree's name from worktree_list.")]
    action: Annotated[
        Literal["keep", "remove"],
        Meta(description="`remove` keeps what is not landed under a salvage ref first."),
    ]


async def list_worktrees(given: WorktreeList, context: CrewContext) -> ToolResult:
    """Lists the lanes."""
    return ToolResult(text="\n".join(await context.crew.lane_lines()) or "There is no worktree.")


async def worktree_info(given: WorktreeInfo, context: CrewContext) -> ToolResult:
    """Tells what is in one lane."""
    return ToolResult(text=await context.crew.lane_info(given.name))


async def close_worktree(given: WorktreeCloseout, context: CrewContext) -> ToolResult:
    """Keeps or removes one lane."""
    return ToolResult(text=await context.crew.close_lane(given.name, action=given.action))


WORKTREE_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="worktree_list",
        description="Lists the crew's worktrees.",
        input=WorktreeList,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE),
        run=list_worktrees,
    ),
    Tool(
        name="worktree_info",
        description="Tells a worktree's branch, base, commits and uncommitted files.",
        input=WorktreeInfo,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE, text=given.name),
        run=worktree_info,
    ),
    Tool(
        name="worktree_closeout",
        description="Keeps a worktree, or removes it without losing anything.",
        input=WorktreeCloseout,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.WRITE, text=f"{given.action} {given.name}"),
        run=close_worktree,
        least_risk=Risk.WRITE,
    ),
)
