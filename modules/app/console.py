"""The person's console: a line to type on, and everything that happens above it.

1. On a terminal the line is drawn first; the repository is opened and the crew joined behind it.
2. Trust is asked before anything a repository brings is used.
3. Whatever ends the console ends it in order: the terminal is given back, then the crew is stopped.
4. Without a terminal, standard input is the goal of a run without a person; no input is no goal.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from modules.app.cli_options import RunOptions
from modules.app.signals import Ending, run_until_asked
from modules.records.errors import PersonFault
from modules.records.exits import Exit

if TYPE_CHECKING:
    from modules.app.run import Run
    from modules.app.screen import Screen
    from modules.app.terminal import Terminal

_DUMB = ("dumb", "unknown", "")
TEXT = "text"
_LEAVING_WORDS = ("exit", "quit")


def talk(folder: Path, options: RunOptions, *, output_format: str = TEXT) -> int:
    """Runs the console until the person leaves; returns the exit code."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        if output_format != TEXT:
            raise PersonFault(
                f"The output format {output_format!r} is for runs without a person.",
                hint="Give the goal with -p, or on standard input.",
            )
        return run_until_asked(lambda ending: _talk(folder, options, ending))
    goal = _read_goal()
    if not goal or goal in _LEAVING_WORDS:
        return Exit.DONE
    from modules.app.cli_run import run_goal_command

    return run_goal_command(folder, options, goal=goal, output_format=output_format)


def _read_goal() -> str:
    if sys.stdin.isatty():
        print("Type the goal, then Ctrl-D.", file=sys.stderr)
    goal = sys.stdin.buffer.read().decode(errors="replace").strip()
    if goal.startswith("/") and "\n" not in goal:
        raise PersonFault(
            f"{goal.split()[0]} is a command of the console, which needs a terminal.",
            hint="Use `crewyard task list`, `team`, `queue` or `mcp status`.",
        )
    return goal


async def _talk(folder: Path, options: RunOptions, ending: Ending) -> Exit:
    terminal = _terminal()
    ending.on_interrupt = terminal.interrupt
    try:
        async with terminal.opened():
            return await _talk_on(terminal, folder, options)
    finally:
        ending.on_interrupt = None


def _terminal() -> "Terminal":
    # What draws takes a while to import; a run without a person needs none of it.
    from modules.app.terminal_stream import TerminalStream

    stream = TerminalStream(sys.stdout.fileno())
    if os.environ.get("TERM", "") in _DUMB:
        from modules.app.dumb_terminal import DumbTerminal

        return DumbTerminal(stream, sys.stdin.fileno())
    from prompt_toolkit.input.vt100 import Vt100Input

    from modules.app.line_editor import LineEditor

    return LineEditor(stream, Vt100Input(sys.stdin), os.environ)


async def _talk_on(terminal: "Terminal", folder: Path, options: RunOptions) -> Exit:
    # The line is on the screen by now; the person does not wait for these.
    from modules.app.opening import open_repository_at
    from modules.app.screen import Screen
    from modules.app.trust_question import Asked, ask_for_trust, unused_settings
    from modules.app.wiring import join_run

    screen = Screen(terminal)
    opened = open_repository_at(folder, target=options.target or "")
    place = {"root": opened.paths.root, "user_folder": opened.environment.user_folder}
    asked = await ask_for_trust(terminal, screen, **place)
    if asked is not Asked.GO_ON:
        return Exit.INTERRUPTED if asked is Asked.INTERRUPTED else Exit.DONE
    run = join_run(folder, options, has_person=True)
    return await _hold(terminal, screen, run, unused=unused_settings(**place))


async def _hold(terminal: "Terminal", screen: "Screen", run: "Run", *, unused: str) -> Exit:
    from modules.app.conversation import Conversation
    from modules.app.first_screen import first_lines
    from modules.app.lead_wiring import join_lead

    lead = join_lead(run)
    conversation = Conversation(run, lead, terminal, screen)
    for listener in (screen.show, lead.take_event, conversation.take_event):
        run.house.events.listen(listener)
    try:
        async with run.at_work():
            for line, style in first_lines(run, unused=unused):
                screen.line(line, style)
            try:
                return await conversation.hold()
            finally:
                await terminal.close()
                _tell_leaving(run, screen)
    finally:
        lead.close()


def _tell_leaving(run: "Run", screen: "Screen") -> None:
    at_work = [worker.name for worker in run.crew.workers() if worker.task is not None]
    if at_work:
        screen.line(f"{', '.join(at_work)}: stopped; their tasks go back to the board.", "dim")
