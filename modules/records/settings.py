"""Settings as the program uses them, after every source was read."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from modules.records.decisions import Mode
from modules.records.merges import Strategy
from modules.records.record import Record

MOST_WORKERS = 16
LEAST_MEMORY_MB = 256
"""The least a process in a sandbox may be given; a worker has to start in it."""
Network = Literal["off", "proxy", "shared"]
Review = Literal["none", "lead", "person"]
Prove = Literal["tip", "each"]
"""On what the check has to pass: on what a landing ends with, or on each of its commits."""
"""Who has to approve work before it is queued."""
Positive = Annotated[float, Meta(gt=0)]


class ModelEntry(Record):
    """A model a person described in their own settings."""

    base_url: str = ""
    api_key_env: str = ""
    """Name of the environment variable that holds the key."""
    context_tokens: int = 0
    """Size of the context window; 0: the provider's usual one."""
    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None
    usd_per_million_cached: float | None = None


class RuleText(Record):
    """One permission rule as somebody wrote it."""

    text: str
    """`Tool` or `Tool(pattern)`."""
    source: str
    """The file, role or session it comes from."""


class Rules(Record):
    """The allow, ask and deny rules of one or more sources; deny beats ask beats allow."""

    allow: tuple[RuleText, ...] = ()
    ask: tuple[RuleText, ...] = ()
    deny: tuple[RuleText, ...] = ()

    def __add__(self, other: "Rules") -> "Rules":
        return Rules(
            allow=self.allow + other.allow, ask=self.ask + other.ask, deny=self.deny + other.deny
        )


class Role(Record):
    """What workers of one role are told and may use."""

    prompt: str = ""
    plan: bool = False
    """True where a worker hands in a plan and only reads until it is accepted."""
    model: str = ""
    """Model SPEC; empty: the crew's."""
    tools: tuple[str, ...] | None = None
    """Names of the tools it may use beside those every worker has; None: all of a worker's."""
    rules: Rules = Rules()
    """Its deny and ask rules add to the general ones, its allow rules narrow them."""


def tools_of_both(
    one: tuple[str, ...] | None, other: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Returns the tools that both allow; None allows all, an empty tuple none."""
    if one is None or other is None:
        return other if one is None else one
    return tuple(name for name in one if name in other)


class Limit(Record):
    """What may be spent; None: any amount."""

    usd: Annotated[float, Meta(gt=0)] | None = None
    tokens: Annotated[int, Meta(gt=0)] | None = None
    minutes: Annotated[float, Meta(gt=0)] | None = None


class LaneSettings(Record):
    """What a worktree gets beside what is committed; the workers' and those of checks."""

    copy: tuple[str, ...] = ()
    """Globs of small files that git ignores, copied from the main checkout."""
    link: tuple[str, ...] = ()
    """Folders of the main checkout that git ignores, shown read-only."""
    setup: str = ""
    """A command run before anything else does."""
    setup_key: tuple[str, ...] = ()
    """Globs of the files that pin what it installs; empty: the usual lock files."""
    setup_makes: tuple[str, ...] = ()
    """Folders it makes, kept from one check to the next while those files stay the same."""
    spare: int = 2
    """How many checkouts are kept ready for the next lanes, where a repository is large."""


class QueueSettings(Record):
    """How the merge queue proves what it lands."""

    prove: Prove = "tip"


class Settings(Record):
    """Everything that can be set, with the defaults."""

    model: str = ""
    """SPEC of the lead's model; empty: chosen from the keys at hand."""
    worker_model: str = ""
    """SPEC of the workers' model; empty: the lead's."""
    workers: Annotated[int, Meta(ge=1, le=MOST_WORKERS)] = 3
    mode: Mode = Mode.AUTO
    check: str = ""
    """The command that must pass on a tree before it lands; empty: nothing lands."""
    check_timeout_seconds: Positive = 600.0
    strategy: Strategy = Strategy.SQUASH
    target: str = ""
    """Branch the work lands on; empty: the one checked out."""
    lease_seconds: Positive = 120.0
    start_timeout_seconds: Positive = 60.0
    """How long a worker's process may take until it says hello."""
    ask_timeout_seconds: Positive = 600.0
    budget_usd: Positive | None = None
    budget_tokens: Annotated[int, Meta(gt=0)] | None = None
    budget_minutes: Positive | None = None
    task_budget: Limit = Limit()
    worker_budget: Limit = Limit()
    review: Review = "none"
    review_paths: dict[str, Review] = {}
    """Globs of files for which another review is asked; the strictest counts."""
    lane: LaneSettings = LaneSettings()
    queue: QueueSettings = QueueSettings()
    roles: dict[str, Role] = {}
    models: dict[str, ModelEntry] = {}
    rules: Rules = Rules()
    web_allow: tuple[str, ...] = ()
    """Hosts, hosts with a port, addresses and networks that may be fetched wherever they lie."""
    is_mcp_sandboxed: bool = True
    """True where MCP servers are started inside the sandbox."""
    mcp_network: Network = "shared"
    """What sandboxed MCP servers reach."""
    worker_network: Network = "off"
    """What workers' commands reach; `proxy`: `open_hosts` alone."""
    open_hosts: tuple[str, ...] = ()
    """`host`, `host:port` or `*.host`: what the proxy lets through."""
    writable: tuple[str, ...] = ()
    """Folders beside their lanes that workers' commands may write, absolute or `~/…`."""
    memory_mb: int = 0
    """Mebibytes of its own one process in a sandbox may hold; 0: any amount."""


class Environment(Record):
    """What was read from the process's environment, once."""

    variables: dict[str, str]
    home: Path
    """The person's home folder."""
    user_folder: Path
    """Where this program keeps its own user-level files (`CREWYARD_HOME`)."""
    is_sandbox_off: bool = False
    """True when the person set `CREWYARD_SANDBOX=off`."""
