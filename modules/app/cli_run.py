"""The commands that run a crew: output formats and reports."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from modules.app.cli_options import RunOptions
from modules.app.cli_output import leave_reader, print_json, print_lines, tell_error
from modules.app.headless import run_board, run_goal
from modules.app.lead_agent import LeadAgent
from modules.app.lead_wiring import join_lead
from modules.app.plain_view import PlainView
from modules.app.report import RunReport, failed_report, report_json, summary_line
from modules.app.run import Run
from modules.app.signals import Ending, run_until_asked
from modules.app.wiring import join_run
from modules.records.errors import CrewyardError, PersonFault, line_and_exit
from modules.records.events import AnyEvent
from modules.records.exits import Exit
from modules.records.record import to_json

FORMATS = ("text", "json", "stream-json")
ASKED_TO_END = "The run was asked to end."


def run_goal_command(folder: Path, options: RunOptions, *, goal: str, output_format: str) -> int:
    """Gives the lead a goal, without a person; prints the report and returns the exit code."""
    if output_format not in FORMATS:
        raise PersonFault(
            f"There is no output format {output_format!r}.",
            hint=f"Use one of: {', '.join(FORMATS)}.",
        )

    async def run(ending: Ending) -> RunReport:
        joined = join_run(folder, options, has_person=False)
        lead: LeadAgent = join_lead(joined)
        try:
            with _shown(joined, output_format, ending):
                return await _to_its_end(joined, ending, run_goal(joined, lead, goal))
        finally:
            lead.close()

    return _finish(lambda: run_until_asked(run), output_format)


def run_board_command(folder: Path, options: RunOptions, *, as_json: bool) -> int:
    """Drains the board; prints the report and returns the exit code."""
    output_format = "json" if as_json else "text"

    async def run(ending: Ending) -> RunReport:
        joined: Run = join_run(folder, options, has_person=False)
        with _shown(joined, output_format, ending):
            return await _to_its_end(joined, ending, run_board(joined))

    return _finish(lambda: run_until_asked(run), output_format)


async def _to_its_end(run: Run, ending: Ending, work: Coroutine[Any, Any, RunReport]) -> RunReport:
    """Returns the report of a run, also of one that was asked to end, or that something ended."""
    try:
        return await work
    except asyncio.CancelledError:
        if ending.exit_code is None:
            raise
        return run.report(ASKED_TO_END, ending.exit_code)
    except CrewyardError as error:
        line, exit_code = line_and_exit(error)
        return run.report(line, exit_code, error=line)


@contextlib.contextmanager
def _shown(run: Run, output_format: str, ending: Ending) -> Iterator[None]:
    """Shows the run's events as the format wants it; nobody reading any more ends the run."""

    def leave() -> None:
        leave_reader()
        ending.ask(Exit.READER_LEFT)

    def print_event(event: AnyEvent) -> None:
        try:
            sys.stdout.write(to_json(event).decode() + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            leave()

    if output_format == "stream-json":
        run.house.events.listen(print_event)
        yield
        return
    if output_format == "json":
        # What goes to stderr is for whoever looks on; the report is what counts.
        view = PlainView(sys.stderr, on_gone=lambda: None)
    else:
        view = PlainView(sys.stdout, on_gone=leave)
    run.house.events.listen(view.show)
    try:
        yield
    finally:
        view.end_line()


def _finish(run: Callable[[], RunReport | Exit], output_format: str) -> int:
    """Runs a crew and prints the report, whatever ended it, or kept it from beginning."""
    try:
        report = run()
    except CrewyardError as error:
        report = failed_report(*line_and_exit(error))
    if isinstance(report, Exit):
        report = failed_report(ASKED_TO_END, report)
    elif report.error:
        tell_error(report.error)
    if output_format == "json":
        print_json(report_json(report))
    elif output_format == "stream-json":
        print_json({"event": "report", **report_json(report)})
    else:
        if report.result and not report.tasks:
            return report.exit_code
        print_lines([f"{summary_line(report.tasks)} · {len(report.landed)} landed"])
    return report.exit_code
