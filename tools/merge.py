"""Tools for the merge queue."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from modules.records.decisions import Risk, ToolSubject
from modules.records.merges import Entry
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext

REVIEW_ANSWERS = frozenset({"approve", "rework"})
"""Strategies of merge_integrate for work that is not in the queue yet."""


class SubmitWork(Record):
    """Input of submit_work."""

    summary: Annotated[
        str, Meta(description="What was done and how it was checked, for the lead.")
    ] = ""
    no_changes_reason: Annotated[
        str, Meta(description="Why the task needs no change; only when nothing was committed.")
    ] = ""


class QueueList(Record):
    """Input of merge_queue_list."""


class Review(Record):
    """Input of merge_review."""

    task_id: int


class Integrate(Record):
    """Input of merge_integrate."""

    task_id: int
    strategy: Annotated[
        Literal["approve", "rework", "merge", "reject"],
        Meta(
            description="`approve` lets work that waits for your review into the queue, as "
            "merge_review showed it; `rework` sends such work back to its worker; `merge` puts "
            "work that could not land back in the queue, where the check runs again; `reject` "
            "takes it out and leaves its branch."
        ),
    ]
    reason: Annotated[str, Meta(description="Why, and what to change: the worker reads it.")] = ""


async def submit_work(given: SubmitWork, context: CrewContext) -> ToolResult:
    """Hands the attempt's commits to the merge queue and waits for what comes of it."""
    if context.submitter is None:
        return ToolResult(text="You have no task of your own to hand in.", is_error=True)
    return await context.submitter.submit(
        summary=given.summary, no_changes_reason=given.no_changes_reason
    )


async def list_queue(given: QueueList, context: CrewContext) -> ToolResult:
    """Lists the merge queue."""
    entries = context.crew.entries()
    return ToolResult(text="\n".join(map(entry_line, entries)) or "The merge queue is empty.")


async def review(given: Review, context: CrewContext) -> ToolResult:
    """Shows what a task brought to the queue."""
    return ToolResult(text=await context.crew.review(given.task_id))


async def integrate(given: Integrate, context: CrewContext) -> ToolResult:
    """Approves work, puts it back in the queue, or rejects it."""
    text = await context.crew.integrate(given.task_id, strategy=given.strategy, reason=given.reason)
    return ToolResult(text=text)


def entry_line(entry: Entry) -> str:
    """Returns an entry on one line."""
    work = entry.submission
    parts = [
        f"entry {entry.entry_id} [{entry.status}] task {work.task} {work.subject}",
        f"{work.branch} {work.commit[:12]}",
        work.files_counted,
    ]
    if entry.landed_as:
        parts.append(f"landed as {entry.landed_as[:12]}")
    if entry.proven_as not in ("", entry.landed_as):
        parts.append(f"proven together with {entry.proven_as[:12]}")
    if entry.reason:
        parts.append(entry.reason)
    return " · ".join(parts)


def entry_parts(entry: Entry, *, is_past: bool) -> list[str]:
    """Returns what became of an entry, a line each; `is_past` where newer work is looked at."""
    parts = [f"Conflict: {conflict.path} ({conflict.kind})" for conflict in entry.conflicts]
    if entry.receipt is not None:
        receipt = entry.receipt
        parts.append(f"Check: {receipt.outcome} ({receipt.command}), log {receipt.log}")
    if not is_past:
        return parts
    what = f"entry {entry.entry_id} [{entry.status}] at {entry.submission.commit[:12]}"
    return [f"Before that, {what}: {entry.reason or 'no reason'}", *parts]


SUBMIT_TOOL: Tool[Any, CrewContext] = Tool(
    name="submit_work",
    description=(
        "Hands in your task: your commits on this branch go to the merge queue. Waits and tells "
        "whether they landed, conflict with what landed meanwhile, or fail the check."
    ),
    input=SubmitWork,
    place=Place.LEAD,
    subject=lambda given: ToolSubject(risk=Risk.SAFE, text=given.summary[:80]),
    run=submit_work,
)

MERGE_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="merge_queue_list",
        description="Lists the merge queue's entries with their status.",
        input=QueueList,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE),
        run=list_queue,
    ),
    Tool(
        name="merge_review",
        description="Shows what a task brings or brought: report, diff, conflicts, check.",
        input=Review,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE, text=f"task {given.task_id}"),
        run=review,
    ),
    Tool(
        name="merge_integrate",
        description="Approves work that waits for review, requeues it, or rejects it.",
        input=Integrate,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(
            # The lead's review is asked for by the person's own settings.
            risk=Risk.SAFE if given.strategy in REVIEW_ANSWERS else Risk.WRITE,
            text=f"{given.strategy} task {given.task_id}",
        ),
        run=integrate,
    ),
)
