"""A worker that is busy keeps its task though it says nothing; one that shows no life loses it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from modules.app.run import Run
from modules.app.worker_pids import cpu_ticks
from modules.records.tasks import TaskDraft
from tests.app.runs import until_quiet, with_run
from tests.scenarios.programs import assert_nothing_left, make_repository, post

pytestmark = pytest.mark.slow

LEASE_SECONDS = 0.5
WORKER = """
import os, sys, time
print('{"op": "hello", "pid": %d}' % os.getpid(), flush=True)
sys.stdin.readline()
until = time.monotonic() + 1.8
while time.monotonic() < until:
    DOING
print('{"op": "turn_over", "seq": 1, "text": "I am through.", "failure": "enough"}', flush=True)
sys.stdin.readline()
"""
"""Says hello, is at something for more than three leases without a word, and ends its turn."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_environment: Path) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"lease_seconds = {LEASE_SECONDS}\n")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


@pytest.mark.parametrize(
    ("doing", "reason"), [("pass", "enough"), ("time.sleep(1.8)", "The worker was silent for")]
)
def test_worker_that_says_nothing_keeps_its_task_only_where_it_works(
    doing: str, reason: str, repository: Path
) -> None:
    async def story(run: Run) -> None:
        async with run.at_work():
            await until_quiet(run)
            assert reason in run.house.board.task(1).reason

    post(repository, TaskDraft(subject="look", attempts_allowed=1))
    program = (sys.executable, "-c", WORKER.replace("DOING", doing))
    with_run(repository, story, worker_argv=program)

    assert_nothing_left(repository)


def test_processor_time_grows_with_work_and_with_nothing_else() -> None:
    async def story() -> None:
        busy = "import sys\nprint(flush=True)\nwhile True: pass"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", busy), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        await process.stdout.readline()
        first = cpu_ticks(process.pid)
        assert first is not None
        async with asyncio.timeout(20):
            while cpu_ticks(process.pid) == first:
                await asyncio.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)
        await asyncio.to_thread(os.waitpid, process.pid, os.WUNTRACED)
        stopped = cpu_ticks(process.pid)
        await asyncio.sleep(0.1)
        assert cpu_ticks(process.pid) == stopped
        process.kill()
        await process.wait()
        assert cpu_ticks(process.pid) is None

    asyncio.run(story())
