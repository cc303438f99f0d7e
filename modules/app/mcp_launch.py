"""How this program's MCP servers are read and started."""

import sys

from modules.app.opening import Opened
from modules.mcp_client.config import read_servers
from modules.mcp_client.values import ServerEntry


def servers_of(opened: Opened, *, is_trusted: bool) -> tuple[ServerEntry, ...]:
    """Returns the servers a trusted folder names; none of any other.

    An entry may name this program's own Python, `${CREWYARD_PYTHON}`.
    """
    if not is_trusted:
        return ()
    variables = {"CREWYARD_PYTHON": sys.executable, **opened.environment.variables}
    return read_servers(opened.paths.mcp_settings, variables)
