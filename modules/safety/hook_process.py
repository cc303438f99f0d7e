"""Runs one hook's process: its input fed, its output drained and bounded, its group ended."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from modules.safety.hook_verdict import HookRun

DRAIN_SECONDS = 0.5
"""How long output may still come once the process itself is over."""
LONGEST_OUTPUT_BYTES = 16 * 1024 * 1024


async def run_hook(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    payload: bytes,
    timeout_seconds: float,
) -> HookRun:
    """Runs a hook to its end or the end of its time; nothing of its process group stays."""
    loop = asyncio.get_running_loop()
    try:
        transport, process = await loop.subprocess_exec(
            lambda: _Process(loop), *argv, cwd=cwd, env=dict(environment), start_new_session=True
        )
    except (OSError, ValueError) as error:
        return HookRun(failure=f"it can't be started: {error}")
    try:
        _feed(transport, payload)
        await asyncio.wait([process.exited], timeout=timeout_seconds)
        is_over = process.exited.done()
        if is_over:
            await asyncio.wait([process.drained], timeout=DRAIN_SECONDS)
    finally:
        await _end(transport, process)
    if not is_over:
        return HookRun(failure=f"it did not end within {timeout_seconds:g} s")
    return HookRun(transport.get_returncode() or 0, process.text(1), process.text(2))


class _Process(asyncio.SubprocessProtocol):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self._output = {1: bytearray(), 2: bytearray()}
        self._open = {1, 2}

    def text(self, descriptor: int) -> str:
        return self._output[descriptor].decode(errors="replace")

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self._output[fd]
        kept += data[: LONGEST_OUTPUT_BYTES - len(kept)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.drained.done():
            self.drained.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)


def _feed(transport: asyncio.SubprocessTransport, payload: bytes) -> None:
    # A hook that doesn't read loses the rest: the pipe breaks, and asyncio lets it.
    pipe = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    pipe.write(payload)
    pipe.write_eof()


async def _end(transport: asyncio.SubprocessTransport, process: _Process) -> None:
    # The group is ended in any case: it may hold what the hook has left in the background.
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all of it gone already
        os.killpg(transport.get_pid(), signal.SIGKILL)
    await asyncio.shield(process.exited)
    transport.close()
