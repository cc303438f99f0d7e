"""A small MCP server on standard input and output: says back what it is told, tells the time."""

from datetime import UTC, datetime

from mcp.server import MCPServer
from mcp_types import ToolAnnotations


def echo(text: str) -> str:
    """Says the text back, unchanged."""
    return text


def now() -> str:
    """Tells the current time in UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def make_server() -> MCPServer:
    """Returns the server with its tools."""
    server = MCPServer("echo")
    for tool in (echo, now):
        server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=True))
    return server


if __name__ == "__main__":
    make_server().run("stdio")
