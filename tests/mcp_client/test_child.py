import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from modules.mcp_client.child import Child, start_child
from modules.records.errors import PersonFault, TransientFault
from tests.mcp_client.hubs import death_of, is_alive, pids_in

ENVIRONMENT = {"PATH": os.environ["PATH"]}
STUBBORN = """
trap '' TERM
sleep 600 <&- & echo $! >> {file}
echo $$ >> {file}
echo ready
wait
"""


async def started(script: str, folder: Path) -> Child:
    return await start_child(["sh", "-c", script], environment=ENVIRONMENT, folder=folder)


async def first_line(child: Child) -> bytes:
    async for line in child.lines(max_bytes=1000):
        return line
    raise AssertionError("no line came")


def test_child_that_ignores_end_of_input_and_sigterm_is_killed_with_its_own_child(
    tmp_path: Path,
) -> None:
    unguarded = tmp_path / "unguarded"
    with subprocess.Popen(
        ["sh", "-c", STUBBORN.format(file=unguarded)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        process.stdin.close()
        process.terminate()
        process.kill()
        process.wait(10)
        assert [is_alive(pid) for pid in pids_in(unguarded)] == [True, False]
        os.killpg(process.pid, signal.SIGKILL)

    async def guarded(file: Path) -> None:
        child = await started(STUBBORN.format(file=file), tmp_path)
        assert await first_line(child) == b"ready"
        await child.stop(grace_seconds=0.1)
        for pid in pids_in(file):
            await death_of(pid)
        assert child.end == "was killed by SIGKILL"

    asyncio.run(guarded(tmp_path / "guarded"))


def test_child_that_ends_by_itself_takes_its_group_with_it(tmp_path: Path) -> None:
    async def run() -> None:
        child = await started(f"sleep 600 & echo $! > {tmp_path}/pids; exit 3", tmp_path)
        try:
            assert await child.wait(10)
            for pid in pids_in(tmp_path / "pids"):
                await death_of(pid)
            assert child.end == "ended with exit code 3"
        finally:
            await child.stop(grace_seconds=0.1)

    asyncio.run(run())


def test_child_whose_stop_is_cancelled_is_dead_all_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        file = tmp_path / "pids"
        child = await started(STUBBORN.format(file=file), tmp_path)
        await first_line(child)
        stopping = asyncio.create_task(child.stop(grace_seconds=60))
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        for pid in pids_in(file):
            await death_of(pid)

    asyncio.run(run())


def test_child_that_never_reads_its_input_is_stopped_with_lines_unsent(tmp_path: Path) -> None:
    async def run() -> None:
        child = await started("sleep 600", tmp_path)
        writing = asyncio.create_task(child.write(b"x" * 10_000_000))
        await asyncio.sleep(0)
        await child.stop(grace_seconds=0.1)
        with pytest.raises(ConnectionError):
            await writing

    asyncio.run(run())


def test_errors_are_drained_and_their_newest_part_is_kept(tmp_path: Path) -> None:
    async def run() -> None:
        script = "yes noise | head -c 1200000 >&2; echo last words >&2; echo done"
        child = await started(script, tmp_path)
        try:
            assert await first_line(child) == b"done"
            assert await child.wait(10)
        finally:
            await child.stop(grace_seconds=0.1)
        assert child.log.endswith("noise\nlast words\n")
        assert len(child.log) == 64 * 1024

    asyncio.run(run())


def test_lines_of_any_length_up_to_the_limit_are_kept_apart(tmp_path: Path) -> None:
    async def run() -> None:
        script = "printf 'a\\n\\n'; head -c 900000 /dev/zero; printf '\\nb\\nend'"
        child = await started(script, tmp_path)
        try:
            lines = [line async for line in child.lines(max_bytes=1_000_000)]
        finally:
            await child.stop(grace_seconds=0.1)
        assert lines == [b"a", b"", b"\0" * 900_000, b"b", b"end"]

    asyncio.run(run())


def test_line_that_does_not_end_is_a_fault(tmp_path: Path) -> None:
    async def run() -> None:
        child = await started("cat /dev/zero", tmp_path)
        try:
            with pytest.raises(TransientFault, match="a line longer than 100000 bytes"):
                async for _ in child.lines(max_bytes=100_000):
                    pass
        finally:
            await child.stop(grace_seconds=0.1)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("argv", "folder"),
    [
        pytest.param(["no-such-command-anywhere"], ".", id="no-command"),
        pytest.param([sys.executable], "no-such-folder", id="no-folder"),
        pytest.param(["a\0b"], ".", id="nul"),
        pytest.param([""], ".", id="empty"),
        pytest.param(["\ud800"], ".", id="surrogate"),
    ],
)
def test_command_that_can_not_be_started_is_the_persons_to_mend(
    tmp_path: Path, argv: list[str], folder: str
) -> None:
    with pytest.raises(PersonFault, match="can't be started"):
        asyncio.run(start_child(argv, environment=ENVIRONMENT, folder=tmp_path / folder))
