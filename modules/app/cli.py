"""The command line: what can be typed, and how every error becomes one line and an exit code."""

import json
import logging
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer
from typer import Typer

from modules.app import (
    cli_board,
    cli_crew,
    cli_doctor,
    cli_gate,
    cli_mcp,
    cli_queue,
    cli_trust,
    cli_worktree,
)
from modules.app.cli_options import (
    HERE,
    LAST,
    BudgetTokens,
    BudgetUsd,
    Check,
    Json,
    Mode,
    Model,
    Repo,
    RunOptions,
    Target,
    WorkerModel,
    Workers,
    folder_of,
)
from modules.app.cli_output import leave_reader, tell_error
from modules.records.errors import CrewyardError, line_and_exit
from modules.records.exits import Exit

app = Typer(
    name="crewyard",
    help="A lead agent that runs a crew of coding agents on one git repository.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(argv: Sequence[str]) -> int:
    """Runs a command line and returns the exit code."""
    logging.basicConfig(level=logging.WARNING, format="crewyard: %(message)s", stream=sys.stderr)
    _be_plain_about_text()
    try:
        code = app(_with_resume_value(argv), standalone_mode=False)
    except CrewyardError as error:
        return _tell(*line_and_exit(error), argv)
    except typer.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left; there is nobody to tell.
        leave_reader()
        return Exit.DONE
    except typer.TyperException as error:
        words = error.format_message()
        if words.startswith("Usage:"):  # a group of commands without one of them
            print(words, file=sys.stderr)
            return Exit.USAGE
        return _tell(f"{words} See `crewyard --help`.", Exit.USAGE, argv)
    except Exception as error:  # the outermost border: whatever gets here is a bug, and says so
        traceback.print_exc()
        return _tell(f"This is a bug: {error!r}. Please report it.", Exit.BUG, argv)
    return code if isinstance(code, int) else Exit.DONE


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    goal: Annotated[
        str | None,
        typer.Option("-p", "--print", help="Work on a goal without a person.", metavar="GOAL"),
    ] = None,
    output_format: Annotated[
        str,
        typer.Option("--output-format", help="text, json or stream-json.", metavar="FORMAT"),
    ] = "text",
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume", help="Go on with a conversation, the last one by default.", metavar="[ID]"
        ),
    ] = None,
    repo: Repo = HERE,
    model: Model = None,
    worker_model: WorkerModel = None,
    workers: Workers = None,
    mode: Mode = None,
    check: Check = None,
    target: Target = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    as_json: Json = False,
) -> int | None:
    """Talks with the lead in the repository you stand in; -p gives it a goal instead."""
    if context.invoked_subcommand is not None:
        return None
    options = RunOptions(
        model=model,
        worker_model=worker_model,
        workers=workers,
        mode=mode,
        check=check,
        target=target,
        budget_usd=budget_usd,
        budget_tokens=budget_tokens,
        resume=resume,
    )
    folder, output_format = folder_of(repo), "json" if as_json else output_format
    if goal is None:
        from modules.app.console import talk

        return talk(folder, options, output_format=output_format)
    from modules.app.cli_run import run_goal_command

    return run_goal_command(folder, options, goal=goal, output_format=output_format)


cli_board.register(app)
cli_crew.register(app)
cli_doctor.register(app)
cli_gate.register(app)
cli_mcp.register(app)
cli_queue.register(app)
cli_trust.register(app)
cli_worktree.register(app)


def _with_resume_value(argv: Sequence[str]) -> list[str]:
    """Returns the command line with `--resume` given a value, which may be left out."""
    full = list(argv)
    for place, word in enumerate(argv):
        is_bare = place + 1 == len(argv) or argv[place + 1].startswith("-")
        if word == "--resume" and is_bare:
            full[place] = f"--resume={LAST}"
    return full


def _be_plain_about_text() -> None:
    """Makes output survive any locale and any reader that leaves."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))


def _tell(line: str, exit_code: int, argv: Sequence[str]) -> int:
    tell_error(line)
    if "--json" in argv or "json" in argv:
        print(json.dumps({"error": line, "exit_code": int(exit_code)}))
    return exit_code
