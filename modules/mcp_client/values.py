"""The typed values of the MCP client: what is configured, what is offered, what came back."""

from enum import StrEnum
from typing import Any

from modules.records.record import Record


class ServerEntry(Record):
    """One server of `.mcp.json`, its variables filled in."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """What the server gets on top of the short list every child gets."""
    cwd: str = ""
    """Its folder, relative to the repository; empty: the repository itself."""
    is_disabled: bool = False
    timeout_seconds: float | None = None
    """Limit of one call; None: the usual one."""
    fingerprint: str = ""
    """Hash of the entry as it is written; another one means it must be trusted anew."""
    fault: str = ""
    """Why the entry can't be used, and what to do; empty for a usable one."""

    def __repr__(self) -> str:
        # Arguments and variables may hold secrets, and a repr ends up in logs.
        return f"ServerEntry(name={self.name!r}, fingerprint={self.fingerprint!r})"


class McpTool(Record):
    """A tool of a running server, as a model may be told of it."""

    name: str
    """The public name, `mcp__<server>__<tool>`, legal for every provider."""
    description: str
    input_schema: dict[str, Any]
    """JSON Schema of an object, in the words every provider takes."""
    server: str
    tool: str
    """The name the server knows it by."""
    is_read_only: bool = False
    """The server's own claim; worth no more than the trust put into the server."""


class McpResult(Record):
    """What a call gave back, as words; never empty."""

    text: str
    is_error: bool = False


class ServerState(StrEnum):
    """What a server is doing."""

    DISABLED = "disabled"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    STOPPED = "stopped"


class ServerStatus(Record):
    """How one server stands; its tools are offered in the state `ready` alone."""

    name: str
    state: ServerState
    tool_count: int = 0
    why: str = ""
    """Why it failed, or why it is being started again."""
    warnings: tuple[str, ...] = ()
    pid: int | None = None
    """Of the child process, while there is one."""

    @property
    def line(self) -> str:
        """The one line a person reads; the warnings stand apart."""
        if self.state is ServerState.READY:
            tools = "1 tool" if self.tool_count == 1 else f"{self.tool_count} tools"
            return f"{self.name}: ready ({tools})"
        if self.state is ServerState.STARTING and self.why:
            return f"{self.name}: starting; last time it {self.why}"
        return f"{self.name}: {self.state}" + (f": {self.why}" if self.why else "")


class Limits(Record):
    """How long and how much a server may take."""

    start_seconds: float = 30.0
    """From the start of the process to the list of its tools."""
    list_seconds: float = 10.0
    call_seconds: float = 60.0
    grace_seconds: float = 1.0
    """Left to a server after each step of being stopped: end of input, SIGTERM, SIGKILL."""
    first_pause_seconds: float = 0.5
    """Before a lost server is started again; doubles with each loss."""
    steady_seconds: float = 60.0
    """Being ready so long wipes out earlier losses."""
    max_losses: int = 5
    max_message_bytes: int = 64 * 1024 * 1024
    """Of one line a server writes."""
