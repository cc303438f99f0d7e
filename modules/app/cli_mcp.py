"""Commands about MCP servers."""

import asyncio

from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.opening import open_repository_at
from modules.records.errors import PersonFault
from modules.safety.trust import TrustStatus, TrustStore

SETTLE_SECONDS = 30.0

mcp = Typer(help="Look at the MCP servers of .mcp.json.", no_args_is_help=True)


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(mcp, name="mcp")


@mcp.command("status")
def status(repo: Repo = HERE, as_json: Json = False) -> None:
    """Starts every server, tells how it does, and ends it."""
    # Other commands need not load what this one does.
    from modules.mcp_client.config import read_servers
    from modules.mcp_client.launch import Launch
    from modules.mcp_client.session import McpHub
    from modules.mcp_client.values import ServerStatus

    opened = open_repository_at(folder_of(repo))
    root = opened.paths.root
    if (
        opened.paths.mcp_settings.exists()
        and TrustStore(opened.environment.user_folder).status(root) is not TrustStatus.TRUSTED
    ):
        raise PersonFault(
            f"The servers of {str(opened.paths.mcp_settings)!r} are not started: nobody trusts "
            "the folder.",
            hint="Look at the file, then run `crewyard trust add`.",
        )
    servers = read_servers(opened.paths.mcp_settings, opened.environment.variables)
    hub = McpHub(Launch(folder=root, variables=opened.environment.variables))

    async def look() -> tuple[ServerStatus, ...]:
        hub.start(servers)
        try:
            await hub.settle(SETTLE_SECONDS)
            return hub.status()
        finally:
            await hub.stop()

    found = asyncio.run(look())
    if as_json:
        print_json(
            [
                {
                    "name": server.name,
                    "state": str(server.state),
                    "tools": server.tool_count,
                    "why": server.why,
                    "warnings": list(server.warnings),
                }
                for server in found
            ]
        )
        return
    lines = [line for server in found for line in (server.line, *server.warnings)]
    print_lines(lines or ["No MCP server is configured (.mcp.json)."])
