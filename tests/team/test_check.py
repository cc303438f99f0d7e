"""Tests of modules/team/check.py."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from modules.records.merges import CheckOutcome
from modules.team.check import CheckRun, end_left_over_checks, end_left_over_setups, run_check
from tests.repos import ends


def check(tmp_path: Path, command: str, *, timeout_seconds: float = 60.0) -> CheckRun:
    return asyncio.run(_check(tmp_path, command, timeout_seconds))


async def _check(
    tmp_path: Path, command: str, timeout_seconds: float = 60.0, *, tree: str = "tree"
) -> CheckRun:
    folder = tmp_path / tree
    folder.mkdir(exist_ok=True)
    return await run_check(
        command,
        folder=folder,
        timeout_seconds=timeout_seconds,
        environment={"PATH": os.environ["PATH"], "GIT_DIR": "/nowhere"},
        log_path=tmp_path / "logs" / "1.log",
        scratch=tmp_path / "scratch",
        wrap=lambda argv, folder, scratch: argv,
    )


def test_run_check_when_it_passes_then_the_log_holds_its_output(tmp_path: Path) -> None:
    run = check(tmp_path, "echo out; echo err >&2")

    assert replace(run, seconds=0, cpu_seconds=None) == CheckRun(
        CheckOutcome.PASSED, 0, 0, "out\nerr\n"
    )
    assert (tmp_path / "logs" / "1.log").read_text() == "$ echo out; echo err >&2\nout\nerr\n"


@pytest.mark.parametrize(
    ("command", "outcome", "exit_code"),
    [
        ("exit 3", CheckOutcome.FAILED, 3),
        ("kill -TERM $$", CheckOutcome.FAILED, 143),
        ("nosuchcommand", CheckOutcome.COULD_NOT_RUN, 127),
        ("  ", CheckOutcome.COULD_NOT_RUN, None),
        ("echo Ran 0 tests", CheckOutcome.NO_TESTS, 0),
        ("cat", CheckOutcome.PASSED, 0),
    ],
)
def test_run_check_then_tells_how_it_ended(
    tmp_path: Path, command: str, outcome: CheckOutcome, exit_code: int | None
) -> None:
    run = check(tmp_path, command)

    assert (run.outcome, run.exit_code) == (outcome, exit_code)


def test_run_check_when_the_folder_is_missing_then_could_not_run(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()

    run = asyncio.run(
        run_check(
            "true",
            folder=tmp_path / "gone",
            timeout_seconds=9,
            environment={},
            log_path=tmp_path / "log",
            scratch=tmp_path / "scratch",
            wrap=lambda argv, folder, scratch: argv,
        )
    )

    assert run.outcome is CheckOutcome.COULD_NOT_RUN
    assert "is missing" in run.why


def test_run_check_when_it_hangs_then_everything_it_started_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = f"sleep 300 & setsid sleep 300 & echo $! $$ > {pids}; jobs -p >> {pids}; wait"

    run = check(tmp_path, command, timeout_seconds=1.0)

    assert (run.outcome, run.exit_code) == (CheckOutcome.TIMED_OUT, None)
    assert all(ends(int(pid)) for pid in pids.read_text().split())


def test_run_check_when_it_leaves_a_daemon_then_that_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    run = check(
        tmp_path,
        f"setsid sh -c 'echo $$ > {pids}; exec sleep 300' & while [ ! -s {pids} ]; do :; done",
    )

    assert run.outcome is CheckOutcome.PASSED
    assert ends(int(pids.read_text()))


def test_run_check_when_the_caller_is_cancelled_then_it_is_killed(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def cancel_when_started() -> int:
        task = asyncio.create_task(_check(tmp_path, f"echo $$ > {fifo}; sleep 300"))
        pid = int(await asyncio.to_thread(fifo.read_text))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    assert ends(asyncio.run(cancel_when_started()))


@pytest.mark.slow
def test_run_check_when_its_owner_is_killed_then_it_dies_too(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    owner = f"""
import asyncio
from pathlib import Path
from tests.team.test_check import _check
asyncio.run(_check(Path({str(tmp_path)!r}), "echo $$ > {fifo}; sleep 300"))
"""
    with subprocess.Popen([sys.executable, "-c", owner]) as process:
        pid = int(fifo.read_text())
        process.send_signal(signal.SIGKILL)

    assert ends(pid)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tree", "end"), [("check-1", end_left_over_checks), ("t1-1-x", end_left_over_setups)]
)
def test_end_left_over_checks_when_their_owner_was_killed_then_daemons_die_too(
    tmp_path: Path, tree: str, end: Callable[[Path], None]
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    daemon = f"setsid sh -c 'echo $$ > {fifo}; exec sleep 300' & sleep 300"
    owner = f"""
import asyncio
from pathlib import Path
from tests.team.test_check import _check
asyncio.run(_check(Path({str(tmp_path)!r}), {daemon!r}, tree={tree!r}))
"""
    with subprocess.Popen([sys.executable, "-c", owner]) as process:
        pid = int(fifo.read_text())
        process.send_signal(signal.SIGKILL)
    end(tmp_path / "elsewhere")
    survived = Path(f"/proc/{pid}").exists()

    end(tmp_path)

    assert survived
    assert ends(pid)


def test_run_check_then_the_cpu_time_of_all_it_started_is_told(tmp_path: Path) -> None:
    burn = "import time; e = time.process_time() + 0.2\nwhile time.process_time() < e: pass"

    busy = check(tmp_path, f"{sys.executable} -c '{burn}' & wait")
    idle = check(tmp_path, "sleep 0.1")
    cut_off = check(tmp_path, "sleep 9", timeout_seconds=0.1)

    assert busy.cpu_seconds is not None
    assert idle.cpu_seconds is not None
    assert busy.cpu_seconds >= 0.2 > 0.1 > idle.cpu_seconds
    assert cut_off.cpu_seconds is None


def test_run_check_when_run_twice_then_bytecode_and_temporary_files_are_fresh(
    tmp_path: Path,
) -> None:
    command = 'echo "$PYTHONPYCACHEPREFIX"; ls -A "$TMPDIR"; touch "$TMPDIR/left"; env'

    outputs = [check(tmp_path, command).tail for _ in range(2)]

    assert all(str(tmp_path / "scratch") in output for output in outputs)
    assert not any("\nleft\n" in output or "GIT_DIR" in output for output in outputs)
    assert not (tmp_path / "scratch").exists()


def test_run_check_when_the_output_is_huge_then_start_and_end_are_kept(tmp_path: Path) -> None:
    run = check(tmp_path, "echo first; yes | head -c 9000000; echo last")

    log = (tmp_path / "logs" / "1.log").read_bytes()
    assert len(log) < 3_000_000
    assert b"first" in log
    assert log.endswith(b"last\n")
    assert b"bytes left out" in log
    assert run.tail.endswith("last\n")


def test_run_check_when_wrapped_then_the_wrapper_runs_it(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()

    run = asyncio.run(
        run_check(
            "echo $INSIDE",
            folder=tmp_path / "tree",
            timeout_seconds=9,
            environment={"PATH": os.environ["PATH"]},
            log_path=tmp_path / "log",
            scratch=tmp_path / "scratch",
            wrap=lambda argv, folder, scratch: ["env", "INSIDE=yes", *argv],
        )
    )

    assert run.tail == "yes\n"
