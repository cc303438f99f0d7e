"""The gate's values: what a call would touch, how risky that is, and what was decided."""

from enum import StrEnum
from typing import Literal

from modules.records.record import Record


class Risk(StrEnum):
    """How much harm a call can do, from least to most."""

    SAFE = "safe"
    WRITE = "write"
    DANGEROUS = "dangerous"
    CRITICAL = "critical"
    DENY = "deny"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return list(Risk).index(self)


class Mode(StrEnum):
    """How much an agent may do unasked, from least to most."""

    PLAN = "plan"
    DEFAULT = "default"
    AUTO = "auto"
    ACCEPT_EDITS = "acceptEdits"
    YOLO = "yolo"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return list(Mode).index(self)

    def at_most(self, limit: "Mode") -> "Mode":
        """Returns the lower of the two."""
        return min(self, limit, key=lambda mode: mode.rank)


class Behavior(StrEnum):
    """What happens to a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


PathOp = Literal["read", "write", "edit", "delete"]


class ShellSubject(Record, tag="shell", tag_field="kind"):
    """A command line for bash."""

    command: str
    reason: str = ""
    """Why it asks for more than the agent's sandbox gives; empty where it doesn't ask."""


class PathSubject(Record, tag="path", tag_field="kind"):
    """A file tool's path, as the model gave it."""

    path: str
    op: PathOp


class UrlSubject(Record, tag="url", tag_field="kind"):
    """An address to fetch."""

    url: str


class ToolSubject(Record, tag="tool", tag_field="kind"):
    """Any other tool: its risk is declared with it."""

    risk: Risk
    text: str = ""
    """What a person should see of the call, on one line."""


Subject = ShellSubject | PathSubject | UrlSubject | ToolSubject


class Assessment(Record):
    """What the hard guards found, before rules and modes are looked at."""

    risk: Risk
    categories: tuple[str, ...] = ()
    """What made it risky, `bash:rm` say; an allow rule or a grant must cover each of them."""
    must_ask: bool = False
    """True where no mode, rule or hook may lift the question (critical, protected, unparsed)."""
    why: str = ""


class Decision(Record):
    """What the gate decided on one call, and on what grounds."""

    behavior: Behavior
    risk: Risk
    categories: tuple[str, ...] = ()
    rule: str = ""
    """The rule that decided, as written; empty where none did."""
    source: str = ""
    """Where the decision comes from: `guard`, `mode`, `hook`, `person`, or the rule's file."""
    why: str = ""
    must_ask: bool = False


class Question(Record):
    """A decision only a person can take."""

    question_id: str
    agent: str
    tool: str
    text: str
    """The exact command, path or input, control characters made visible."""
    decision: Decision
    rule_offered: str = ""
    """The narrowest rule `always` would store; empty where the answer can't be remembered."""


class Answer(StrEnum):
    """What a person said to a question."""

    YES = "yes"
    ALWAYS = "always"
    NO = "no"
