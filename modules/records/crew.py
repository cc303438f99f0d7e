"""The crew as it is shown."""

from datetime import datetime
from enum import StrEnum

from modules.records.decisions import Mode
from modules.records.record import Record


class WorkerState(StrEnum):
    """What a worker is at."""

    STARTING = "starting"
    IDLE = "idle"
    WORKING = "working"
    WAITING = "waiting"
    STOPPING = "stopping"
    GONE = "gone"


class WorkerView(Record, omit_defaults=False):
    """A worker, for people and for `team --json`."""

    name: str
    role: str
    state: WorkerState
    task: int | None = None
    pid: int | None = None
    since: datetime
    until: datetime | None = None
    """When its state ends at the latest; None where nothing limits it."""
    doing: str = ""
    """The tool it runs, or what it waits for."""
    is_named: bool = False
    """True for a teammate somebody asked for by name."""
    model: str = ""
    """Its own model; empty: that of its task, its role or the crew."""
    tools: tuple[str, ...] | None = None
    """The tools it may use of those its role has; None: all of them."""
    mode: Mode | None = None
    """Its own mode, which the lead's may be below; None: the lead's."""


class CrewView(Record, omit_defaults=False):
    """What the lead last wrote of itself and its workers."""

    lead_pid: int
    workers: tuple[WorkerView, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
