"""Commands in the background, in the whole program: behind the gate, told of, and never left."""

import os
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest

from modules.records.tasks import TaskDraft
from tests.scenarios.programs import (
    PASSING,
    assert_nothing_left,
    bash,
    calls,
    crewyard,
    eventually,
    heard,
    make_repository,
    make_script,
    post,
    processes_in,
    skip_without,
    started,
    submit,
    worker,
)
from tests.tools.lanes import processes_named

pytestmark = pytest.mark.slow

GONE_SECONDS = 30.0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


@pytest.fixture
def mark() -> str:
    """Seconds to sleep that no other process sleeps."""
    return f"9{uuid.uuid4().int % 10**12:012d}"


def background(command: str) -> dict[str, Any]:
    return {"background_run": {"command": command}}


def check(name: str, **given: Any) -> dict[str, Any]:
    return {"check_background": {"task_id": name, **given}}


def test_worker_and_lead_are_told_once_and_leave_nothing(
    repository: Path, tmp_path: Path, mark: str
) -> None:
    ends = background("until [ -e go ]; do sleep 0.05; done; rm go; echo gone; exit 3")
    let_go = bash("touch go; while [ -e go ]; do sleep 0.05; done; sleep 1")
    spec = make_script(
        tmp_path,
        [
            {
                "agent": "lead",
                "turns": [
                    calls(
                        background(f"echo up; sleep {mark}"),
                        background("sleep 1.5; exit 3"),
                        {"board_post_task": {"subject": "serve"}},
                        bash("sleep 3"),
                    ),
                    calls(check("bg1"), expect="The background command bg2 ended"),
                    {"expect": "completed without changes", "say": "Served."},
                ],
            },
            worker(
                "serve",
                calls(background(f"echo up; sleep {mark}"), ends),
                calls(let_go, expect="up"),
                calls(check("bg2"), expect="The background command bg2 ended with exit code 3"),
                calls(submit(no_changes_reason="Only served."), expect="gone"),
            ),
        ],
    )

    ended = crewyard("-p", "serve", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    for session in ("lead-*", "t1-1-*"):
        assert heard(repository, session).count("The background command bg2 ended") == 1
    assert processes_named(mark) == []
    assert_nothing_left(repository)


@pytest.mark.parametrize("sandbox", ["bwrap", "landlock", "off"])
def test_killed_lead_takes_its_commands_and_its_workers_along(
    sandbox: str, repository: Path, tmp_path: Path, mark: str
) -> None:
    """Those in the background and the one that is waited for alike, with their children."""
    skip_without(sandbox)
    sleeps = f"sleep {mark} & sleep {mark}"
    held = calls(background(sleeps), bash(sleeps))
    spec = make_script(tmp_path, [{"agent": "lead", "turns": [held]}, worker("hold", held)])
    post(repository, TaskDraft(subject="hold"))
    arguments = ("-p", "hold", "--mode", "yolo", "--check", PASSING, "--model", spec)

    with started(*arguments, cwd=repository, environment={"CREWYARD_SANDBOX": sandbox}) as program:
        eventually(lambda: len(sleepers(mark)) == 8)
        os.kill(program.process.pid, signal.SIGKILL)
        program.process.wait()

        eventually(lambda: not processes_named(mark), within_seconds=GONE_SECONDS)
        eventually(lambda: not processes_in(repository), within_seconds=GONE_SECONDS)


@pytest.mark.parametrize("sandbox", ["bwrap", "off"])
def test_cancelled_task_ends_what_its_worker_has_in_the_background(
    sandbox: str, repository: Path, tmp_path: Path, mark: str
) -> None:
    skip_without(sandbox)
    spec = make_script(
        tmp_path,
        [worker("hold", calls(background(f"setsid sleep {mark} & wait"), bash("sleep 60")))],
    )
    post(repository, TaskDraft(subject="hold"))
    arguments = ("work", "--mode", "yolo", "--check", PASSING, "--model", spec)

    with started(*arguments, cwd=repository, environment={"CREWYARD_SANDBOX": sandbox}) as program:
        program.wait_for("bash sleep 60")
        assert sleepers(mark)
        assert crewyard("task", "cancel", "1", cwd=repository).code == 0
        eventually(lambda: not processes_named(mark), within_seconds=GONE_SECONDS)
        assert program.end() == 0, program.said

    assert_nothing_left(repository)


def sleepers(mark: str) -> list[int]:
    """Returns the sleeping processes themselves, shells and jails apart."""
    return processes_named(f"sleep\0{mark}")
