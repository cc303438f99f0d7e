"""A tool as a value, and what running one gives."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from modules.records.decisions import Risk, Subject
from modules.records.record import Record

InputT = TypeVar("InputT", bound=Record)
ContextT = TypeVar("ContextT")


class Place(StrEnum):
    """The process a tool runs in."""

    LANE = "lane"
    """The agent's own process, in its folder."""
    LEAD = "lead"
    """The lead's process, whoever calls."""


class ToolResult(Record):
    """What a call gives back to the model."""

    text: str
    is_error: bool = False
    ends_turn: bool = False
    """True when nothing is left to say: the work was handed in and landed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[InputT, ContextT]):
    """Something a model can call.

    `run` raises ModelFault for whatever the model should hear of and correct.
    """

    name: str
    description: str
    input: type[InputT]
    place: Place
    subject: Callable[[InputT], Subject]
    """What the call would touch, for the gate."""
    run: Callable[[InputT, ContextT], Awaitable[ToolResult]]
    overlaps: bool = False
    """True where calls of one answer may run at once."""
    waits: bool = False
    """True where the same call again is no loop: it waits for what goes on meanwhile."""
    least_risk: Risk = Risk.SAFE
    """What every call of it risks at the least; plan mode offers only what may be safe."""
