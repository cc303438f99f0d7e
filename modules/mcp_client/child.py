"""One server's process: its pipes, its errors, its end.

1. It leads a process group of its own. When it ends, however it ends, the rest of its group is
   killed: what it started does not outlive it.
2. Its standard error is always read, so it never blocks on it; the newest part is kept.
3. It is stopped in steps of a limited time each: end of its input, SIGTERM, SIGKILL.
"""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from subprocess import PIPE

from modules.records.errors import PersonFault, TransientFault

_CHUNK_BYTES = 64 * 1024
_LOG_BYTES = 64 * 1024
_BURIAL_SECONDS = 5.0  # a busy machine takes its time to end what was killed
_DRAIN_SECONDS = 0.5
"""For the last words of a server that has ended."""


class _Protocol(SubprocessStreamProtocol):
    """Tells of the exit at once; asyncio's own wait() also waits for whoever holds the pipes."""

    def __init__(self) -> None:
        super().__init__(limit=_CHUNK_BYTES, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


async def cancelled(*tasks: asyncio.Task[None]) -> None:
    """Ends the tasks and waits for them; raises what one of them failed with."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def start_child(
    argv: Sequence[str], *, environment: Mapping[str, str], folder: Path
) -> "Child":
    """Starts a server; raises PersonFault when there is nothing that could be started."""
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.subprocess_exec(
            _Protocol,
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise PersonFault(
            f"The command {argv[0]!r} can't be started ({error}).",
            hint="Install it, or mend its entry in .mcp.json.",
        ) from error
    return Child(transport, protocol)


class Child:
    """A running server process; `stop` must be awaited whatever happens."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        assert protocol.stdin is not None
        assert protocol.stdout is not None
        assert protocol.stderr is not None
        self._transport = transport
        self._exited = protocol.exited
        self._input = protocol.stdin
        self._output = protocol.stdout
        self._errors = protocol.stderr
        self._log = bytearray()
        self._is_buried = False
        self.pid = transport.get_pid()
        self._errors_kept = asyncio.create_task(self._keep_errors())
        self._buried = asyncio.create_task(self._bury())

    @property
    def log(self) -> str:
        """The newest part of what it wrote to its standard error."""
        return self._log.decode(errors="replace")

    @property
    def end(self) -> str:
        """How it ended, as the rest of a sentence."""
        code = self._transport.get_returncode()
        if code is None:
            return "closed its output"
        if code >= 0:
            return f"ended with exit code {code}"
        with contextlib.suppress(ValueError):  # a signal without a name keeps its number
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"

    async def write(self, line: bytes) -> None:
        """Sends one line; raises ConnectionError when nobody reads any more."""
        self._input.write(line + b"\n")
        await self._input.drain()
        # Input that was closed meanwhile is dropped without a word, and drain has no complaint.
        if self._input.transport.is_closing():
            raise ConnectionResetError("the server's input was closed")

    async def lines(self, *, max_bytes: int) -> AsyncIterator[bytes]:
        """Yields what it writes, line by line, until its output ends.

        Raises TransientFault at a line longer than `max_bytes`.
        """
        pending = bytearray()
        while chunk := await self._output.read(_CHUNK_BYTES):
            searched = len(pending)
            pending += chunk
            while (end := pending.find(b"\n", searched)) >= 0:
                yield bytes(pending[:end])
                del pending[: end + 1]
                searched = 0
            if len(pending) > max_bytes:
                raise TransientFault(f"wrote a line longer than {max_bytes} bytes")
        if pending:
            yield bytes(pending)

    async def wait(self, seconds: float) -> bool:
        """Waits for the process to end; returns whether it did in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    async def drain(self, seconds: float) -> None:
        """Waits for its end and for the last of its errors, for each at most so long."""
        if await self.wait(seconds):
            await asyncio.wait([self._errors_kept], timeout=seconds)

    async def stop(self, *, grace_seconds: float) -> None:
        """Ends the process and all its group; takes at most twice the grace, and what it takes the
        kernel to bury a killed process.
        """
        try:
            self._input.close()
            if not await self.wait(grace_seconds):
                self._signal_group(signal.SIGTERM)
                if not await self.wait(grace_seconds):
                    self._signal_group(signal.SIGKILL)
                    await self.wait(max(grace_seconds, _BURIAL_SECONDS))
        finally:
            # Reached at once when somebody is too impatient for the steps above.
            self._signal_group(signal.SIGKILL)
            if self._input.transport.get_write_buffer_size():
                # Without this, what was never read holds up the close.
                self._input.transport.abort()
            self._transport.close()
            self._errors_kept.cancel()
            self._buried.cancel()
        await cancelled(self._errors_kept, self._buried)

    async def _keep_errors(self) -> None:
        while chunk := await self._errors.read(_CHUNK_BYTES):
            self._log += chunk
            del self._log[:-_LOG_BYTES]

    async def _bury(self) -> None:
        """Once the process has ended: kills its group, and closes pipes that are still held."""
        await self._exited.wait()
        self._signal_group(signal.SIGKILL)
        self._is_buried = True
        await asyncio.sleep(_DRAIN_SECONDS)
        self._transport.close()

    def _signal_group(self, number: signal.Signals) -> None:
        if self._is_buried:
            return  # the number may belong to somebody else by now
        # The pid is the group's number, also when its leader is gone and others are not.
        # Nobody is left, or only who took another user's rights: then no signal reaches them.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
