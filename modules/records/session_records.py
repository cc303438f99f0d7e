"""An agent's journal: what was sent, said, decided and spent."""

from datetime import datetime

from modules.records.decisions import Decision, Mode
from modules.records.messages import Message, ToolSpec, Usage
from modules.records.record import Record


class SessionRecord(Record, tag_field="kind"):
    """Something of one agent's conversation, at a time."""

    at: datetime


class SessionOpened(SessionRecord, tag="opened"):
    """The conversation began."""

    agent: str
    role: str = ""
    task: int | None = None
    attempt: int = 0


class PromptSet(SessionRecord, tag="prompt"):
    """The head of every request from here on; written only when it changes."""

    model: str
    system: str
    tools: tuple[ToolSpec, ...]


class MessageKept(SessionRecord, tag="message"):
    """A message joined the conversation."""

    message: Message


class CallDecided(SessionRecord, tag="decided"):
    """The gate decided on a call."""

    call_id: str
    tool: str
    input_hash: str
    """SHA-256 of the input's JSON with sorted keys."""
    mode: Mode
    decision: Decision


class ModeSet(SessionRecord, tag="mode"):
    """The person set another mode, for every agent; in the lead's journal."""

    mode: Mode
    before: Mode
    for_all: bool = False
    """True where it also raises workers that were at work."""


class RequestPaid(SessionRecord, tag="paid"):
    """A request was answered."""

    usage: Usage
    cost_usd: float | None = None


AnySessionRecord = SessionOpened | PromptSet | MessageKept | CallDecided | ModeSet | RequestPaid
