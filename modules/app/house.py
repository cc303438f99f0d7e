"""Everything one lead process works with, joined by wiring and handed around as one value."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from modules.app.budget import Budget
from modules.app.clash_watch import ClashWatch
from modules.app.event_bus import EventBus
from modules.app.merging import MergeDriver
from modules.app.models import Models
from modules.app.questions import QuestionDesk
from modules.app.run_hooks import RunHooks
from modules.app.spare_lanes import SpareLanes
from modules.app.wait_notes import WaitNotes
from modules.git.repository import Repository
from modules.mcp_client.session import McpHub
from modules.mcp_client.values import ServerEntry
from modules.records.settings import Environment, Settings
from modules.safety.egress_proxy import EgressProxy
from modules.safety.hooks import HookRunner
from modules.safety.permissions import PermissionManager, Standing
from modules.safety.sandbox import Probe
from modules.safety.secrets import SecretMask
from modules.safety.web_guard import WebGuard
from modules.store.paths import Paths
from modules.team.mailbox import Mailbox
from modules.team.merge_queue import MergeQueue
from modules.team.preparation import Preparation
from modules.team.task_board import TaskBoard


@dataclass(frozen=True, slots=True)
class House:
    """The objects of one run."""

    clock: Callable[[], datetime]
    environment: Environment
    settings: Settings
    repository: Repository
    paths: Paths
    events: EventBus
    board: TaskBoard
    mailbox: Mailbox
    queue: MergeQueue
    merging: MergeDriver
    clashes: ClashWatch
    spares: SpareLanes
    preparation: Preparation
    """Makes lanes ready to run code in."""
    permissions: PermissionManager
    standings: dict[str, Callable[[], Standing]]
    """How each agent at work stands now, by its name."""
    hooks: HookRunner
    run_hooks: RunHooks
    waits: WaitNotes
    questions: QuestionDesk
    mcp: McpHub
    mcp_servers: tuple[ServerEntry, ...]
    mask: SecretMask
    web: WebGuard
    sandbox: Probe
    egress: EgressProxy
    """The way out of jails whose network is `proxy`; it listens only where one is wanted."""
    worker_argv: tuple[str, ...]
    """The program that is a worker, and says hello on its stdout."""
    writable: tuple[Path, ...]
    """Folders beside their lanes that workers' commands may write."""
    budget: Budget
    models: Models
    warnings: tuple[str, ...]
    """What in the person's settings does nothing, a line each; told when the run starts."""
    sweep: Callable[[], list[str]]
    """Cleans up after a dead lead and returns what was found, a line each; blocks."""
    tidy: Callable[[], None]
    """Removes what a run needs only while it lasts; blocks."""
    pid: int
    """Of this process."""
    failed: "asyncio.Future[None]"
    """Gets the error that ends the run from inside (a missing key, a spent budget, a bug)."""
