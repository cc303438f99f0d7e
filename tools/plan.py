"""Tools for plans that have to be accepted before work begins."""

from typing import Annotated, Any

from msgspec import Meta

from modules.records.decisions import Risk, ToolSubject
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext


class SubmitPlan(Record):
    """Input of submit_plan."""

    plan: Annotated[str, Meta(min_length=1, description="What you will change, where, and why.")]


class AnswerPlan(Record):
    """Input of answer_plan."""

    name: Annotated[str, Meta(min_length=1, description="The worker whose plan it is.")]
    accepts: bool
    feedback: Annotated[
        str, Meta(description="What should be different, where it is returned.")
    ] = ""


async def submit_plan(given: SubmitPlan, context: CrewContext) -> ToolResult:
    """Hands in a plan and waits until it is accepted or returned."""
    if context.submitter is None or not context.submitter.needs_plan:
        return ToolResult(text="No plan is asked for; go ahead.")
    accepted, words = await context.crew.review_plan(agent=context.agent, plan=given.plan)
    if not accepted:
        return ToolResult(text=f"The plan is returned: {words}", is_error=True)
    context.submitter.needs_plan = False
    return ToolResult(text=f"The plan is accepted. {words}".strip())


async def answer_plan(given: AnswerPlan, context: CrewContext) -> ToolResult:
    """Accepts a worker's plan or returns it."""
    context.crew.answer_plan(given.name, accepts=given.accepts, feedback=given.feedback)
    return ToolResult(text=f"{given.name} is told.")


PLAN_TOOL: Tool[Any, CrewContext] = Tool(
    name="submit_plan",
    description="Hands in your plan; until it is accepted you can only read.",
    input=SubmitPlan,
    place=Place.LEAD,
    subject=lambda given: ToolSubject(risk=Risk.SAFE, text=given.plan[:80]),
    run=submit_plan,
)

PLAN_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="answer_plan",
        description="Accepts the plan a worker has sent you, or returns it with what to change.",
        input=AnswerPlan,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE, text=f"{given.name}: {given.accepts}"),
        run=answer_plan,
    ),
)
