"""The tool with which an agent makes its own conversation shorter."""

from typing import Annotated, Any

from msgspec import Meta

from modules.records.decisions import Risk, ToolSubject
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext


class Compact(Record):
    """Input of compact."""

    focus: Annotated[str, Meta(description="What the summary must keep above all.")] = ""


async def compact(given: Compact, context: CrewContext) -> ToolResult:
    """Has the conversation compacted before the next request."""
    if context.wish_compaction is None:
        raise ModelFault("Your conversation can't be compacted; go on.")
    context.wish_compaction(given.focus)
    return ToolResult(text="The conversation is compacted before your next step.")


CONTEXT_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="compact",
        description=(
            "Sums up the older part of this conversation. It happens by itself when the "
            "conversation gets too long; call it where a piece of work is done and what was read "
            "for it is no longer needed."
        ),
        input=Compact,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE, text=given.focus),
        run=compact,
    ),
)
