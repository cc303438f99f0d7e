"""A worker that does not want to end is ended, with all it started."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from modules.app.worker_end import end_worker
from modules.git.occupants import marked
from modules.records.protocol import STOP_LIMITS, StopLimits
from tests.scenarios.programs import eventually

SOON = StopLimits(ask_seconds=0.2, term_seconds=0.2, kill_seconds=5.0)
NEVER = StopLimits(ask_seconds=20.0, term_seconds=20.0, kill_seconds=5.0)
CHILD = """
import subprocess, sys
subprocess.Popen(["sleep", "60"], start_new_session=True)
"""
OBEYS = "sys.stdin.read()"
IGNORES_THE_ASK = "time.sleep(60)"
IGNORES_TERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
SAYS_SO = """
import signal, time
print("up", flush=True)
"""


async def worker(folder: Path, behaviour: str) -> asyncio.subprocess.Process:
    """Starts a program that has a child in a session of its own."""
    ignoring = behaviour.partition(";")[0] if ";" in behaviour else ""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"import signal\n{ignoring}\n{CHILD}{SAYS_SO}{behaviour}"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"up\n"
    return process


@pytest.mark.parametrize(
    ("behaviour", "limits", "code", "at_least"),
    [
        (OBEYS, NEVER, 0, 0.0),
        (IGNORES_THE_ASK, SOON, -signal.SIGTERM, 0.2),
        (IGNORES_TERM, SOON, -signal.SIGKILL, 0.4),
    ],
)
def test_worker_is_gone_with_its_child_by_the_first_step_that_helps(
    tmp_path: Path, behaviour: str, limits: StopLimits, code: int, at_least: float
) -> None:
    async def story() -> None:
        process, mark = await worker(tmp_path, behaviour), f"TMPDIR={tmp_path}\0"
        eventually(lambda: len(marked(mark)) == 2)
        began = time.monotonic()

        left = await end_worker(process, mark=mark, limits=limits)

        assert left == []
        assert process.returncode == code
        assert at_least <= time.monotonic() - began < 15
        assert marked(mark) == []

    asyncio.run(story())


def test_child_in_a_session_of_its_own_outlives_the_group(tmp_path: Path) -> None:
    """The attack the mark is there for."""

    async def story() -> None:
        process, mark = await worker(tmp_path, IGNORES_THE_ASK), f"TMPDIR={tmp_path}\0"

        os.killpg(process.pid, signal.SIGKILL)

        (child,) = eventually(lambda: found if len(found := marked(mark)) == 1 else [])
        os.kill(child, signal.SIGKILL)
        await process.wait()

    asyncio.run(story())


def test_process_of_another_worker_is_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        one = await worker(tmp_path / "t1", OBEYS)
        other = await worker(tmp_path / "t1-2", OBEYS)

        await end_worker(one, mark=f"TMPDIR={tmp_path / 't1'}\0", limits=NEVER)

        assert other.returncode is None
        eventually(lambda: len(marked(f"TMPDIR={tmp_path / 't1-2'}\0")) == 2)
        await end_worker(other, mark=f"TMPDIR={tmp_path / 't1-2'}\0", limits=NEVER)

    asyncio.run(story())


def test_limits_are_those_the_tool_tells_of() -> None:
    assert (STOP_LIMITS.ask_seconds, STOP_LIMITS.term_seconds) == (5.0, 3.0)
    assert STOP_LIMITS.whole_seconds == 10.0
