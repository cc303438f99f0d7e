"""The tool that keeps an agent's own plan.

1. Each call gives the whole list; it replaces the one before.
2. No item is blank, and at most one is in progress.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from modules.records.decisions import Risk, ToolSubject
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.lane_context import LaneContext, TodoItem

ITEMS_LIMIT = 50
_SIGNS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class TodoInput(Record):
    """The whole plan."""

    items: Annotated[
        tuple[TodoItem, ...],
        msgspec.Meta(description="All items, in order.", max_length=ITEMS_LIMIT),
    ]


async def todo(given: TodoInput, context: LaneContext) -> ToolResult:
    """Replaces the plan and returns it as text."""
    for number, item in enumerate(given.items, 1):
        if not item.content.strip():
            raise ModelFault(f"Item {number} is blank. The plan was not changed.")
    active = [item.content for item in given.items if item.status == "in_progress"]
    if len(active) > 1:
        raise ModelFault(
            f"{len(active)} items are in progress, one at most may be. The plan was not changed."
        )
    context.todos = given.items
    return ToolResult(text=todo_text(given.items))


def todo_text(items: Sequence[TodoItem]) -> str:
    """Returns the plan with its counts."""
    if not items:
        return "(the plan is empty)"
    lines = [f"{_SIGNS[item.status]} {item.content}" for item in items]
    completed = sum(item.status == "completed" for item in items)
    return "\n".join([*lines, f"({completed}/{len(items)} completed)"])


TODO_TOOLS: tuple[Tool[Any, LaneContext], ...] = (
    Tool(
        name="todo",
        description=(
            "Keeps your plan for work of several steps: give the whole list each time. At most "
            "one item is in progress; mark an item completed as soon as it is."
        ),
        input=TodoInput,
        place=Place.LANE,
        subject=lambda given: ToolSubject(
            risk=Risk.SAFE, text=todo_text(given.items).splitlines()[-1]
        ),
        run=todo,
    ),
)
