"""How this program's MCP servers are read and started: inside the sandbox, unless a person says no.

1. A server reads what an agent may read, reaches what `[mcp] network` says, and writes nothing but
   its own folder and home, which are kept for its next start.
2. It dies with the lead, and all it started with it.
3. Where the machine has no sandbox it is not started; the person's own settings may do without.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from modules.app.jails import reading_jail
from modules.app.opening import Opened
from modules.git.run_git import FALLBACK_IDENTITY
from modules.mcp_client.config import read_servers
from modules.mcp_client.launch import Launch
from modules.mcp_client.values import ServerEntry
from modules.records.errors import PersonFault
from modules.records.settings import Settings
from modules.safety.child_environment import child_environment
from modules.safety.jail import SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import Probe, jailed_argv

_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]")


def servers_of(opened: Opened, *, is_trusted: bool) -> tuple[ServerEntry, ...]:
    """Returns the servers a trusted folder names; none of any other.

    An entry may name this program's own Python, `${CREWYARD_PYTHON}`.
    """
    if not is_trusted:
        return ()
    variables = {"CREWYARD_PYTHON": sys.executable, **opened.environment.variables}
    return read_servers(opened.paths.mcp_settings, variables)


def launch_for(opened: Opened, settings: Settings, sandbox: Probe) -> Launch:
    """Returns how the servers of a repository are started."""
    variables = opened.environment.variables
    if not settings.is_mcp_sandboxed or sandbox.kind is SandboxKind.OFF:
        return Launch(folder=opened.paths.root, variables=variables)
    jail = ServerJail(opened, sandbox, settings)
    return Launch(
        folder=opened.paths.root, variables=variables, wrap=jail.wrap, own=jail.environment
    )


class ServerJail:
    """The jails of the servers, one for each."""

    def __init__(self, opened: Opened, sandbox: Probe, settings: Settings) -> None:
        self._opened = opened
        self._sandbox = sandbox
        self._settings = settings

    def environment(self, entry: ServerEntry) -> Mapping[str, str]:
        """Returns a server's own home and scratch folder, and where toolchains lie."""
        variables = self._opened.environment.variables
        temporary = self._temporary(entry)
        network = self._settings.mcp_network
        return child_environment(variables, temporary=temporary, network=network)

    def wrap(self, entry: ServerEntry, argv: Sequence[str]) -> Sequence[str]:
        """Returns the command that starts a server in its jail, which is made ready."""
        opened, temporary = self._opened, self._temporary(entry)
        folder = opened.paths.root / entry.cwd
        self._check_command(entry, folder)
        spec = reading_jail(
            opened.paths,
            opened.environment,
            temporary,
            settings=self._settings,
            network=self._settings.mcp_network,
        )
        spec.folder.mkdir(parents=True, exist_ok=True)
        prepare_jail(spec, self._sandbox.kind, person=FALLBACK_IDENTITY)
        there = ["env", "-C", str(folder), *argv]
        return jailed_argv(there, spec, self._sandbox.kind)

    def _check_command(self, entry: ServerEntry, folder: Path) -> None:
        """Raises PersonFault for a command that is not there, which the jail would hide."""
        path = entry.env.get("PATH", self._opened.environment.variables.get("PATH"))
        command = entry.command
        if os.sep in command:
            is_there = os.access(folder / command, os.X_OK)
        else:
            is_there = shutil.which(command, path=path) is not None
        if not is_there:
            raise PersonFault(
                f"The command {command!r} can't be started (it is not found).",
                hint="Install it, or mend its entry in .mcp.json.",
            )

    def _temporary(self, entry: ServerEntry) -> Path:
        name = _NO_FILE_NAME.sub("-", entry.name)
        return self._opened.paths.temporary / f"mcp-{name}-{entry.fingerprint[:8]}"
