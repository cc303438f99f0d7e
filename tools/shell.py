"""The tool that runs a command line.

1. Each command gets a fresh bash in the agent's folder, no terminal, and standard input at its end.
2. Output is both streams as one, in plain text, bounded; the whole of a long one is in a file.
3. Notes on what happened stand in brackets after the output, the exit code last.
4. A command that fails or runs out of time is an error with its output so far.
5. No process outlives the command it came from.
"""

from typing import Annotated, Any

import msgspec

from modules.records.decisions import ShellSubject
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.child import Child
from tools.command import OUTPUT_LIMIT, SILENCE, CommandOutput, notes_on_end
from tools.lane_context import LaneContext

DEFAULT_TIMEOUT_SECONDS = 120
LONGEST_TIMEOUT_SECONDS = 600


class BashInput(Record):
    """A command line to run."""

    command: Annotated[
        str, msgspec.Meta(description="The command line, as bash takes it.", min_length=1)
    ]
    timeout_seconds: Annotated[
        float,
        msgspec.Meta(
            description="Time limit; the command and its children are ended when it is up.",
            gt=0,
            le=LONGEST_TIMEOUT_SECONDS,
        ),
    ] = DEFAULT_TIMEOUT_SECONDS
    description: Annotated[
        str, msgspec.Meta(description="What the command does, in a few words, for people.")
    ] = ""


async def run_bash(given: BashInput, context: LaneContext) -> ToolResult:
    """Runs the command and returns its output with notes."""
    output = CommandOutput(
        context.outputs, "bash", where=context.where, on_progress=context.on_progress
    )
    child = start_command(given.command, context, output)
    ended = await child.end_within(given.timeout_seconds)
    text = output.read()
    notes = [*output.notes, *notes_on_end(ended, given.timeout_seconds)]
    return ToolResult(
        text="\n".join([text or SILENCE, *(f"[{note}]" for note in notes)]),
        is_error=ended.timed_out or ended.exit_code != 0,
    )


def start_command(command: str, context: LaneContext, output: CommandOutput) -> Child:
    """Starts a command line in the agent's folder and sandbox; raises ModelFault when it can't."""
    context.check_root()
    try:
        return Child(
            context.wrap(["bash", "--noprofile", "--norc", "-c", command]),
            cwd=context.root,
            environment=context.environment,
            on_output=output.take,
        )
    except (OSError, ValueError) as error:
        raise ModelFault(
            f"The command could not be started: {error}. "
            "Put long texts into a file with write_file, and leave NUL characters out."
        ) from error


SHELL_TOOLS: tuple[Tool[Any, LaneContext], ...] = (
    Tool(
        name="bash",
        description=(
            "Runs a command line in a fresh bash and returns its output, stdout and stderr as one. "
            "Every call starts in your folder: `cd` and variables do not last. There is no "
            "terminal and standard input is empty. Processes still running when the command is "
            "over are ended; what should run on is for background_run. Output over "
            f"{OUTPUT_LIMIT} characters keeps its two ends; the whole of it goes to a file. For "
            "reading, editing and searching files there are better tools."
        ),
        input=BashInput,
        place=Place.LANE,
        subject=lambda given: ShellSubject(command=given.command),
        run=run_bash,
    ),
)
