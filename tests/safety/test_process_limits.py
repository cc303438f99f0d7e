"""A runaway command ends by itself in a jail, and not without one."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.records.settings import LEAST_MEMORY_MB
from modules.safety.jail import JailSpec, SandboxKind
from modules.safety.sandbox import jailed_argv
from tests.safety.jail_ground import ORDINARY_UID, Ground, Ran, User, make_ground, need

KINDS = (SandboxKind.BWRAP, SandboxKind.LANDLOCK)
ORDINARY = User(ORDINARY_UID) if os.geteuid() == 0 else User(None)
LEAST = LEAST_MEMORY_MB * 2**20
FILL = "head -c 3000000 /dev/zero > filled; wc -c < filled"
FORKS = """$PY -c '
import os, signal
children = []
for _ in range(60):
    try:
        child = os.fork()
    except BlockingIOError:
        break
    if child == 0:
        signal.pause()
    children.append(child)
print(len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
'"""

pytestmark = pytest.mark.slow


@pytest.fixture
def ground() -> Iterator[Ground]:
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="crewyard-test-"))
    base.chmod(0o755)
    try:
        ground = make_ground(base / "ground", ORDINARY, KINDS)
        yield Ground(ground.base, ORDINARY, {"PY": ground.interpreter})
    finally:
        shutil.rmtree(base)


def run(ground: Ground, script: str, kind: SandboxKind, **limits: int) -> Ran:
    """Runs a script with limits of its own."""
    need(kind)
    spec: JailSpec = replace(ground.spec(), **limits)
    argv = jailed_argv(["/bin/bash", "-c", script], spec, kind, interpreter=ground.interpreter)
    copy = str(ground.base / "landlock.py")
    done = subprocess.run(
        [copy if word.endswith("/landlock.py") else word for word in argv],
        cwd=ground.lane,
        env=ground.environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        **ground.user.popen_arguments,  # type: ignore[call-overload]  # user, group, extra_groups
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_file_that_grows_past_the_limit_ends_its_writer(ground: Ground, kind: SandboxKind) -> None:
    unguarded = run(ground, FILL, SandboxKind.OFF, file_bytes=1_000_000)
    jailed = run(ground, FILL, kind, file_bytes=1_000_000)

    assert (unguarded.out, jailed.out) == ("3000000\n", "1000000\n")


def test_processes_past_the_limit_do_not_start(ground: Ground) -> None:
    unguarded = run(ground, FORKS, SandboxKind.OFF, processes=20)
    jailed = run(ground, FORKS, SandboxKind.BWRAP, processes=20)

    assert int(unguarded.out) == 60
    assert 0 < int(jailed.out) < 20


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_limits_of_a_jail_are_those_of_everything_in_it(ground: Ground, kind: SandboxKind) -> None:
    ran = run(ground, "ulimit -Hc; ulimit -Hn; ulimit -Hf", kind, open_files=64, file_bytes=2**20)

    assert ran.out.split() == ["0", "64", "1024"]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_process_that_takes_more_memory_than_it_may_is_refused(
    ground: Ground, kind: SandboxKind
) -> None:
    take = "$PY -c 'print(len(bytearray(600_000_000)))'"

    unguarded = run(ground, take, SandboxKind.OFF, memory_bytes=LEAST)
    jailed = run(ground, take, kind, memory_bytes=LEAST)

    assert unguarded.out == "600000000\n"
    assert jailed.out == ""
    assert "MemoryError" in jailed.error


@pytest.mark.parametrize("place", ["/dev/shm", "/dev", "/run", "$G"])
def test_folders_in_memory_are_no_way_around_the_limit(ground: Ground, place: str) -> None:
    fill = f"head -c 300000000 /dev/zero > {place}/filled; stat -c %s {place}/filled"

    unlimited = run(ground, fill, SandboxKind.BWRAP)
    limited = run(ground, fill, SandboxKind.BWRAP, memory_bytes=LEAST)

    assert unlimited.out == "300000000\n"
    assert int(limited.out or 0) <= LEAST


def test_threads_terminals_and_shared_memory_work_under_the_limit(ground: Ground) -> None:
    program = (
        "import multiprocessing.shared_memory as s, os, pty, threading\n"
        "for _ in range(100): threading.Thread(target=int).start()\n"
        "one, other = pty.openpty(); os.write(other, b'x'); os.read(one, 1)\n"
        "s.SharedMemory(create=True, size=100_000_000).unlink()\n"
        "open('/dev/null', 'w').write('x'); print('all')\n"
    )
    (ground.lane / "program.py").write_text(program)

    ran = run(ground, "$PY program.py", SandboxKind.BWRAP, memory_bytes=LEAST)

    assert (ran.out, ran.error) == ("all\n", "")
