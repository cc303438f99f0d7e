"""What the lead's tools work with: the crew's services, for one calling agent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from modules.records.crew import WorkerView
from modules.records.decisions import Mode
from modules.records.merges import Entry
from modules.records.tasks import Task, TaskDraft
from modules.records.tooling import ToolResult
from modules.records.web import Elsewhere, Page
from tools.lane_context import LaneContext


class CrewDesk(Protocol):
    """The crew's services; `agent` is whom the lead knows the caller to be."""

    async def post_task(self, draft: TaskDraft, *, agent: str) -> Task: ...

    def role_warning(self, role: str) -> str:
        """Returns what whoever posts a task has to know of its role; mostly nothing."""
        ...

    def tasks(self) -> list[Task]: ...

    def workers(self) -> list[WorkerView]: ...

    def spawn(
        self, *, name: str, role: str, model: str, tools: tuple[str, ...], mode: Mode | None
    ) -> None:
        """Adds a worker; raises ModelFault when it would have a tool there is not, or a mode above
        the lead's.
        """
        ...

    async def shut_down(self, name: str) -> None:
        """Ends a worker; returns once its process and all it started are gone."""
        ...

    def send_mail(self, *, agent: str, to: str | None, body: str) -> int:
        """Sends to one agent or `role:NAME`, or to all workers when `to` is None.

        Returns how many got it; raises ModelFault when that is nobody.
        """
        ...

    async def lane_lines(self) -> list[str]: ...

    async def lane_info(self, name: str) -> str: ...

    async def close_lane(self, name: str, *, action: str) -> str: ...

    def entries(self) -> list[Entry]: ...

    async def review(self, task_id: int) -> str: ...

    async def integrate(self, task_id: int, *, strategy: str, reason: str) -> str: ...

    async def ask_person(self, *, agent: str, question: str) -> str: ...

    async def review_plan(self, *, agent: str, plan: str) -> tuple[bool, str]:
        """Waits until the lead or the person accepts a plan or returns it with words."""
        ...

    def answer_plan(self, name: str, *, accepts: bool, feedback: str) -> None: ...

    async def ask_lead(self, *, agent: str, question: str) -> str: ...

    async def fetch(self, url: str, *, agent: str) -> Page | Elsewhere:
        """Returns what lies at an address; raises ModelFault when it is not fetched."""
        ...

    def mcp_status(self) -> str: ...


class Submitter(Protocol):
    """Takes in the work of one attempt."""

    needs_plan: bool

    async def submit(self, *, summary: str, no_changes_reason: str) -> ToolResult: ...


@dataclass(frozen=True, slots=True)
class CrewContext:
    """The caller, and what its tools may reach."""

    agent: str
    crew: CrewDesk
    submitter: Submitter | None = None
    """None for an agent that has no attempt of its own (the lead)."""
    networked: LaneContext | None = None
    """The caller's lane with commands that have the network; None where there is no such jail."""
    wish_compaction: Callable[[str], None] | None = None
    """Has the caller's conversation compacted; None where nobody can."""
