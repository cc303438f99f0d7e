"""`team.toml` and the person's `settings.toml`, as they may be written."""

import re
from ipaddress import ip_network
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from modules.records.settings import LEAST_MEMORY_MB, MOST_WORKERS
from modules.store.paths import LANES_FOLDER, TEAM_FOLDER

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")

_OPEN_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+(?::[0-9]{1,5})?")


def _host(text: str) -> str:
    """Refuses what names neither a host nor a network, for it would open nothing."""
    try:
        ip_network(text, strict=False)
    except ValueError:
        if not _HOST.fullmatch(text):
            raise ValueError("write a host, a host:port, an address or a network") from None
    return text


def _open_host(text: str) -> str:
    if not _OPEN_HOST.fullmatch(text):
        raise ValueError("write a host, a host:port, or *.host for all names below it")
    return text


def _folder(text: str) -> str:
    if not text.startswith(("/", "~/")):
        raise ValueError("write a folder's whole path, from / or ~/ on")
    return text


def _inside(text: str) -> str:
    """Refuses what could lead out of the checkout, or into git's folder or ours."""
    parts = PurePosixPath(text).parts
    is_kept_out = not parts or parts[0] in (".git", TEAM_FOLDER, LANES_FOLDER)
    if text.startswith(("/", "~")) or ".." in parts or is_kept_out:
        raise ValueError("write a path below the checkout, such as node_modules")
    return text


def _plain_inside(text: str) -> str:
    if set(text) & set("*?[\\!"):
        raise ValueError("write one folder's path, without wildcards")
    return PurePosixPath(_inside(text)).as_posix()


def _memory(megabytes: int) -> int:
    if megabytes and megabytes < LEAST_MEMORY_MB:
        raise ValueError(f"give {LEAST_MEMORY_MB} at least, or 0 for no limit")
    return megabytes


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitTable(_Table):
    """`[budget.task]` and `[budget.worker]`: what each may cost."""

    usd: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    minutes: float | None = Field(default=None, gt=0)


class BudgetTable(LimitTable):
    """`[budget]`: what one run may cost."""

    task: LimitTable = LimitTable()
    worker: LimitTable = LimitTable()


class PermissionsTable(_Table):
    """`[permissions]`: rules in the `Tool(pattern)` form."""

    allow: list[str] = []
    ask: list[str] = []
    deny: list[str] = []


class RoleTable(_Table):
    """`[roles.NAME]`: what workers of a role are told and may use."""

    prompt: str = ""
    plan: bool = False
    model: str = ""
    tools: list[str] = []
    allow: list[str] = []
    ask: list[str] = []
    deny: list[str] = []


class ModelTable(_Table):
    """`[models."PROVIDER:MODEL"]`: a model's address, key variable, window and prices."""

    base_url: str = ""
    api_key_env: str = ""
    context_tokens: int = Field(default=0, ge=0)
    usd_per_million_in: float | None = Field(default=None, ge=0)
    usd_per_million_out: float | None = Field(default=None, ge=0)
    usd_per_million_cached: float | None = Field(default=None, ge=0)


class LaneTable(_Table):
    """`[lane]`: what worktrees get beside what is committed."""

    copy_: list[Annotated[str, AfterValidator(_inside)]] = Field(default=[], alias="copy")
    link: list[Annotated[str, AfterValidator(_plain_inside)]] = []
    setup: str = ""
    setup_key: list[Annotated[str, AfterValidator(_inside)]] = []
    setup_makes: list[Annotated[str, AfterValidator(_plain_inside)]] = []
    spare: int = Field(default=2, ge=0, le=MOST_WORKERS)


class QueueTable(_Table):
    """`[queue]`: how the merge queue proves what it lands."""

    prove: Literal["tip", "each"] = "tip"


class SettingsFile(_Table):
    """What both files may hold."""

    model: str = ""
    worker_model: str = ""
    workers: int = Field(default=3, ge=1, le=MOST_WORKERS)
    mode: Literal["plan", "default", "auto", "acceptEdits", "yolo"] = "auto"
    check: str = ""
    check_timeout_seconds: float = Field(default=600.0, gt=0)
    strategy: Literal["squash", "merge", "rebase"] = "squash"
    target: str = ""
    lease_seconds: float = Field(default=120.0, gt=0)
    start_timeout_seconds: float = Field(default=60.0, gt=0)
    ask_timeout_seconds: float = Field(default=600.0, gt=0)
    review: Literal["none", "lead", "person"] = "none"
    review_paths: dict[str, Literal["none", "lead", "person"]] = {}
    budget: BudgetTable = BudgetTable()
    permissions: PermissionsTable = PermissionsTable()
    lane: LaneTable = LaneTable()
    queue: QueueTable = QueueTable()
    roles: dict[str, RoleTable] = {}


class WebTable(_Table):
    """`[web]`: which places beside the public internet may be fetched."""

    allow: list[Annotated[str, AfterValidator(_host)]] = []


class McpTable(_Table):
    """`[mcp]`: how MCP servers are started."""

    sandbox: bool = True
    network: Literal["off", "proxy", "shared"] = "shared"


class SandboxTable(_Table):
    """`[sandbox]`: what workers' commands reach and write beside their lanes, and may use."""

    network: Literal["off", "proxy", "shared"] = "off"
    hosts: list[Annotated[str, AfterValidator(_open_host)]] = []
    writable: list[Annotated[str, AfterValidator(_folder)]] = []
    memory_mb: Annotated[int, AfterValidator(_memory)] = 0


class UserSettingsFile(SettingsFile):
    """The person's own file may also describe models, and open what is closed to others."""

    models: dict[str, ModelTable] = {}
    web: WebTable = WebTable()
    mcp: McpTable = McpTable()
    sandbox: SandboxTable = SandboxTable()
