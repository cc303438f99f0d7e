"""Runs one program to its end, and ends whatever it left behind.

1. The program gets a session of its own, one pipe for both outputs, and no terminal.
2. It is over when the process that was started is over, or when its time is up.
3. The processes it left behind, and whoever holds the pipe, get DRAIN_SECONDS to end by themselves.
   A process is left behind when it is in the session or the group, or carries the mark in its
   environment. One that left both and emptied its environment is for the sandbox to hold.
4. Then they are ended: TERM, and KILL after GRACE_SECONDS.
5. A cancelled caller gets the same, and then its cancellation.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DRAIN_SECONDS = 1.0
GRACE_SECONDS = 2.0
KILL_SECONDS = 1.0  # how long the kernel may take to end what was killed
_KILL_ROUNDS = 20  # a program that forks as fast as it can needs more than one
_CHUNK_BYTES = 65_536
MARK = "CREWYARD_CALLS"
"""Environment variable that tells a process's descendants; calls inside calls add to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended."""

    exit_code: int
    """Negative: the signal that ended it."""
    timed_out: bool
    left_behind: int
    """Processes that outlived it and were ended."""


async def run_child(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    on_output: Callable[[bytes], None],
    stdin: int = subprocess.DEVNULL,
) -> Ended:
    """Runs `argv` and hands its output, both streams in one, to `on_output` as it comes.

    Raises OSError when it can't be started, ValueError when an argument can't be passed.
    """
    child = Child(argv, cwd=cwd, environment=environment, on_output=on_output, stdin=stdin)
    return await child.end_within(timeout_seconds)


class Child:
    """A program that was just started, its pipe, and its descendants.

    Raises OSError when it can't be started, ValueError when an argument can't be passed.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        on_output: Callable[[bytes], None],
        stdin: int = subprocess.DEVNULL,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output = on_output
        self._pipe, write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._pipe, False)
        # A pipe's inode is no other call's while the pipe is open.
        self._mark = f":{os.getpid()}.{os.fstat(self._pipe).st_ino}:"
        try:
            # From the loop's own thread: a sandbox that dies with its parent dies with the thread.
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**environment, MARK: environment.get(MARK, "") + self._mark},
                stdin=stdin,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(write_end)
        self._exited = _end_of(self._process.pid, self._loop)
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(self._pipe, self._read)

    async def end_within(self, seconds: float) -> Ended:
        """Waits for the program, ends it when its time is up, and lets go of everything."""
        try:
            timed_out = not await self.is_over_within(seconds)
            if not timed_out:
                await self.settle()
            left_behind = len(self.left_behind())
            await self.end()
        except asyncio.CancelledError:
            await self.end()
            raise
        finally:
            exit_code = self.close()
        return Ended(exit_code=exit_code, timed_out=timed_out, left_behind=left_behind)

    def left_behind(self) -> list[int]:
        """Returns the descendants that are alive now, the program itself apart."""
        first = self._process.pid
        return [pid for pid in _pids_since(first) if pid != first and self._is_ours(pid)]

    async def is_over_within(self, seconds: float) -> bool:
        """Waits for the program itself, at most `seconds`; returns whether it is over."""
        await asyncio.wait([self._exited], timeout=seconds)
        return self._exited.done()

    async def settle(self) -> None:
        """Gives the descendants that outlived the program a moment to end by themselves."""
        await self._wait(DRAIN_SECONDS, self.left_behind())

    async def end(self) -> None:
        """Ends the program and its descendants, kindly at first."""
        if not (self._is_running() or self.left_behind()):
            return
        await self._end_by(signal.SIGTERM, GRACE_SECONDS)
        for _ in range(_KILL_ROUNDS):
            if not (self._is_running() or self.left_behind()):
                break
            await self._end_by(signal.SIGKILL, KILL_SECONDS)

    def close(self) -> int:
        """Kills what still runs, lets go of everything and returns the exit code."""
        if self._is_running() or self.left_behind():
            self._signal(signal.SIGKILL)
        # A process the kernel can't end just now (in a system call on a dead disk) is let go.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=KILL_SECONDS)
        self._exited.cancel()
        self._drained.cancel()
        self._loop.remove_reader(self._pipe)
        os.close(self._pipe)
        code = self._process.returncode
        return -signal.SIGKILL if code is None else code

    def _read(self) -> None:
        try:
            data = os.read(self._pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if data:
            self._on_output(data)
            return
        self._loop.remove_reader(self._pipe)
        if not self._drained.done():
            self._drained.set_result(None)

    def _is_running(self) -> bool:
        # It is looked at but not reaped before `close`: its number stays its own, and its group's.
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, look) is None

    async def _end_by(self, number: int, seconds: float) -> None:
        pids = [self._process.pid, *self.left_behind()]
        self._signal(number)
        await self._wait(seconds, pids)

    async def _wait(self, seconds: float, pids: list[int]) -> None:
        ends = [_end_of(pid, self._loop) for pid in pids]
        try:
            await asyncio.wait([self._drained, *ends], timeout=seconds)
        finally:
            for end in ends:
                end.cancel()

    def _signal(self, number: int) -> None:
        pids = self.left_behind()
        # The group goes in one stroke, so that nobody in it can fork away in between.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
        for pid in pids:
            # Gone with the group, or grown beyond our rights (setuid).
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _is_ours(self, pid: int) -> bool:
        process = Path(f"/proc/{pid}")
        try:
            # After the name in parentheses: state, parent, group, session.
            state, _, group, session = (
                (process / "stat").read_bytes().rpartition(b")")[2].split()[:4]
            )
            if state in (b"Z", b"X"):
                return False
            if self._process.pid in (int(group), int(session)):
                return True
            return self._mark.encode() in (process / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            # Gone meanwhile, or another user's.
            return False


def _pids_since(first: int) -> list[int]:
    """Returns the processes that may be younger than `first`."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 (names only, 3x faster)
    last = int(Path("/proc/loadavg").read_text().split()[-1])
    # Numbers start again from the bottom once the highest is used up.
    return pids if last < first else [pid for pid in pids if pid >= first]


def _end_of(pid: int, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[None]":
    """Returns a future that is done once the process is over."""
    future: asyncio.Future[None] = loop.create_future()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        future.set_result(None)
        return future

    def finish() -> None:
        if not future.done():
            future.set_result(None)

    def close(_: "asyncio.Future[None]") -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)

    loop.add_reader(descriptor, finish)
    future.add_done_callback(close)
    return future
