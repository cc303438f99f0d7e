"""The tool that tells how the MCP servers do; their own tools come from the servers."""

from typing import Any

from modules.records.decisions import Risk, ToolSubject
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext


class McpStatus(Record):
    """Input of mcp_status."""


async def mcp_status(given: McpStatus, context: CrewContext) -> ToolResult:
    """Tells the state of every MCP server."""
    return ToolResult(text=context.crew.mcp_status())


MCP_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="mcp_status",
        description="Lists the MCP servers and how many tools each gives.",
        input=McpStatus,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE),
        run=mcp_status,
    ),
)
