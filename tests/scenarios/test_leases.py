"""A worker that falls silent loses its task; what it brings afterwards counts for nothing."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.programs import (
    assert_nothing_left,
    command,
    crewyard,
    git,
    make_repository,
    make_script,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

PAUSE_OF_THE_FIRST = "case $(git branch --show-current) in wt/t1-1-*) sleep 4 ;; esac"


def test_stopped_worker_is_replaced_and_its_late_work_is_kept_apart(
    tmp_path: Path, own_environment: Path
) -> None:
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("lease_seconds = 2.0\n")
    write = {"write_file": {"path": "one.txt", "content": "one\n"}}
    spec = make_script(
        tmp_path,
        [
            {
                "agent": "*",
                "turns": [
                    {"call": [write, {"bash": {"command": "git add -A && git commit -qm one"}}]},
                    {"call": [{"bash": {"command": PAUSE_OF_THE_FIRST}}]},
                    {"call": [{"submit_work": {"summary": "one is there"}}]},
                ],
            }
        ],
    )
    crewyard("task", "add", "one", cwd=repository)
    stopped = 0
    with subprocess.Popen(
        command("work", "--workers", "2", "--model", spec, "--check", "test -f base.txt"),
        cwd=repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if not stopped and "sleep 4" in line:
                stopped = _pid_of_worker(repository)
                os.kill(stopped, signal.SIGSTOP)
            if stopped and "has landed" in line:
                os.kill(stopped, signal.SIGCONT)

    tasks = crewyard("task", "list", "--json", cwd=repository).document
    assert run.returncode == 0
    assert [(task["status"], task["attempt"]) for task in tasks] == [("completed", 2)]
    assert git(repository, "log", "--format=%s", "main").splitlines() == ["one", "first"]
    late = (repository / ".team" / "results" / "1-1.md").read_text()
    assert "stale" in late
    assert_nothing_left(repository)


def _pid_of_worker(repository: Path) -> int:
    # What `team` shows; asking that would take longer than the worker may be at its pause.
    crew: dict[str, Any] = json.loads((repository / ".team" / "crew.json").read_text())
    return int(crew["workers"][0]["pid"])
