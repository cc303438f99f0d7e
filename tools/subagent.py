"""The tool by which an agent hands a piece of its work to a conversation of its own.

1. Only the last words come back; what was read on the way costs the caller no context.
2. `explore` reads, and nothing else. `general` has the caller's tools for files, commands, the web
   and MCP servers; handing in and steering the crew stay with the caller.
3. Neither may do anything the caller may not.
"""

from typing import Annotated, Any, Literal, Protocol

import msgspec

from modules.records.decisions import Risk, ToolSubject
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult

MOST_AT_ONCE = 4
"""Of one caller; further ones wait."""
MOST_DEPTH = 2
"""A sub-agent of a sub-agent has none of its own."""
EXPLORE = "explore"
EXPLORE_TOOLS = frozenset({"bash", "read_file", "list_dir", "glob", "grep", "todo", "web_fetch"})
_SHOWN_CHARACTERS = 80  # of a prompt, where nothing describes it
Kind = Literal["explore", "general"]


class SubagentInput(Record):
    """A piece of work for a sub-agent."""

    prompt: Annotated[
        str,
        msgspec.Meta(
            description="All it is told: what is wanted, where, and what to answer with.",
            min_length=1,
        ),
    ]
    description: Annotated[
        str, msgspec.Meta(description="The work in a few words, for people.")
    ] = ""
    kind: Annotated[
        Kind, msgspec.Meta(description="`explore` only reads; `general` may also do.")
    ] = "explore"


class Delegate(Protocol):
    """Whoever runs sub-agents for one caller."""

    async def run_subagent(self, given: SubagentInput) -> ToolResult:
        """Runs one to its end and returns its last words."""
        ...


async def subagent(given: SubagentInput, context: Delegate) -> ToolResult:
    """Hands the work on and waits for it."""
    return await context.run_subagent(given)


def _subject(given: SubagentInput) -> ToolSubject:
    words = given.description or given.prompt[:_SHOWN_CHARACTERS]
    return ToolSubject(risk=Risk.SAFE, text=f"{given.kind}: {words}")


SUBAGENT_TOOL: Tool[Any, Delegate] = Tool(
    name="subagent",
    description=(
        "Hands a self-contained piece of work to a helper that knows nothing of this conversation, "
        "and returns its last words. Use it to search widely or to keep long output out of your "
        f"context. Several calls in one answer run at once, {MOST_AT_ONCE} at a time."
    ),
    input=SubagentInput,
    place=Place.LANE,
    subject=_subject,
    run=subagent,
    overlaps=True,
)
