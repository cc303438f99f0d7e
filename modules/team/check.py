"""Runs a check: the command that must pass on a tree before the tree may land.

1. The command runs by bash in its own process group, inside whatever `wrap` puts around it, without
   standard input, with a home, a temporary folder and a bytecode cache that no run before it used.
2. Its output goes to a log, bounded: the start and the end are kept.
3. At its end, at the time limit, when the caller is cancelled and when this process dies, all it
   started is killed: the group, and on Linux whatever left the group but not its environment
   (after this process died the next one does that, `end_left_over_checks`).
4. Location variables of git never reach it.
5. What CPU time it took is asked of the shell around it.
"""

import asyncio
import contextlib
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from modules.git.lane_names import CHECK_TREE_PREFIX
from modules.git.occupants import end_marked
from modules.records.merges import CheckOutcome
from modules.safety.jail import private_home
from modules.store.removal import remove_if_possible
from modules.team.check_rules import outcome_of

_HEAD_BYTES = 2_000_000
_TAIL_BYTES = 64_000
_DRAIN_SECONDS = 5.0
_MARK = "CREWYARD_CHECK"
# Reads from a pipe whose other end only this process holds: when it dies the read ends, and the
# group with it. Into the other pipe go the times of the check, which itself gets neither.
_GUARDED = (
    "( exec {times}>&-; IFS= read -r _ <&{alive}; kill -KILL 0 ) >/dev/null 2>&1 & "
    'exec {alive}<&-; "$@" {times}>&-; code=$?; times >&{times}; exit $code'
)
# The last line that bash's `times` prints: user and system time of the children it waited for.
_TIMES = re.compile(rb"(\d+)m(\d+)[.,](\d+)s (\d+)m(\d+)[.,](\d+)s\s*\Z")

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
    cpu_seconds: float | None = None
    """None when the command did not end by itself."""


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
    mark = f"{folder}/{secrets.token_hex(16)}"
    started = time.monotonic()
    try:
        environment = _prepare(environment, scratch, mark)
        with _Log(log_path, command) as log:
            code, cpu_seconds = await _run(
                wrap(["bash", "-c", command], folder, scratch),
                folder,
                environment,
                timeout_seconds,
                log,
            )
    except OSError as error:
        return _not_run(f"The check could not be run: {error}.")
    finally:
        remove_if_possible(scratch)
    seconds = time.monotonic() - started
    if code is None:
        return CheckRun(CheckOutcome.TIMED_OUT, None, seconds, log.tail)
    outcome = outcome_of(command, exit_code=code, output=log.tail)
    why = f"The command ended with exit code {code}." if outcome is _COULD_NOT_RUN else ""
    return CheckRun(outcome, code, seconds, log.tail, why, cpu_seconds)


def end_left_over_checks(lanes: Path) -> None:
    """Kills what is left of checks in trees below `lanes`, of a process that died."""
    end_marked(f"{_MARK}={lanes}/{CHECK_TREE_PREFIX}")


def end_left_over_setups(lanes: Path) -> None:
    """The same for what set up workers' lanes; only the lead may, for it starts them."""
    end_marked(f"{_MARK}={lanes}/t")


_COULD_NOT_RUN = CheckOutcome.COULD_NOT_RUN


def _not_run(why: str) -> CheckRun:
    return CheckRun(_COULD_NOT_RUN, None, 0.0, why=why)


def _prepare(environment: Mapping[str, str], scratch: Path, mark: str) -> dict[str, str]:
    remove_if_possible(scratch)
    temporary = scratch / "tmp"
    temporary.mkdir(parents=True)
    home = private_home(scratch)
    home.mkdir(mode=0o700)
    plain = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    return {
        **plain,
        "HOME": str(home),
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
) -> tuple[int | None, float | None]:
    """Returns the exit code, None past the time limit, and CPU time; nothing it started is left."""
    output_read, output_write = os.pipe()
    alive_read, alive_write = os.pipe()
    times_read, times_write = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            _GUARDED.format(alive=alive_read, times=times_write),
            "check",
            *argv,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output_write,
            stderr=output_write,
            pass_fds=(alive_read, times_write),
            start_new_session=True,
        )
    except BaseException:
        for descriptor in (output_read, alive_write, times_read):
            os.close(descriptor)
        raise
    finally:
        for descriptor in (output_write, alive_read, times_write):
            os.close(descriptor)
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
        end_marked(f"{_MARK}={environment[_MARK]}")
        os.close(alive_write)
        await process.wait()
        cpu_seconds = _cpu_seconds(times_read)
        await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
        reading.cancel()
    if code is None:
        return None, None
    return code if code >= 0 else 128 - code, cpu_seconds


def _cpu_seconds(descriptor: int) -> float | None:
    """Reads what the shell told of the times of the check and closes the pipe."""
    os.set_blocking(descriptor, False)
    try:
        told = _TIMES.search(os.read(descriptor, 1_000))
    except BlockingIOError:
        # Something that left the group holds the other end; the shell itself told nothing.
        return None
    finally:
        os.close(descriptor)
    if told is None:
        return None
    user, system = told.groups()[:3], told.groups()[3:]
    return sum(
        int(minutes) * 60 + float(f"{int(seconds)}.{int(part):03d}")
        for minutes, seconds, part in (user, system)
    )


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
