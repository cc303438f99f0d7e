"""Workers and leads are killed at random until the board is done; nothing is lost or done twice."""

import contextlib
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.programs import (
    assert_nothing_left,
    command,
    crewyard,
    git,
    make_repository,
    make_script,
    writing,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(170)]

TASKS = 10
WORKERS = 3
KILLS = 6
WANTED = int(os.environ.get("CREWYARD_CHAOS_SEEDS", "0"))
SEEDS = range(max(WANTED, 1))
LONGEST_RUN_SECONDS = 60
PATIENCE_SECONDS = 1.2


@pytest.mark.skipif(not WANTED, reason="runs as often as CREWYARD_CHAOS_SEEDS says")
@pytest.mark.parametrize("seed", SEEDS)
def test_board_is_done_though_workers_and_leads_are_killed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    spec = make_script(
        tmp_path,
        [writing(f"write {n}", f"file{n}.txt", f"content {n}\n") for n in range(1, TASKS + 1)],
    )
    for number in range(1, TASKS + 1):
        after = ["--after", str(chance.randrange(1, number))] if number > 2 else []
        crewyard("task", "add", f"write {number}", *after, cwd=repository)
    run = command(
        *("work", "--workers", str(WORKERS), "--model", spec),
        *("--check", "test -f base.txt"),
    )

    for _ in range(KILLS):
        _run_until_killed(run, repository, chance)
    ended = crewyard(*run[2:], "--json", cwd=repository)

    tasks = crewyard("task", "list", "--json", cwd=repository).document
    _retry_what_failed(repository, tasks, run)
    tasks = crewyard("task", "list", "--json", cwd=repository).document
    subjects = git(repository, "log", "--format=%s", "main").splitlines()
    assert {task["status"] for task in tasks} == {"completed"}, ended.err
    assert sorted(subjects) == sorted([*(f"write {n}" for n in range(1, TASKS + 1)), "first"])
    for number in range(1, TASKS + 1):
        assert (repository / f"file{number}.txt").read_text() == f"content {number}\n"
    assert "error" not in git(repository, "fsck", "--no-progress")
    assert_nothing_left(repository)


def _run_until_killed(run: list[str], repository: Path, chance: random.Random) -> None:
    """Starts a lead and kills it, or its workers, after a random while."""
    lead = subprocess.Popen(
        run,
        cwd=repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        lead.wait(timeout=chance.uniform(0.3, PATIENCE_SECONDS))
    except subprocess.TimeoutExpired:
        if chance.random() < 0.5:
            _kill_a_worker(repository, chance)
            try:
                lead.wait(timeout=chance.uniform(0.1, PATIENCE_SECONDS))
            except subprocess.TimeoutExpired:
                lead.kill()
        else:
            lead.kill()
    lead.wait(timeout=LONGEST_RUN_SECONDS)


def _kill_a_worker(repository: Path, chance: random.Random) -> None:
    shown = crewyard("team", "--json", cwd=repository).document
    pids = [worker["pid"] for worker in shown["workers"] if worker["pid"]]
    if pids:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
            os.kill(chance.choice(pids), signal.SIGKILL)


def _retry_what_failed(repository: Path, tasks: list[dict[str, object]], run: list[str]) -> None:
    failed = [task for task in tasks if task["status"] == "failed"]
    for task in failed:
        crewyard("task", "retry", str(task["id"]), cwd=repository)
    if failed:
        crewyard(*run[2:], cwd=repository)
