"""The subagent tool as the gate and the person see it."""

import asyncio

from modules.records.decisions import Risk, ToolSubject
from modules.records.tooling import Place, ToolResult
from tools.subagent import SUBAGENT_TOOL, SubagentInput, subagent


class Echo:
    """Gives back what it is asked."""

    async def run_subagent(self, given: SubagentInput) -> ToolResult:
        return ToolResult(text=given.prompt)


def test_what_is_asked_goes_to_whoever_runs_it() -> None:
    result = asyncio.run(subagent(SubagentInput(prompt="look"), Echo()))

    assert result == ToolResult(text="look")
    assert (SUBAGENT_TOOL.name, SUBAGENT_TOOL.place) == ("subagent", Place.LANE)
    assert SUBAGENT_TOOL.overlaps


def test_person_sees_the_kind_and_what_it_is_for() -> None:
    described = SubagentInput(prompt="x" * 500, description="a look", kind="general")
    bare = SubagentInput(prompt="look")

    shown = [SUBAGENT_TOOL.subject(given) for given in (described, bare)]

    assert shown == [
        ToolSubject(risk=Risk.SAFE, text="general: a look"),
        ToolSubject(risk=Risk.SAFE, text="explore: look"),
    ]
