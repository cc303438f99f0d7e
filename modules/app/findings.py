"""What `doctor` finds, thing by thing."""

from collections.abc import Callable, Iterator
from enum import StrEnum

from modules.records.errors import CrewyardError, PersonFault
from modules.records.record import Record


class State(StrEnum):
    """How a thing stands."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Record, omit_defaults=False):
    """One thing that was looked at."""

    topic: str
    state: State
    text: str
    hint: str = ""
    """What to do; empty where nothing is to be done."""


def looked_at(topic: str, look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Returns what `look` finds; what stops it is in the way of a run as well."""
    try:
        return list(look())
    except CrewyardError as error:
        return [fault(topic, error)]


def fault(topic: str, error: CrewyardError) -> Finding:
    """Returns what an error is in the way of."""
    hint = error.hint if isinstance(error, PersonFault) else ""
    return Finding(topic=topic, state=State.FAIL, text=str(error), hint=hint)


def ok(topic: str, text: str) -> Finding:
    """Returns that a thing is fine."""
    return Finding(topic=topic, state=State.OK, text=text)


def warn(topic: str, text: str, hint: str) -> Finding:
    """Returns that a thing should be looked at."""
    return Finding(topic=topic, state=State.WARN, text=text, hint=hint)
