"""Tools for the task board."""

from typing import Annotated, Any

from msgspec import Meta

from modules.records.decisions import Risk, ToolSubject
from modules.records.record import Record
from modules.records.tasks import Task, TaskDraft
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext


class PostTask(Record):
    """Input of board_post_task."""

    subject: Annotated[str, Meta(min_length=1, max_length=200, description="One line.")]
    description: Annotated[
        str, Meta(description="What is wanted, where, and how one can tell that it is done.")
    ] = ""
    claim_role: Annotated[str, Meta(description="Role a worker must have; empty: any.")] = ""
    after: Annotated[
        tuple[int, ...], Meta(description="Ids of tasks that must be completed first.")
    ] = ()
    priority: Annotated[int, Meta(ge=0, le=4, description="0 is the most urgent.")] = 2
    check: Annotated[
        str, Meta(description="A command that must pass on the landed tree, for this task alone.")
    ] = ""
    writes: Annotated[
        tuple[str, ...], Meta(description="Globs of the files it will touch, if known.")
    ] = ()
    plan: Annotated[
        bool, Meta(description="True: the worker sends you a plan first and waits for your answer.")
    ] = False


class BoardList(Record):
    """Input of board_list."""


async def post_task(given: PostTask, context: CrewContext) -> ToolResult:
    """Posts a task."""
    task = await context.crew.post_task(
        TaskDraft(
            subject=given.subject,
            description=given.description,
            role=given.claim_role,
            after=given.after,
            priority=given.priority,
            check=given.check,
            writes=given.writes,
            plan=given.plan,
        ),
        agent=context.agent,
    )
    posted = f"Posted task {task.task_id}: {task.draft.subject}"
    warning = context.crew.role_warning(given.claim_role)
    return ToolResult(text=f"{posted}\n{warning}" if warning else posted)


async def list_board(given: BoardList, context: CrewContext) -> ToolResult:
    """Lists the board."""
    tasks = context.crew.tasks()
    return ToolResult(text="\n".join(map(task_line, tasks)) or "The board is empty.")


def task_line(task: Task) -> str:
    """Returns a task on one line."""
    parts = [f"task {task.task_id} [{task.status}] {task.draft.subject}"]
    if task.draft.role:
        parts.append(f"role {task.draft.role}")
    if task.draft.after:
        parts.append("after " + ",".join(map(str, task.draft.after)))
    if task.worker and task.attempt:
        parts.append(f"{task.worker}, attempt {task.attempt}")
    if task.landed_as:
        parts.append(f"landed as {task.landed_as[:12]}")
    if task.reason:
        parts.append(task.reason)
    return " · ".join(parts)


BOARD_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="board_post_task",
        description="Posts a task on the board; a worker takes it as soon as one is free.",
        input=PostTask,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE, text=given.subject),
        run=post_task,
    ),
    Tool(
        name="board_list",
        description="Lists all tasks with their status.",
        input=BoardList,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE),
        run=list_board,
    ),
)
