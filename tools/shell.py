"""The tool that runs a command line.

1. Each command gets a fresh bash in the agent's folder, no terminal, and standard input at its end.
2. Output is both streams as one, in plain text, bounded; the whole of a long one is in a file.
3. Notes on what happened stand in brackets after the output, the exit code last.
4. A command that fails or runs out of time is an error with its output so far.
5. No process outlives the command it came from.
"""

import signal
from typing import Annotated, Any

import msgspec

from modules.context.plain_text import PlainText
from modules.context.spill import BoundedText
from modules.records.decisions import ShellSubject
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.child import Ended, run_child
from tools.lane_context import LaneContext

OUTPUT_LIMIT = 30_000  # characters
DEFAULT_TIMEOUT_SECONDS = 120
LONGEST_TIMEOUT_SECONDS = 600
SILENCE = "(no output)"


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
    context.check_root()
    output = _Output(context)
    argv = context.wrap(["bash", "--noprofile", "--norc", "-c", given.command])
    try:
        ended = await run_child(
            argv,
            cwd=context.root,
            environment=context.environment,
            timeout_seconds=given.timeout_seconds,
            on_output=output.take,
        )
    except (OSError, ValueError) as error:
        raise ModelFault(
            f"The command could not be started: {error}. "
            "Put long texts into a file with write_file, and leave NUL characters out."
        ) from error
    return output.result(ended, given.timeout_seconds)


class _Output:
    """A command's output on its way to the result."""

    def __init__(self, context: LaneContext) -> None:
        self._plain = PlainText()
        self._bounded = BoundedText(limit=OUTPUT_LIMIT, spill_folder=context.outputs, name="bash")
        self._on_progress = context.on_progress

    def take(self, data: bytes) -> None:
        """Takes the next bytes."""
        self._add(self._plain.feed(data))

    def result(self, ended: Ended, timeout_seconds: float) -> ToolResult:
        """Returns the whole output with notes on how the command ended."""
        self._add(self._plain.finish())
        text = self._bounded.finish().rstrip()
        notes = [*self._notes_on_text(), *_notes_on_end(ended, timeout_seconds)]
        return ToolResult(
            text="\n".join([text or SILENCE, *(f"[{note}]" for note in notes)]),
            is_error=ended.timed_out or ended.exit_code != 0,
        )

    def _add(self, text: str) -> None:
        if text:
            self._bounded.add(text)
            if self._on_progress is not None:
                self._on_progress(text)

    def _notes_on_text(self) -> list[str]:
        notes = []
        if self._plain.invalid_bytes:
            notes.append(
                f"the output was not valid UTF-8; bytes shown as �: {self._plain.invalid_bytes}"
            )
        if self._plain.overwritten:
            notes.append(
                f"left out, as a carriage return took it back: {self._plain.overwritten} times text"
            )
        return notes


def _notes_on_end(ended: Ended, timeout_seconds: float) -> list[str]:
    if ended.timed_out:
        return [f"timed out after {timeout_seconds:g} s; the command and its children were ended"]
    notes = []
    if ended.left_behind:
        notes.append(
            f"processes still running when the command was over, now ended: {ended.left_behind}"
        )
    if ended.exit_code < 0:
        notes.append(f"ended by signal {signal.Signals(-ended.exit_code).name}")
    elif ended.exit_code > 0:
        notes.append(f"exit code {ended.exit_code}")
    return notes


SHELL_TOOLS: tuple[Tool[Any, LaneContext], ...] = (
    Tool(
        name="bash",
        description=(
            "Runs a command line in a fresh bash and returns its output, stdout and stderr as one. "
            "Every call starts in your folder: `cd` and variables do not last. There is no "
            "terminal and standard input is empty. Processes still running when the command is "
            f"over are ended. Output over {OUTPUT_LIMIT} characters keeps its two ends; the whole "
            "of it goes to a file. For reading, editing and searching files there are better tools."
        ),
        input=BashInput,
        place=Place.LANE,
        subject=lambda given: ShellSubject(command=given.command),
        run=run_bash,
    ),
)
