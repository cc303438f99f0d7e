"""Ends a worker's process and all it has started, in steps of which each has its time.

1. It is asked: its pipe is closed, so it ends its commands and itself.
2. Its process group is told (SIGTERM).
3. The group is killed (SIGKILL), and with it every process that carries the worker's mark, since
   commands are in groups of their own.
4. What the kernel can't end even then is named.
"""

import asyncio
import contextlib
import os
import signal

from modules.git.occupants import end_marked, marked
from modules.records.protocol import StopLimits

_LOOK_AGAIN_SECONDS = 0.02


async def end_worker(
    process: asyncio.subprocess.Process, *, mark: str, limits: StopLimits
) -> list[int]:
    """Ends `process`, the leader of its group, and whatever carries `mark` in its environment.

    Returns the processes that are still there; none, but where the kernel can't end one.
    """
    if process.stdin is not None:
        process.stdin.close()
    if not await _is_over_within(process, limits.ask_seconds):
        signal_group(process.pid, signal.SIGTERM)
        await _is_over_within(process, limits.term_seconds)
    signal_group(process.pid, signal.SIGKILL)
    is_over = await _is_over_within(process, limits.kill_seconds)
    left = await _end_marked(mark, limits.kill_seconds)
    with contextlib.suppress(TimeoutError):  # what can't be ended may hold its pipe
        await asyncio.wait_for(process.wait(), limits.kill_seconds)
    return left if is_over else sorted({process.pid, *left})


def signal_group(pid: int, number: int) -> None:
    """Sends a signal to a process group; does nothing when everybody of it has gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


async def _is_over_within(process: asyncio.subprocess.Process, seconds: float) -> bool:
    # Its own `wait` would wait for whoever holds its pipes, too.
    if process.returncode is not None:
        return True
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return True


async def _end_marked(mark: str, seconds: float) -> list[int]:
    until = asyncio.get_running_loop().time() + seconds
    while True:
        await asyncio.to_thread(end_marked, mark)
        left = await asyncio.to_thread(marked, mark)
        if not left or asyncio.get_running_loop().time() > until:
            return left
        # What was killed is there for a moment still: nothing tells of the end of another's child.
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def left_words(left: list[int]) -> str:
    """Returns which processes the kernel could not end, in words."""
    return f"these processes can't be ended: {', '.join(map(str, left))}"
