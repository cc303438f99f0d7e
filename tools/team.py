"""Tools for the crew: who is there, and words between agents."""

from typing import Annotated, Any

from msgspec import Meta

from modules.records.crew import WorkerState, WorkerView
from modules.records.decisions import Mode, Risk, ToolSubject
from modules.records.protocol import STOP_LIMITS
from modules.records.record import Record
from modules.records.tasks import TaskDraft
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext

Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$",
        description="A worker's name: letters, digits, - and _.",
    ),
]


Content = Annotated[
    str,
    Meta(
        min_length=1,
        description="The words. Up to 8,000 characters are told as they are; of more, up to 1 MB, "
        "the head, with a file that holds all.",
    ),
]


class Spawn(Record):
    """Input of spawn_teammate."""

    name: Name
    role: Annotated[str, Meta(description="Takes tasks of this role and tasks without one.")] = ""
    model: Annotated[str, Meta(description="Model SPEC; empty: the crew's.")] = ""
    tools: Annotated[
        tuple[str, ...],
        Meta(
            description="The tools it may use, beside submit_work and those to talk with, as far "
            "as its role has them; empty: all of its role's."
        ),
    ] = ()
    mode: Annotated[
        Mode | None,
        Meta(description="How much it may do unasked, not above your own mode; null: as you."),
    ] = None


class Assign(Record):
    """Input of assign_task."""

    name: Name
    task: Annotated[str, Meta(min_length=1, description="What is to be done; first line: subject.")]


class ListTeammates(Record):
    """Input of list_teammates."""


class ShutDown(Record):
    """Input of shutdown_teammate."""

    name: Name


class SendMessage(Record):
    """Input of send_message."""

    to: Annotated[
        str,
        Meta(
            min_length=1,
            description="`lead`, a worker's name, or `role:NAME` for all who have that role now.",
        ),
    ]
    content: Content


class AskLead(Record):
    """Input of ask_lead."""

    question: Annotated[str, Meta(min_length=1, description="One question, with what you know.")]


class Broadcast(Record):
    """Input of broadcast."""

    content: Content


async def spawn_teammate(given: Spawn, context: CrewContext) -> ToolResult:
    """Adds a named worker to the crew."""
    context.crew.spawn(
        name=given.name,
        role=given.role,
        model=given.model,
        tools=given.tools,
        mode=given.mode,
    )
    return ToolResult(text=f"{given.name} is there and takes tasks from the board.")


async def assign_task(given: Assign, context: CrewContext) -> ToolResult:
    """Posts a task for one worker; it waits on the board while the worker is busy."""
    workers = {worker.name: worker for worker in context.crew.workers()}
    if given.name not in workers:
        there = f"There are: {', '.join(workers)}." if workers else "Spawn one first."
        return ToolResult(text=f"There is no worker {given.name!r}. {there}", is_error=True)
    subject, _, rest = given.task.strip().partition("\n")
    draft = TaskDraft(subject=subject[:200], description=rest.strip(), assignee=given.name)
    task = await context.crew.post_task(draft, agent=context.agent)
    now = workers[given.name].task
    later = "" if now is None else f", who is at task {now} and takes it afterwards"
    return ToolResult(text=f"Posted task {task.task_id} for {given.name}{later}.")


async def list_teammates(given: ListTeammates, context: CrewContext) -> ToolResult:
    """Lists the crew."""
    lines = [worker_line(worker) for worker in context.crew.workers()]
    return ToolResult(text="\n".join(lines) or "No worker is there; they start with the work.")


async def shutdown_teammate(given: ShutDown, context: CrewContext) -> ToolResult:
    """Ends a worker; says so only once its process and all it started are gone."""
    await context.crew.shut_down(given.name)
    return ToolResult(text=f"{given.name} is gone.")


async def send_message(given: SendMessage, context: CrewContext) -> ToolResult:
    """Sends a message to one agent or to a role."""
    count = context.crew.send_mail(agent=context.agent, to=given.to, body=given.content)
    return ToolResult(text=f"Sent to {given.to}." if count == 1 else f"Sent to {count} workers.")


