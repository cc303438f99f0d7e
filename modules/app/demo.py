"""`demo`: the whole job on a sample repository, by the real program with scripted models.

1. A small repository with tests is made, and the program is started on it in a process of its own.
2. Its events are told as they come; one worker is killed in the middle of its task.
3. Afterwards everything that was to happen is looked for in git, on the board, and among the
   processes. Anything that differs is a surprise, and a surprise is exit code 1.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import msgspec

from modules.app.cli_output import print_json, tell_error
from modules.app.demo_proof import look
from modules.app.demo_story import Story, surprises
from modules.app.program import MAIN
from modules.app.report import failed_report, report_json
from modules.git.run_git import Git
from modules.records.errors import PersonFault
from modules.records.events import AnyEvent, CallStarted, WorkerChanged
from modules.records.exits import Exit
from modules.records.protocol import LONGEST_LINE_BYTES

GOAL = "tally needs a median, a spread, a report, better words in README, and a command line."
CHECK = "python3 -m unittest discover -s tests"
WORKERS = 3
LONGEST_SECONDS = 120.0
_SAMPLE = "sample"


def run_demo(folder: Path | None, *, as_json: bool) -> int:
    """Runs the demo in `folder` (a new one) or a temporary folder; returns the exit code."""
    try:
        return _run(folder, as_json=as_json)
    except PersonFault as error:
        if not as_json:
            raise
        tell_error(error.line)
        report = report_json(failed_report(error.line, error.exit_code))
        print_json({**report, "surprises": []})
        return error.exit_code


def _run(folder: Path | None, *, as_json: bool) -> int:
    with _place(folder) as (sample, home):
        _make_sample(sample)
        story = Story(sys.stderr if as_json else sys.stdout, sample)
        began = time.monotonic()
        final = asyncio.run(_play(sample, home, story))
        found = surprises(story, final, look(sample, final, check=CHECK))
        story.end(final, found, seconds=time.monotonic() - began, is_kept=folder is not None)
        if as_json:
            exit_code = Exit.FAILED if found else Exit.DONE
            print_json({**final, "surprises": found, "exit_code": int(exit_code)})
    return Exit.FAILED if found else Exit.DONE


@contextlib.contextmanager
def _place(folder: Path | None) -> Iterator[tuple[Path, Path]]:
    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise PersonFault(
            f"The folder {str(folder)!r} is not empty.", hint="Give --dir a new folder."
        )
    temporary = Path(tempfile.mkdtemp(prefix="crewyard-demo-"))
    try:
        sample = folder or temporary / "tally"
        sample.mkdir(parents=True, exist_ok=True)
        home = temporary / "home"
        home.mkdir()
        yield sample, home
    finally:
        shutil.rmtree(temporary)


def _make_sample(sample: Path) -> None:
    import yaml

    contents: dict[str, str] = yaml.safe_load(_data("files.yaml"))
    for name, content in contents.items():
        path = sample / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    git = Git(sample, os.environ)
    git.run("init", "--quiet", "--initial-branch", "main")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--message", "tally has a mean")


def _data(name: str) -> str:
    return files(__package__).joinpath(_SAMPLE, name).read_text(encoding="utf-8")


async def _play(sample: Path, home: Path, story: Story) -> dict[str, object]:
    """Runs the program and returns its report; kills the worker the story says."""
    script = home / "crew.yaml"
    script.write_text(_data("crew.yaml"), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(MAIN),
        *("-p", GOAL, "--repo", str(sample), "--model", f"scripted:{script}"),
        *("--check", CHECK, "--workers", str(WORKERS), "--output-format", "stream-json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        env=_environment(home),
        start_new_session=True,
        limit=LONGEST_LINE_BYTES,
    )
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            report = await _listen(process, story)
            await process.wait()
    except TimeoutError as error:
        raise PersonFault(
            f"The demo took longer than {LONGEST_SECONDS:.0f} s.",
            hint="Run it with --dir and look into .team there.",
            exit_code=Exit.FAILED,
        ) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it ended between the two lines
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return {**report, "exit_code": process.returncode}


async def _listen(process: asyncio.subprocess.Process, story: Story) -> dict[str, object]:
    if process.stdout is None:
        raise RuntimeError("The program was started without a pipe.")
    decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
    pids: dict[str, int] = {}
    async for line in process.stdout:
        if line.startswith(b'{"event": "report"'):
            report: dict[str, object] = msgspec.json.decode(line)
            return {name: value for name, value in report.items() if name != "event"}
        event = decoder.decode(line)
        story.tell(event)
        if isinstance(event, WorkerChanged) and event.pid is not None:
            pids[event.worker] = event.pid
        if isinstance(event, CallStarted) and story.is_to_be_killed(event):
            os.kill(pids[event.agent], signal.SIGKILL)
            story.killed(event.agent)
    raise PersonFault(
        "The program ended without a report.",
        hint="Its own words stand above.",
        exit_code=Exit.FAILED,
    )


def _environment(home: Path) -> dict[str, str]:
    """Returns the person's environment without their settings and keys."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CREWYARD_", "GIT_")) and not name.endswith("_API_KEY")
    }
    sandbox = {name: os.environ[name] for name in ("CREWYARD_SANDBOX",) if name in os.environ}
    return {**kept, **sandbox, "CREWYARD_HOME": str(home)}
