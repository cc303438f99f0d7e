"""A landing killed before any of its steps is made good: each change lands exactly once."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from modules.records.merges import EntryStatus
from tests.repos import Repo, make_repo
from tests.team.queue_case import QueueCase

_STEPS = (
    "intend to land",
    "land",
    "record the landing",
    "publish the landing",
    "intend to publish",
    "publish",
    "record publishing",
    "end",
)


def land_until(root: Path, home: Path, count: int) -> None:
    """Lands everything; kills this process before the step with the number `count`."""
    reached = 0

    def step(name: str) -> None:
        nonlocal reached
        reached += 1
        if reached == count:
            os.kill(os.getpid(), signal.SIGKILL)

    QueueCase(Repo(root, home), step=step).drain()


@pytest.mark.slow
@pytest.mark.parametrize("count", range(1, 2 * len(_STEPS) + 1))
def test_recover_when_killed_before_any_step_then_the_outcome_is_the_same(
    tmp_path: Path, count: int
) -> None:
    made = QueueCase(make_repo(tmp_path / "made", files={"a.txt": "a\n", "mine.txt": "m\n"}))
    made.submit(1, {"x.txt": "x\n", "a.txt": "landed\n"})
    made.submit(2, {"y.txt": "y\n"})
    shutil.copytree(made.repo.root, tmp_path / "killed" / "repo", symlinks=True)
    made.drain()
    repo = Repo((tmp_path / "killed" / "repo").resolve(), made.repo.home)
    (repo.root / "mine.txt").write_bytes(b"my own\r\nbytes")
    (repo.root / "untracked.txt").write_text("untracked\n")

    script = (
        "from pathlib import Path; from tests.team.test_queue_crash import land_until; "
        f"land_until(Path({str(repo.root)!r}), Path({str(repo.home)!r}), {count})"
    )
    killed = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    case = QueueCase(repo)
    case.drain()

    assert killed.returncode == -signal.SIGKILL
    assert case.queue.landed == made.queue.landed == repo.rev("main")
    assert [e.status for e in case.queue.entries()] == [EntryStatus.MERGED] * 2
    assert repo.git("log", "--format=%s", "main").split("\n") == [
        "task 2",
        "task 1",
        "first commit",
    ]
    assert repo.git("status", "--porcelain") == " M mine.txt\n?? untracked.txt"
    assert (repo.root / "mine.txt").read_bytes() == b"my own\r\nbytes"
    assert repo.git("fsck", "--no-dangling") == ""


def test_steps_of_a_landing_are_those_that_are_killed_at(tmp_path: Path) -> None:
    reached: list[str] = []
    case = QueueCase(make_repo(tmp_path), step=reached.append)
    case.submit(1, {"x.txt": "x\n"})

    case.drain()

    assert tuple(reached) == _STEPS