async def ask_lead(given: AskLead, context: CrewContext) -> ToolResult:
    """Asks the lead and waits for its answer."""
    answer = await context.crew.ask_lead(agent=context.agent, question=given.question)
    return ToolResult(text=answer)


async def broadcast(given: Broadcast, context: CrewContext) -> ToolResult:
    """Sends a message to every worker."""
    count = context.crew.send_mail(agent=context.agent, to=None, body=given.content)
    return ToolResult(text=f"Sent to {count} workers.")


def worker_line(worker: WorkerView) -> str:
    """Returns a worker on one line."""
    parts = [worker.name, f"{worker.state}{_times(worker)}"]
    if worker.role:
        parts.append(f"role {worker.role}")
    if worker.task is not None:
        parts.append(f"task {worker.task}")
    if worker.mode is not None:
        parts.append(f"mode {worker.mode}")
    if worker.tools is not None:
        parts.append(f"tools {', '.join(worker.tools)}")
    if worker.doing:
        parts.append(doing_words(worker))
    return " · ".join(parts)


def doing_words(worker: WorkerView) -> str:
    """Returns the tool a worker runs, or what it waits for."""
    return f"for {worker.doing}" if worker.state is WorkerState.WAITING else worker.doing


def _times(worker: WorkerView) -> str:
    until = "" if worker.until is None else f" until {worker.until.astimezone():%H:%M:%S}"
    return f" since {worker.since.astimezone():%H:%M:%S}{until}"


def _safe(text: str = "") -> ToolSubject:
    return ToolSubject(risk=Risk.SAFE, text=text)


MESSAGE_TOOL: Tool[Any, CrewContext] = Tool(
    name="send_message",
    description="Sends a message to another agent or to all of a role, read before the next step.",
    input=SendMessage,
    place=Place.LEAD,
    subject=lambda given: _safe(f"to {given.to}: {given.content[:80]}"),
    run=send_message,
)

ASK_TOOL: Tool[Any, CrewContext] = Tool(
    name="ask_lead",
    description="Asks the lead a question about your task and waits for the answer.",
    input=AskLead,
    place=Place.LEAD,
    subject=lambda given: _safe(given.question[:80]),
    run=ask_lead,
)

TEAM_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="spawn_teammate",
        description="Adds a worker with a name and a role, and if you like with fewer tools or a "
        "lower mode; it then takes tasks from the board.",
        input=Spawn,
        place=Place.LEAD,
        subject=lambda given: _safe(f"{given.name} {given.role}".strip()),
        run=spawn_teammate,
    ),
    Tool(
        name="assign_task",
        description="Posts a task that only the named worker may take.",
        input=Assign,
        place=Place.LEAD,
        subject=lambda given: _safe(f"{given.name}: {given.task[:80]}"),
        run=assign_task,
    ),
    Tool(
        name="list_teammates",
        description="Lists the workers and what each is at.",
        input=ListTeammates,
        place=Place.LEAD,
        subject=lambda given: _safe(),
        run=list_teammates,
    ),
    Tool(
        name="shutdown_teammate",
        description="Ends a worker: it is asked, told (SIGTERM) when it is still there after "
        f"{STOP_LIMITS.ask_seconds:.0f} s, and killed (SIGKILL) after "
        f"{STOP_LIMITS.term_seconds:.0f} s more, with all it started. Its unfinished task goes "
        "back to the board, and what it had not handed in is kept.",
        input=ShutDown,
        place=Place.LEAD,
        subject=lambda given: _safe(given.name),
        run=shutdown_teammate,
    ),
    MESSAGE_TOOL,
    Tool(
        name="broadcast",
        description="Sends a message to every worker.",
        input=Broadcast,
        place=Place.LEAD,
        subject=lambda given: _safe(given.content[:80]),
        run=broadcast,
    ),
)
