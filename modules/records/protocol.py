"""What a lead and a worker say to each other: JSON lines over the worker's stdin and stdout.

A worker's message with a `seq` is answered by one of the lead's with the same `seq`.
"""

from modules.records.messages import Message, ModelReply, ToolCall
from modules.records.record import Record
from modules.records.tooling import ToolResult

LONGEST_LINE_BYTES = 64 * 1024 * 1024
Via = tuple[str, ...]
"""Whose conversation something belongs to: the ids of the calls that lead to a sub-agent, outermost
first; empty for the worker itself."""


class StopLimits(Record):
    """How long each step may take that ends a worker."""

    ask_seconds: float = 5.0
    """From the request to end by itself to SIGTERM."""
    term_seconds: float = 3.0
    """From SIGTERM to SIGKILL."""
    kill_seconds: float = 2.0
    """From SIGKILL to the report of what the kernel can't end."""

    @property
    def whole_seconds(self) -> float:
        """How long all of it may take."""
        return self.ask_seconds + self.term_seconds + self.kill_seconds


STOP_LIMITS = StopLimits()


class WorkerMessage(Record, tag_field="op"):
    """From a worker to its lead."""


class Hello(WorkerMessage, tag="hello"):
    """The worker is up."""

    pid: int


class Think(WorkerMessage, tag="think"):
    """The worker wants its model's answer to the conversation and `incoming`."""

    seq: int
    incoming: Message
    via: Via = ()


class Keep(WorkerMessage, tag="keep"):
    """`incoming` joins the conversation without a question to the model."""

    seq: int
    incoming: Message
    via: Via = ()


class Open(WorkerMessage, tag="open"):
    """The worker wants to run a call."""

    seq: int
    call: ToolCall
    via: Via = ()


class Close(WorkerMessage, tag="close"):
    """A call the worker was told to run gave its result."""

    seq: int
    call_id: str
    result: ToolResult
    via: Via = ()


class TurnOver(WorkerMessage, tag="turn_over"):
    """The worker's turn has ended."""

    seq: int
    text: str
    failure: str = ""
    via: Via = ()


class Beat(WorkerMessage, tag="beat"):
    """The worker lives."""


AnyWorkerMessage = Hello | Think | Keep | Open | Close | TurnOver | Beat


class LeadMessage(Record, tag_field="op"):
    """From the lead to a worker."""


class Assigned(LeadMessage, tag="assigned"):
    """The attempt this worker is there for."""

    worker: str
    lane: str
    """The lane's folder; the worker's tools see nothing else of the repository."""
    temporary: str
    """The worker's own temporary folder."""
    environment: dict[str, str]
    """The whole environment of the worker's child processes."""
    tools: tuple[str, ...]
    """Names of the tools that run in the lane."""
    opening: Message
    beat_seconds: float


class Replied(LeadMessage, tag="replied"):
    """The model's answer."""

    seq: int
    reply: ModelReply


class Kept(LeadMessage, tag="kept"):
    """The message is on disk."""

    seq: int


class Run(LeadMessage, tag="run"):
    """The call may run, with this input, in the worker's lane."""

    seq: int
    call: ToolCall


class Done(LeadMessage, tag="done"):
    """The result of a call, as the model is to see it."""

    seq: int
    result: ToolResult


class Next(LeadMessage, tag="next"):
    """What comes after a turn: another one, or the end when `opening` is None."""

    seq: int
    opening: Message | None = None


AnyLeadMessage = Assigned | Replied | Kept | Run | Done | Next
