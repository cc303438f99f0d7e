"""What a jail lets through, what it is chosen by, and that nothing in it outlives its owner."""

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.records.errors import PersonFault
from modules.records.settings import Environment
from modules.safety.jail import GitGround, JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import Probe, jailed_argv, probe
from tests.safety.jail_ground import Ground, Nobody, User, make_ground, need

KINDS = (SandboxKind.BWRAP, SandboxKind.LANDLOCK)
ANY_KIND = pytest.mark.parametrize("kind", KINDS, ids=str)
SECONDS = 20
SYSTEM_PATH = "/usr/bin:/bin"


@pytest.fixture
def ground() -> Iterator[Ground]:
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="crewyard-test-"))
    try:
        yield make_ground(base / "ground", User(None), KINDS)
    finally:
        shutil.rmtree(base)


def environment(folder: Path, *, is_off: bool = False, **variables: str) -> Environment:
    return Environment(
        variables={"PATH": os.environ["PATH"], **variables},
        home=folder,
        user_folder=folder / "user",
        is_sandbox_off=is_off,
    )


# -- which kind --


@pytest.mark.slow
@ANY_KIND
def test_probe_finds_each_kind_to_work(tmp_path: Path, kind: SandboxKind) -> None:
    need(kind)

    found = probe(environment(tmp_path), [kind])

    assert found == Probe(kind=kind, why=f"The sandbox is {kind}.")
    assert list((tmp_path / "user").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="runs outside of a virtual environment")
