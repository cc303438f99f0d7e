"""A jail whose starter is killed while it starts: nothing of it is left, at whatever moment."""

import contextlib
import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from modules.git.run_git import FALLBACK_IDENTITY
from modules.safety.jail import JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import jailed_argv
from tests.processes import run_python, start_python
from tests.safety.jail_ground import SYSTEM_PATH, need
from tests.safety.test_sandbox import marked, new_mark, wait_for_ends

pytestmark = pytest.mark.slow

KILLS = 25
LONGEST_START_SECONDS = {
    SandboxKind.BWRAP: 0.012,
    SandboxKind.LANDLOCK: 0.04,
    SandboxKind.OFF: 0.03,
}
ANY_KIND = pytest.mark.parametrize("kind", list(LONGEST_START_SECONDS), ids=str)
COMMAND = ["/bin/bash", "-c", ": > begun; sleep 60 & wait", "mark"]
COMPOSE = """
    import json, sys
    from pathlib import Path
    from modules.safety.jail import JailSpec, SandboxKind
    from modules.safety.sandbox import jailed_argv

    folder = Path(sys.argv[1])
    spec = JailSpec(folder=folder / "work", temporary=folder / "tmp", network="shared")

    def compose(command):
        return jailed_argv(command, spec, SandboxKind(sys.argv[2]))
"""
STARTER = (
    COMPOSE
    + """
    import os, subprocess

    given = json.loads(sys.argv[3])
    for line in sys.stdin:  # each is the mark of a jail for a process of its own to start
        started, telling = os.pipe()
        if (starter := os.fork()) == 0:
            argv = given or compose(json.loads(sys.argv[4]))
            os.write(telling, b"x")
            jail = subprocess.Popen(
                [*argv, line.strip()],
                cwd=spec.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            jail.wait()
            os._exit(0)
        os.read(started, 1)
        print(starter, flush=True)
        os.waitpid(starter, 0)
        print("gone", flush=True)
        os.close(started), os.close(telling)
"""
)


def make_spec(folder: Path, kind: SandboxKind) -> JailSpec:
    need(kind)
    spec = JailSpec(folder=folder / "work", temporary=folder / "tmp", network="shared")
    for place in (spec.folder, spec.temporary):
        place.mkdir()
    prepare_jail(spec, kind, person=FALLBACK_IDENTITY)
    return spec


def run(argv: list[str], folder: Path) -> int:
    done = subprocess.run(
        argv,
        cwd=folder,
        env={"PATH": SYSTEM_PATH},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return done.returncode


@ANY_KIND
def test_jail_of_a_starter_that_is_gone_runs_nothing(tmp_path: Path, kind: SandboxKind) -> None:
    spec = make_spec(tmp_path, kind)
    command = ["/usr/bin/touch", "begun"]
    compose = COMPOSE + "\n    print(json.dumps(compose(sys.argv[3:])))\n"
    of_the_dead = json.loads(run_python(compose, tmp_path, kind, *command))
    begun = spec.folder / "begun"

    assert run(of_the_dead, spec.folder) != 0
    assert not begun.exists()
    assert run(jailed_argv(command, spec, kind), spec.folder) == 0
    assert begun.exists()


@ANY_KIND
def test_starter_killed_at_any_moment_of_the_start_leaves_nothing(
    tmp_path: Path, kind: SandboxKind
) -> None:
    """With this test's own process for a starter, which lives, the same kills leave jails."""
    spec = make_spec(tmp_path, kind)
    unguarded = jailed_argv(COMMAND, spec, kind)

    left = started_and_killed(spec, kind, unguarded)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):  # it ended with the one before
            os.kill(pid, 9)
    assert left != []

    assert wait_for_ends(started_and_killed(spec, kind, [])) == []


def started_and_killed(spec: JailSpec, kind: SandboxKind, argv: list[str]) -> list[int]:
    """Starts jails, kills each starter in the midst of it, and returns what is there after that.

    An empty `argv` has each starter make its own.
    """
    chance = random.Random(1)
    mark = new_mark()
    folder = spec.folder.parent
    with start_python(STARTER, folder, kind, json.dumps(argv), json.dumps(COMMAND)) as starting:
        assert starting.stdin is not None
        assert starting.stdout is not None
        for _ in range(KILLS):
            starting.stdin.write(f"{mark}\n")
            starting.stdin.flush()
            starter = int(starting.stdout.readline())
            until = time.perf_counter() + chance.uniform(0, LONGEST_START_SECONDS[kind])
            while time.perf_counter() < until:
                pass
            os.kill(starter, 9)
            assert starting.stdout.readline() == "gone\n"
    # As long as a whole start takes, so that the last one too has come to what it comes to.
    assert run(jailed_argv(["/bin/true"], spec, kind), spec.folder) == 0
    return marked(mark)
