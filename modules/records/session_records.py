"""An agent's journal: what was sent, said, decided and spent."""

from datetime import datetime
from typing import Literal

from modules.records.decisions import Decision, Mode
from modules.records.messages import Message, Text, ToolSpec, Usage
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
    is_summary: bool = False
    """True where the answer was a summary, and no part of the conversation."""


CompactionTrigger = Literal["auto", "overflow", "manual"]
"""Why a conversation was compacted: it neared its limit, passed it, or somebody asked."""
CompactionStep = Literal["outputs", "summary", "no_summary"]
"""What made room: old outputs left out, or old messages, with a summary or without one."""


class Memory(Record):
    """What stands in place of the beginning of a conversation."""

    opening: tuple[Text, ...]
    """Its first words, unchanged: a worker's task, what a person first said."""
    words: tuple[str, ...] = ()
    """What was said to the agent later, unchanged, oldest first."""
    summary: str = ""
    """The model's own account of the rest; empty where none could be had."""
    results: dict[str, str] = {}
    """The newest result of each tool whose last result stands, a plan for one."""
    files: tuple[str, ...] = ()
    """Files that calls named, those named last at the end."""
    answers: int = 0
    """How many of the model's answers it stands for."""


class Compacted(SessionRecord, tag="compacted"):
    """From here on the conversation is `memory` and `messages`; the whole stays in the journal."""

    trigger: CompactionTrigger
    step: CompactionStep
    tokens_before: int
    """As told by the provider, with an estimate of what was added since."""
    tokens_after: int
    memory: Memory | None = None
    """None where the conversation still has its own beginning."""
    facts: str = ""
    """What was true of the crew then, by the board."""
    messages: tuple[Message, ...]
    """What follows the memory."""


AnySessionRecord = (
    SessionOpened | PromptSet | MessageKept | CallDecided | ModeSet | RequestPaid | Compacted
)
