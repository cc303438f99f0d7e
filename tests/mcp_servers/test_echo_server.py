import ast
import asyncio
from datetime import datetime
from pathlib import Path

from mcp import Client
from mcp_types import CallToolResult, TextContent

from mcp_servers import echo_server


def said(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def test_server_echoes_and_tells_the_time_and_offers_nothing_else() -> None:
    async def run() -> None:
        async with Client(echo_server.make_server()) as client:
            listed = (await client.list_tools()).tools
            echoed = await client.call_tool("echo", {"text": "grüß dich\n"})
            told = await client.call_tool("now", {})

        assert [tool.name for tool in listed] == ["echo", "now"]
        assert said(echoed) == "grüß dich\n"
        assert datetime.fromisoformat(said(told)).tzinfo is not None

    asyncio.run(run())


def test_server_imports_nothing_of_the_program() -> None:
    tree = ast.parse(Path(echo_server.__file__).read_text(encoding="utf-8"))

    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]

    assert modules == ["datetime", "mcp.server", "mcp_types"]
