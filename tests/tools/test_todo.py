"""An agent's own plan."""

import asyncio
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from modules.records.decisions import Risk, ToolSubject
from modules.records.errors import ModelFault
from modules.records.tooling import ToolResult
from tests.tools.lanes import make_lane
from tools.lane_context import LaneContext, TodoItem
from tools.todo import ITEMS_LIMIT, TODO_TOOLS, TodoInput, todo

Status = Literal["pending", "in_progress", "completed"]


@pytest.fixture
def lane(tmp_path: Path) -> LaneContext:
    return make_lane(tmp_path / "lane")


def item(content: str, status: Status = "pending") -> TodoItem:
    return TodoItem(content=content, status=status)


def test_todo_when_a_plan_is_given_then_it_replaces_the_old_one(lane: LaneContext) -> None:
    lane.todos = tuple([item("old")])
    items = (item("read", "completed"), item("write", "in_progress"), item("test"))

    result = asyncio.run(todo(TodoInput(items=items), lane))

    assert result == ToolResult(text="[x] read\n[>] write\n[ ] test\n(1/3 completed)")
    assert lane.todos == items


def test_todo_when_the_plan_is_empty_then_it_is_cleared(lane: LaneContext) -> None:
    lane.todos = tuple([item("old")])

    assert asyncio.run(todo(TodoInput(items=()), lane)).text == "(the plan is empty)"
    assert lane.todos == ()


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((item("a"), item(" \n")), "Item 2 is blank"),
        ((item("a", "in_progress"), item("b", "in_progress")), "2 items are in progress"),
    ],
)
def test_todo_when_a_plan_breaks_a_rule_then_the_old_one_stays(
    lane: LaneContext, items: tuple[TodoItem, ...], message: str
) -> None:
    old = (item("old"),)
    lane.todos = old

    with pytest.raises(ModelFault, match=message):
        asyncio.run(todo(TodoInput(items=items), lane))

    assert lane.todos == old


@pytest.mark.parametrize(
    "raw",
    [
        {"items": [{"content": "a", "status": "pending"}] * (ITEMS_LIMIT + 1)},
        {"items": [{"content": "a", "status": "done"}]},
        {"items": [{"content": "a"}]},
        {"items": [{"content": "a", "status": "pending", "priority": 1}]},
    ],
)
def test_todo_input_when_it_does_not_fit_then_it_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(raw, TodoInput)


def test_todo_input_when_the_progress_form_is_given_then_it_is_kept() -> None:
    raw = {"items": [{"content": "Test", "status": "pending", "activeForm": "Testing"}]}

    assert msgspec.convert(raw, TodoInput) == TodoInput(
        items=(TodoItem(content="Test", status="pending", active_form="Testing"),)
    )


def test_todo_is_safe() -> None:
    (tool,) = TODO_TOOLS

    subject = tool.subject(TodoInput(items=(item("a", "completed"), item("b"))))

    assert subject == ToolSubject(risk=Risk.SAFE, text="(1/2 completed)")
