"""Looks at what the demo left: in git, among the processes, and at the sample's own tests.

What landed is read with GitPython, from the objects themselves: another hand than the one that made
them.
"""

import contextlib
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modules.git.lanes import list_lanes
from modules.git.repository import open_repository

_TEST_SECONDS = 60


def look(sample: Path, report: dict[str, Any], *, check: str) -> dict[str, str]:
    """Returns what is not as it should be, by what was looked at; empty words: nothing is."""
    repository = open_repository(sample, variables=os.environ)
    git = repository.git
    return {
        "git status": git.text("status", "--porcelain"),
        "worktrees": ", ".join(lane.name for lane in list_lanes(repository)),
        "branches": git.text("for-each-ref", "--format=%(refname:short)", "refs/heads/wt"),
        "landings": " ".join(_unproven(sample, report)),
        "processes": ", ".join(map(str, _processes_in(sample))),
        "the sample's own tests": _failing_tests(sample, check),
    }


def _unproven(sample: Path, report: dict[str, Any]) -> Iterator[str]:
    """Yields what is wrong with a landing: not on main, or not the tree that was checked."""
    from git import Repo

    with Repo(sample) as repo:
        trees = {commit.hexsha: commit.tree.hexsha for commit in repo.iter_commits("main")}
    for task in report["tasks"]:
        landed, receipt = task["landed_as"], task["receipt"] or {}
        if landed not in trees:
            yield f"What task {task['id']} landed ({landed[:12]}) is not on main."
        elif trees[landed] != receipt.get("tree"):
            yield f"The receipt of task {task['id']} is of another tree than {landed[:12]}."


def _failing_tests(sample: Path, check: str) -> str:
    run = subprocess.run(
        shlex.split(check),
        cwd=sample,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TEST_SECONDS,
        check=False,
        start_new_session=True,
    )
    return "" if run.returncode == 0 else run.stderr[-500:]


def _processes_in(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):  # the process has gone, or belongs to somebody else
            if entry.readlink().is_relative_to(folder):
                found.append(int(entry.parent.name))
    return found
