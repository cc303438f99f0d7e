"""Commands about MCP servers."""

import asyncio

from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.opening import open_repository_at, settings_for
from modules.records.errors import PersonFault
from modules.safety.trust import TrustStatus

SETTLE_SECONDS = 30.0

mcp = Typer(help="Look at the MCP servers of .mcp.json.", no_args_is_help=True)


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(mcp, name="mcp")


@mcp.command("status")
def status(repo: Repo = HERE, as_json: Json = False) -> None:
    """Starts every server, tells how it does, and ends it."""
    # Other commands need not load what this one does.
    from modules.app.jails import egress_proxy
    from modules.app.mcp_launch import launch_for, servers_of
    from modules.mcp_client.session import McpHub
    from modules.mcp_client.values import ServerStatus
    from modules.safety.sandbox import probe

    opened = open_repository_at(folder_of(repo))
    settings, trust = settings_for(opened, {})
    is_trusted = trust is TrustStatus.TRUSTED
    if opened.paths.mcp_settings.exists() and not is_trusted:
        raise PersonFault(
            f"The servers of {str(opened.paths.mcp_settings)!r} are not started: nobody trusts "
            "the folder.",
            hint="Look at the file, then run `crewyard trust add`.",
        )
    servers = servers_of(opened, is_trusted=is_trusted)
    hub = McpHub(launch_for(opened, settings, probe(opened.environment)))
    egress = egress_proxy(opened, settings)

    async def look() -> tuple[ServerStatus, ...]:
        if settings.mcp_network == "proxy":
            await egress.start()
        hub.start(servers)
        try:
            await hub.settle(SETTLE_SECONDS)
            return hub.status()
        finally:
            await hub.stop()
            await egress.stop()

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
