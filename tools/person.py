"""The tool that puts a question to the person."""

from typing import Annotated, Any

from msgspec import Meta

from modules.records.decisions import Risk, ToolSubject
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext


class AskUser(Record):
    """Input of ask_user."""

    question: Annotated[str, Meta(min_length=1, description="One question, with the choices.")]


async def ask_user(given: AskUser, context: CrewContext) -> ToolResult:
    """Asks the person and waits for the answer."""
    answer = await context.crew.ask_person(agent=context.agent, question=given.question)
    return ToolResult(text=answer)


PERSON_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="ask_user",
        description="Asks the person a question and waits for the answer.",
        input=AskUser,
        place=Place.LEAD,
        subject=lambda given: ToolSubject(risk=Risk.SAFE, text=given.question),
        run=ask_user,
    ),
)
