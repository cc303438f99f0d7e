"""What happens in a run, for whoever watches: console, `stream-json`, tests."""

from datetime import datetime

from modules.records.decisions import Mode
from modules.records.messages import Usage
from modules.records.record import Record


class Event(Record, tag_field="event"):
    """Something that happened at a time."""

    at: datetime


class RunStarted(Event, tag="run_started"):
    """The lead took the repository."""

    target: str
    target_commit: str
    workers: int


class TextDelta(Event, tag="text"):
    """An agent's words, as they arrive."""

    agent: str
    text: str


class CallStarted(Event, tag="call_started"):
    """A call passed the gate and runs."""

    agent: str
    call_id: str
    tool: str
    text: str
    """What the call is about, on one line."""


class CallEnded(Event, tag="call_ended"):
    """A call gave its result."""

    agent: str
    call_id: str
    tool: str
    is_error: bool
    text: str
    """The first line of the result."""


class CallDenied(Event, tag="call_denied"):
    """The gate refused a call."""

    agent: str
    call_id: str
    tool: str
    why: str


class ModeChanged(Event, tag="mode"):
    """The person set another mode."""

    mode: Mode
    before: Mode
    for_all: bool
    """True where it also raises workers that are at work."""


class QuestionAsked(Event, tag="question_asked"):
    """A call waits for a person's answer."""

    agent: str
    question_id: str
    tool: str
    text: str
    why: str


class WorkerChanged(Event, tag="worker"):
    """A worker's state is another one now."""

    worker: str
    role: str
    state: str
    task: int | None = None
    pid: int | None = None
    why: str = ""
    """What it waits for."""
    until: datetime | None = None
    """When that ends at the latest; None where nothing limits it."""


class TaskChanged(Event, tag="task"):
    """A task stands elsewhere on the board."""

    task: int
    subject: str
    status: str
    worker: str = ""
    attempt: int = 0
    reason: str = ""
    landed_as: str = ""


class TaskStuck(Event, tag="task_stuck"):
    """A task does not get on: nobody is there who may take it, or others go before it."""

    task: int
    subject: str
    why: str


class EntryChanged(Event, tag="entry"):
    """A merge queue entry stands elsewhere."""

    entry: int
    task: int
    status: str
    commit: str
    reason: str = ""
    landed_as: str = ""


class TargetHeld(Event, tag="target_held"):
    """The person's checkout could not follow what has landed."""

    target: str
    landed: str
    why: str


class TargetFails(Event, tag="target_fails"):
    """What has landed does not pass the check by itself; no entry is to blame."""

    target: str
    landed: str
    why: str


class ClashForeseen(Event, tag="clash_foreseen"):
    """Work under way can't be joined with other work, or with what has landed."""

    tasks: tuple[int, ...]
    """Those whose work conflicts in the files: with one another, or with what has landed."""
    workers: tuple[str, ...]
    """Who works on each of them."""
    has_landed: bool
    """True where the other side has landed already."""
    landed_by: tuple[int, ...] = ()
    """The tasks that brought it, as far as that is known."""
    files: tuple[str, ...]


class CrewHeld(Event, tag="crew_held"):
    """Nobody of the crew begins anything until the person lets it go on."""

    why: str


class ConversationCompacted(Event, tag="compacted"):
    """An agent's conversation was made shorter; its journal keeps all of it."""

    agent: str
    task: int | None = None
    trigger: str
    """`auto`, `overflow` or `manual`."""
    step: str
    """What made room: `outputs`, `summary` or `no_summary`."""
    tokens_before: int
    tokens_after: int


class Noticed(Event, tag="notice"):
    """One line a person should read."""

    text: str


class Spent(Event, tag="spent"):
    """A model request was paid for."""

    agent: str
    task: int | None = None
    usage: Usage
    cost_usd: float | None
    """None when the model's price is not known."""


AnyEvent = (
    RunStarted
    | TextDelta
    | CallStarted
    | CallEnded
    | CallDenied
    | ModeChanged
    | QuestionAsked
    | WorkerChanged
    | TaskChanged
    | TaskStuck
    | EntryChanged
    | TargetHeld
    | TargetFails
    | ClashForeseen
    | CrewHeld
    | ConversationCompacted
    | Noticed
    | Spent
)
