"""Runs a check: the command that must pass on a tree before the tree may land.

1. The command runs by bash in its own process group, inside whatever `wrap` puts around it, without
   standard input, with a temporary folder and a bytecode cache that no run before it used.
2. Its output goes to a log, bounded: the start and the end are kept.
3. At its end, at the time limit, when the caller is cancelled and when this process dies, all it
   started is killed: the group, and on Linux whatever left the group but not its environment.
4. Location variables of git never reach it.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from modules.records.merges import CheckOutcome
from modules.team.check_rules import outcome_of

_HEAD_BYTES = 2_000_000
_TAIL_BYTES = 64_000
_DRAIN_SECONDS = 5.0
_KILL_PASSES = 20
_MARK = "CREWYARD_CHECK"
# Reads from a pipe whose other end only this process holds: when it dies the read ends, and the
# group with it. The check itself doesn't get the pipe.
_GUARDED = '( IFS= read -r _ <&{0}; kill -KILL 0 ) >/dev/null 2>&1 & exec {0}<&-; exec "$@"'

Wrap = Callable[[list[str], Path, Path], list[str]]
"""Puts a command line into a sandbox that may write two folders: the tree and the scratch."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """How one run of a check ended."""

    outcome: CheckOutcome
    exit_code: int | None
    """128 plus the signal's number when a signal ended it; None when it did not end by itself."""
    seconds: float
    tail: str = ""
    """The end of its output."""
    why: str = ""
    """Why it could not be run."""


async def run_check(
    command: str,
    *,
    folder: Path,
    timeout_seconds: float,
    environment: Mapping[str, str],
    log_path: Path,
    scratch: Path,
    wrap: Wrap,
) -> CheckRun:
    """Runs `command` in `folder` and returns how it ended; never raises for what it does.

    The output is appended to `log_path`. `scratch` is emptied before and removed after.
    """
    if not command.strip():
        return _not_run("No check is set.")
    if not folder.is_dir():
        return _not_run(f"The folder {str(folder)!r} is missing.")
    mark = secrets.token_hex(16)
    started = time.monotonic()
    try:
        environment = _prepare(environment, scratch, mark)
        with _Log(log_path, command) as log:
            code = await _run(
                wrap(["bash", "-c", command], folder, scratch),
                folder,
                environment,
                timeout_seconds,
                log,
            )
    except OSError as error:
        return _not_run(f"The check could not be run: {error}.")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    seconds = time.monotonic() - started
    if code is None:
        return CheckRun(CheckOutcome.TIMED_OUT, None, seconds, log.tail)
    outcome = outcome_of(command, exit_code=code, output=log.tail)
    why = f"The command ended with exit code {code}." if outcome is _COULD_NOT_RUN else ""
    return CheckRun(outcome, code, seconds, log.tail, why)


_COULD_NOT_RUN = CheckOutcome.COULD_NOT_RUN


def _not_run(why: str) -> CheckRun:
    return CheckRun(_COULD_NOT_RUN, None, 0.0, why=why)


def _prepare(environment: Mapping[str, str], scratch: Path, mark: str) -> dict[str, str]:
    shutil.rmtree(scratch, ignore_errors=True)
    temporary = scratch / "tmp"
    temporary.mkdir(parents=True)
    plain = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    return {
        **plain,
        "TMPDIR": str(temporary),
        "PYTHONPYCACHEPREFIX": str(scratch / "bytecode"),
        _MARK: mark,
    }


async def _run(
    argv: list[str],
    folder: Path,
    environment: dict[str, str],
    timeout_seconds: float,
    log: "_Log",
) -> int | None:
    """Returns the exit code, None past the time limit; nothing it started is left."""
    output_read, output_write = os.pipe()
    alive_read, alive_write = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            _GUARDED.format(alive_read),
            "check",
            *argv,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output_write,
            stderr=output_write,
            pass_fds=(alive_read,),
            start_new_session=True,
        )
    except BaseException:
        os.close(output_read)
        os.close(alive_write)
        raise
    finally:
        os.close(output_write)
        os.close(alive_read)
    reading = asyncio.create_task(_drain(output_read, log))
    code: int | None = None
    try:
        # Past the limit the exit code stays unknown.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                code = await process.wait()
    finally:
        # The group outlives its leader while anything it started runs.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _kill_marked(environment[_MARK])
        os.close(alive_write)
        await process.wait()
        await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
        reading.cancel()
    if code is None:
        return None
    return code if code >= 0 else 128 - code


async def _drain(descriptor: int, log: "_Log") -> None:
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        while chunk := await reader.read(65_536):
            log.write(chunk)
    finally:
        transport.close()


def _kill_marked(mark: str) -> None:
    """Kills every process that carries `mark` in its environment."""
    wanted = f"{_MARK}={mark}".encode()
    for _ in range(_KILL_PASSES):
        found = [int(p.name) for p in Path("/proc").glob("[0-9]*") if _carries(p, wanted)]
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError):  # It ended by itself.
                os.kill(pid, signal.SIGKILL)


def _carries(process: Path, wanted: bytes) -> bool:
    try:
        return wanted in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        # It ended meanwhile, or is somebody else's.
        return False


class _Log:
    """The log of a check: the first bytes and the last ones."""

    def __init__(self, path: Path, command: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._file.write(f"$ {command}\n".encode("utf-8", "replace"))
        self._written = 0
        self._left_out = 0
        self._last = b""
        self._fault: OSError | None = None

    def __enter__(self) -> "_Log":
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            if self._left_out:
                self._file.write(f"\n[{self._left_out} bytes left out]\n".encode())
                self._file.write(self._last[-_TAIL_BYTES:])
        if self._fault is not None:
            raise self._fault

    @property
    def tail(self) -> str:
        """The end of the output."""
        return self._last[-_TAIL_BYTES:].decode("utf-8", "replace")

    def write(self, chunk: bytes) -> None:
        """Takes in a piece of output."""
        self._last = (self._last + chunk)[-2 * _TAIL_BYTES :]
        if self._written >= _HEAD_BYTES or self._fault is not None:
            self._left_out += len(chunk)
            return
        try:
            self._file.write(chunk)
        except OSError as error:
            # The output is read on, or the command would block on a full pipe.
            self._fault = error
        self._written += len(chunk)
