"""The tool by which a jailed worker asks for one command with the network.

1. A person is asked about each such command, with the worker's reason; nobody's yes is remembered,
   no rule, mode or hook stands for it, and without a person it is denied.
2. What is granted is the network, for that one command. It reads and writes what any command of the
   worker's may.
3. It runs in a second jail that the lead starts, for the worker's own has no network to give.
"""

from typing import Annotated, Any

from msgspec import Meta

from modules.records.decisions import Risk, ShellSubject
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.crew_context import CrewContext
from tools.shell import DEFAULT_TIMEOUT_SECONDS, LONGEST_TIMEOUT_SECONDS, BashInput, run_bash


class NetworkCommand(Record):
    """Input of bash_with_network."""

    command: Annotated[str, Meta(description="The command line, as bash takes it.", min_length=1)]
    reason: Annotated[
        str,
        Meta(description="For the person: what is fetched, and why it is needed.", min_length=1),
    ]
    timeout_seconds: Annotated[
        float, Meta(description="Time limit.", gt=0, le=LONGEST_TIMEOUT_SECONDS)
    ] = DEFAULT_TIMEOUT_SECONDS


async def bash_with_network(given: NetworkCommand, context: CrewContext) -> ToolResult:
    """Runs one command in the caller's lane, with the network."""
    if context.networked is None:
        raise ModelFault("You have no sandbox with a network to run this in; use bash.")
    command = BashInput(command=given.command, timeout_seconds=given.timeout_seconds)
    return await run_bash(command, context.networked)


NETWORK_TOOLS: tuple[Tool[Any, CrewContext], ...] = (
    Tool(
        name="bash_with_network",
        description=(
            "Runs one command line in your folder with the network, which bash has not: to install "
            "a package, say. The person is asked about each call, so give a reason they can judge; "
            "where nobody is there it is denied."
        ),
        input=NetworkCommand,
        place=Place.LEAD,
        subject=lambda given: ShellSubject(command=given.command, reason=given.reason),
        run=bash_with_network,
        least_risk=Risk.DANGEROUS,
    ),
)