@pytest.mark.parametrize("place", ["code/.venv", "link"])
def test_probe_works_where_the_environment_is_a_link_below_tmp(tmp_path: Path, place: str) -> None:
    """Of a folder that is shown, and of one that is not."""
    need(SandboxKind.BWRAP)
    code = tmp_path / "code"
    shutil.copytree(Path(__file__).parents[2] / "modules", code / "modules")
    (tmp_path / place).symlink_to(Path(sys.prefix).resolve())
    program = (
        "import pathlib as p, sys\n"
        "from modules.records.settings import Environment as E\n"
        "from modules.safety.sandbox import probe\n"
        "home = p.Path(sys.argv[1])\n"
        "print(probe(E(variables={'PATH': '/usr/bin:/bin'}, home=home, user_folder=home)).why)\n"
    )

    done = subprocess.run(
        [tmp_path / place / "bin/python", "-c", program, tmp_path],
        cwd=code,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("The sandbox is bwrap.\n", "")


def test_probe_of_a_switched_off_sandbox_says_who_switched_it_off(tmp_path: Path) -> None:
    found = probe(environment(tmp_path, is_off=True))

    assert found.kind is SandboxKind.OFF
    assert not found.is_jail
    assert "CREWYARD_SANDBOX=off" in found.why


@pytest.mark.slow
def test_probe_takes_the_kind_that_was_asked_for(tmp_path: Path) -> None:
    need(SandboxKind.LANDLOCK)

    found = probe(environment(tmp_path, CREWYARD_SANDBOX="landlock"))

    assert found.kind is SandboxKind.LANDLOCK


def test_probe_with_an_unknown_wish_finds_none(tmp_path: Path) -> None:
    found = probe(environment(tmp_path, CREWYARD_SANDBOX="of"))

    assert found == Probe(kind=SandboxKind.UNAVAILABLE, why="CREWYARD_SANDBOX=of.")


def test_kind_that_keeps_nothing_in_is_not_taken(tmp_path: Path) -> None:
    found = probe(environment(tmp_path), [SandboxKind.OFF])

    assert found.kind is SandboxKind.UNAVAILABLE
    assert "lets a command write outside" in found.why


@pytest.mark.slow
def test_next_kind_is_taken_and_the_reason_told(tmp_path: Path) -> None:
    need(SandboxKind.LANDLOCK)

    found = probe(environment(tmp_path), [SandboxKind.OFF, SandboxKind.LANDLOCK])

    assert found == Probe(
        kind=SandboxKind.LANDLOCK,
        why="off does not work: it lets a command write outside. The sandbox is landlock.",
    )


def test_command_without_a_sandbox_is_refused_to_the_person(ground: Ground) -> None:
    with pytest.raises(PersonFault, match="no sandbox") as caught:
        jailed_argv(["true"], ground.spec(), SandboxKind.UNAVAILABLE)

    assert "CREWYARD_SANDBOX=off" in caught.value.hint


def test_branch_without_a_folder_of_its_own_is_refused(ground: Ground) -> None:
    git = GitGround(common_dir=ground.git, admin_dir=ground.admin, branch_ref="refs/heads/main")
    spec = JailSpec(folder=ground.lane, temporary=ground.temporary, git=git)

    with pytest.raises(ValueError, match="no folder of its own"):
        jailed_argv(["true"], spec, SandboxKind.BWRAP)


# -- what works inside --


@pytest.mark.slow
@ANY_KIND
def test_lane_and_temporary_folder_can_be_written(ground: Ground, kind: SandboxKind) -> None:
    ran = ground.run(
        "echo a > new; mkdir -p d/e; mv new d/e/; ln d/e/new hard; rm hard; "
        "f=$(mktemp); echo t > $f; test -d $HOME && echo h > ~/x; pwd",
        kind,
    )

    assert (ran.code, ran.out, ran.error) == (0, f"{ground.lane}\n", "")
    assert (ground.lane / "d/e/new").read_text() == "a\n"
    assert (ground.temporary / "home/x").read_text() == "h\n"


@pytest.mark.slow
@ANY_KIND
def test_devices_terminals_and_semaphores_work(ground: Ground, kind: SandboxKind) -> None:
    program = (
        "import asyncio, multiprocessing, os, pty\n"
        "master, slave = pty.openpty()\n"
        "os.write(slave, b'x'); assert os.read(master, 1) == b'x'\n"
        "open('/dev/null', 'w').write('x'); open('/dev/urandom', 'rb').read(1)\n"
        "multiprocessing.Lock().acquire()\n"
        "async def main():\n"
        "    child = await asyncio.create_subprocess_exec('true')\n"
        "    return await child.wait()\n"
        "print(asyncio.run(main()))\n"
    )
    (ground.lane / "program.py").write_text(program)

    ran = ground.run(f"{sys.executable} program.py", kind)

    assert (ran.code, ran.out, ran.error) == (0, "0\n", "")


@pytest.mark.slow
@ANY_KIND
def test_program_of_ours_starts_in_a_jail_with_its_libraries(
    ground: Ground, kind: SandboxKind
) -> None:
    code = Path(__file__).parents[2]

    ran = ground.run(
        f"cd {code} && {sys.executable} -c 'import msgspec, modules.records.errors; print(1)'", kind
    )

    assert (ran.code, ran.out, ran.error) == (0, "1\n", "")


@pytest.mark.slow
@ANY_KIND
def test_shared_network_reaches_a_listener_outside(ground: Ground, kind: SandboxKind) -> None:
    need(kind)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(SECONDS)
        port = server.getsockname()[1]
        spec = JailSpec(folder=ground.lane, temporary=ground.temporary, hidden=(), network="shared")
        done = subprocess.run(
            jailed_argv(["/bin/bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], spec, kind),
            env=ground.environment(),
            timeout=SECONDS,
            check=False,
        )
        server.accept()[0].close()

    assert done.returncode == 0


@pytest.mark.slow
@ANY_KIND
@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 7", 7), ("kill -9 $$", 137), ("exec /nowhere", 127), ("true", 0)],
    ids=["exit", "signal", "missing", "success"],
)
def test_exit_code_comes_through(ground: Ground, kind: SandboxKind, script: str, code: int) -> None:
    assert ground.run(script, kind).code == code


@pytest.mark.slow
@ANY_KIND
def test_repository_below_tmp_works_too(tmp_path: Path, kind: SandboxKind) -> None:
    ground = make_ground(tmp_path / "ground", User(None), KINDS)

    ran = ground.run("echo b > b; git add b; git commit -qm b; echo x > $O/hit", kind)

    assert "b" in os.listdir(ground.lane)  # noqa: PTH208 - names alone
    assert (ground.git / "refs/heads/wt/one").read_text() != (
        ground.git / "refs/heads/main"
    ).read_text()
    assert ran.code == 1
    assert not (ground.outside / "hit").exists()


@pytest.mark.slow
@ANY_KIND
def test_links_in_the_paths_of_a_jail_are_followed(ground: Ground, kind: SandboxKind) -> None:
    need(kind)
    alias = ground.base / "alias"
    alias.symlink_to(ground.root)
    spec = JailSpec(
        folder=alias / ".worktrees" / "one",
        temporary=alias / ".team" / "tmp" / "one",
        hidden=(alias / ".team", ground.base / "no-such"),
    )
    prepare_jail(spec, kind, person=Nobody())

    done = subprocess.run(
        jailed_argv(["/bin/sh", "-c", "echo x > written"], spec, kind),
        env=ground.environment(),
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 0
    assert (ground.lane / "written").exists()


@pytest.mark.slow
@ANY_KIND
def test_readable_folder_is_seen_below_hidden_and_tmp_and_not_written(
    tmp_path: Path, kind: SandboxKind
) -> None:
    need(kind)
    hidden, shown, folder = tmp_path / "hidden", tmp_path / "hidden/shown", tmp_path / "folder"
    for made in (shown, folder):
        made.mkdir(parents=True)
    (hidden / "secret").write_text("secret")
    (shown / "file").write_text("shown")
    spec = JailSpec(folder=folder, temporary=tmp_path / "tmp", hidden=(hidden,), readable=(shown,))
    prepare_jail(spec, kind, person=Nobody())

    done = subprocess.run(
        jailed_argv(
            ["/bin/sh", "-c", f"cat {hidden}/secret {shown}/file; echo x > {shown}/new"], spec, kind
        ),
        env={"PATH": SYSTEM_PATH},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.stdout == "shown"
    assert [path.name for path in shown.iterdir()] == ["file"]


# -- nothing outlives its owner --

STAYING = "trap '' TERM HUP; (setsid sleep {0} &); sleep {0} & sleep {0} & echo ready; wait"
OWNER = (
    "import subprocess, sys\n"
    "jail = subprocess.Popen(sys.argv[1:])\n"
    "print(jail.pid, flush=True)\n"
    "jail.wait()\n"
)


def new_mark() -> str:
    """Returns an argument for `sleep` that no other process has."""
    return f"9{uuid.uuid4().int % 10**12:012d}"


def marked(mark: str) -> list[int]:
    """Returns the processes that have `mark` among their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
            continue  # no process, or one that has just ended
        if mark.encode() in arguments:
            found.append(int(folder.name))
    return found


def wait_for_ends(pids: list[int]) -> list[int]:
    """Waits until processes have ended; returns those that still live after a while."""
    alive = []
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if not select.select([descriptor], [], [], SECONDS)[0]:
            alive.append(pid)
        os.close(descriptor)
    return alive


class Stay:
    """A jailed command with children that ignore everything and have sessions of their own."""

    def __init__(self, ground: Ground, kind: SandboxKind | None) -> None:
        self.mark = new_mark()
        command = ["/bin/bash", "-c", STAYING.format(self.mark)]
        self.owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, *(ground.argv(command, kind) if kind else command)],
            env=ground.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        stdout = self.owner.stdout
        if stdout is None:
            raise AssertionError("no pipe")
        lines = {stdout.readline().strip(), stdout.readline().strip()}
        self.jail = int((lines - {"ready"}).pop())
        self.stdout = stdout
        self.sleepers = marked(self.mark)
        while len(self.sleepers) < 3:
            self.sleepers = marked(self.mark)

    def end(self) -> None:
        for pid in marked(self.mark):
            os.kill(pid, 9)
        self.owner.kill()
        self.owner.wait()
        self.stdout.close()


@pytest.fixture
def stay(ground: Ground, request: pytest.FixtureRequest) -> Iterator[Stay]:
    stay = Stay(ground, request.param)
    try:
        yield stay
    finally:
        stay.end()


ANY_STAY = pytest.mark.parametrize("stay", [*KINDS, SandboxKind.OFF], ids=str, indirect=True)


@pytest.mark.slow
@pytest.mark.parametrize("stay", [None], ids=["bare"], indirect=True)
def test_children_that_nobody_watches_outlive_a_killed_owner(stay: Stay) -> None:
    stay.owner.kill()
    stay.owner.wait()

    assert sorted(marked(stay.mark)) == sorted(stay.sleepers)


@pytest.mark.slow
@ANY_STAY
def test_killed_owner_takes_everything_in_the_jail_along(stay: Stay) -> None:
    stay.owner.kill()

    assert wait_for_ends(stay.sleepers) == []


@pytest.mark.slow
@ANY_STAY
@pytest.mark.parametrize("signal", [9, 15], ids=["KILL", "TERM"])
def test_signal_to_the_jail_ends_everything_in_it(stay: Stay, signal: int) -> None:
    os.kill(stay.jail, signal)

    assert wait_for_ends(stay.sleepers) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, SandboxKind.OFF], ids=str)
def test_command_that_ends_leaves_nothing_behind(ground: Ground, kind: SandboxKind) -> None:
    mark = new_mark()

    ran = ground.run(f"(setsid sleep {mark} &); sleep {mark} & echo done", kind)

    assert (ran.code, ran.out) == (0, "done\n")
    assert wait_for_ends(marked(mark)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SandboxKind.BWRAP], ids=str)
@pytest.mark.parametrize(
    "attack",
    [
        "echo bad > $L/cache/file",
        "echo bad > $L/cache/new",
        "rm -f $L/cache/file",
        "mv $L/cache $L/elsewhere",
        "ln $L/cache/file $L/second && echo bad > $L/second",
        "chmod 777 $L/cache/file; touch $L/cache/file",
        "mount -o remount,rw $L/cache; umount $L/cache; echo bad > $R/cache/file",
    ],
)
def test_shown_folder_is_read_in_its_place_and_can_not_be_written_through_it(
    ground: Ground, kind: SandboxKind, attack: str
) -> None:
    cache = ground.root / "cache"
    cache.mkdir()
    (cache / "file").write_text("as it was")
    (ground.lane / "cache").mkdir()
    mode = (cache / "file").stat().st_mode
    spec = replace(ground.spec(), shown=((cache, ground.lane / "cache"),))

    done = subprocess.run(
        jailed_argv(["/bin/bash", "-c", f"cat $L/cache/file; {attack}; true"], spec, kind),
        cwd=ground.lane,
        env=ground.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.stdout == b"as it was"
    assert [path.name for path in cache.iterdir()] == ["file"]
    assert (cache / "file").read_text() == "as it was"
    assert (cache / "file").stat().st_mode == mode


@pytest.mark.slow
def test_link_in_place_of_a_shown_folder_would_be_written_through_without_a_jail(
    ground: Ground,
) -> None:
    cache = ground.root / "cache"
    cache.mkdir()
    (cache / "file").write_text("as it was")
    (ground.lane / "cache").symlink_to(cache)

    ground.run("echo bad > $L/cache/file", SandboxKind.OFF)

    assert (cache / "file").read_text() == "bad\n"


@pytest.mark.slow
def test_what_is_hidden_in_a_shown_folder_is_hidden_in_its_other_place(ground: Ground) -> None:
    need(SandboxKind.BWRAP)
    cache, place = ground.root / "cache", ground.lane / "cache"
    (cache / "keys").mkdir(parents=True)
    place.mkdir()
    for name in ("plain", ".env", "keys/one"):
        (cache / name).write_text(name)
    spec = ground.spec()
    hidden = (*spec.hidden, cache / ".env", cache / "keys")
    spec = replace(spec, hidden=hidden, shown=((cache, place),))
    script = "cat $L/cache/plain $L/cache/.env $L/cache/keys/one; true"

    done = subprocess.run(
        jailed_argv(["/bin/bash", "-c", script], spec, SandboxKind.BWRAP),
        cwd=ground.lane,
        env=ground.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.stdout == b"plain"
