"""The tools for commands that run while the agent goes on: servers, watchers, long test runs.

1. A command starts as bash's does: in the agent's folder and sandbox, behind the same gate.
2. The start waits a moment, so that what fails at once is told at once.
3. A look shows what is new since the last; it can wait, so that nobody has to look again and again.
"""

import asyncio
from typing import Annotated, Any

import msgspec

from modules.records.decisions import Risk, ShellSubject, ToolSubject
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.background_commands import MOST_RUNNING, Until
from tools.lane_context import LaneContext
from tools.shell import LONGEST_TIMEOUT_SECONDS, start_command

DEFAULT_LIFE_SECONDS = 1_800
LONGEST_LIFE_SECONDS = 14_400
START_SECONDS = 1.0


class BackgroundRunInput(Record):
    """A command line to run in the background."""

    command: Annotated[
        str, msgspec.Meta(description="The command line, as bash takes it.", min_length=1)
    ]
    life_seconds: Annotated[
        float,
        msgspec.Meta(
            description="The command and its children are ended when they have run for so long.",
            gt=0,
            le=LONGEST_LIFE_SECONDS,
        ),
    ] = DEFAULT_LIFE_SECONDS
    description: Annotated[
        str, msgspec.Meta(description="What the command does, in a few words, for people.")
    ] = ""


class CheckBackgroundInput(Record):
    """Which command to look at, and what to wait for."""

    task_id: Annotated[
        str, msgspec.Meta(description="The command's name, `bg1` say; empty: lists all.")
    ] = ""
    wait_seconds: Annotated[
        float,
        msgspec.Meta(
            description="Waits for so long at most before it looks; 0: it looks at once.",
            ge=0,
            le=LONGEST_TIMEOUT_SECONDS,
        ),
    ] = 0
    wait_for: Annotated[
        Until, msgspec.Meta(description="What ends the wait: new `output`, or the `end` alone.")
    ] = "end"
    stop: Annotated[bool, msgspec.Meta(description="Ends the command first.")] = False


async def background_run(given: BackgroundRunInput, context: LaneContext) -> ToolResult:
    """Starts a command and returns its name, with what it said in its first moment."""
    started = context.background.start(
        given.command,
        lambda output: start_command(given.command, context, output),
        folder=context.outputs,
        life_seconds=given.life_seconds,
    )
    try:
        await started.wait("end", START_SECONDS)
    except asyncio.CancelledError:  # nobody would know its name
        await started.stop()
        raise
    return ToolResult(text=started.look(), is_error=not (started.is_running or started.is_well))


async def check_background(given: CheckBackgroundInput, context: LaneContext) -> ToolResult:
    """Returns how one background command stands, or all."""
    if not given.task_id:
        return ToolResult(text="\n".join(context.background.lines()) or "You have started none.")
    command = context.background.named(given.task_id)
    if given.stop:
        await command.stop()
    elif given.wait_seconds:
        await command.wait(given.wait_for, given.wait_seconds)
    return ToolResult(text=command.look())


BACKGROUND_TOOLS: tuple[Tool[Any, LaneContext], ...] = (
    Tool(
        name="background_run",
        description=(
            "Starts a command line in a fresh bash and lets it run while you go on: a server, a "
            "watcher, a long test run. It runs where bash would and may do what bash may. Returns "
            f"its name after {START_SECONDS:g} s, with the output so far. You are told once when "
            f"it ends. At most {MOST_RUNNING} run at once; all are ended with your work."
        ),
        input=BackgroundRunInput,
        place=Place.LANE,
        subject=lambda given: ShellSubject(command=given.command),
        run=background_run,
    ),
    Tool(
        name="check_background",
        description=(
            "Shows how a command of background_run stands and its output since your last look, or "
            "lists all of yours. With wait_seconds it waits, so never look again and again. With "
            "stop it ends the command and its children."
        ),
        input=CheckBackgroundInput,
        place=Place.LANE,
        subject=lambda given: ToolSubject(risk=Risk.SAFE, text=given.task_id),
        run=check_background,
        waits=True,
    ),
)
