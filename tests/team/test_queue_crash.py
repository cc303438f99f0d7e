"""A queue that is killed at any step or moment is made good: each change lands exactly once."""

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from modules.git.run_git import TIMEOUT_SECONDS, Git, GitResult
from modules.records.merges import EntryStatus
from tests.repos import Repo, ends, make_repo
from tests.team.queue_case import QueueCase

_STEPS = (
    "begin checks",
    "intend to land",
    "land",
    "record the landing",
    "intend to publish",
    "publish",
    "record publishing",
)
_IS_LONG = "QUEUE_KILLS" in os.environ
"""Set it to kill at every step and in 50 runs; the default is a sample."""
_MOST_STEPS = 90
_ENTRIES = 20
_RED = frozenset({5, 12, 13})


@dataclass(frozen=True, slots=True)
class CountedGit(Git):
    """git that tells before each run."""

    before: Callable[[], None] = field(default=lambda: None)

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        accept: Sequence[int] = (0,),
    ) -> GitResult:
        self.before()
        return Git.run(
            self, *args, input=input, env=env, timeout_seconds=timeout_seconds, accept=accept
        )


def work(root: Path, home: Path, before: Callable[[], None]) -> None:
    """Takes all entries to their ends; tells before each run of git and each journal record."""
    case = QueueCase(Repo(root, home))
    git = case.repository.git
    counted = CountedGit(
        git.folder, git.variables, git.place, git.identity, git.overrides, before=before
    )
    case.repository = replace(case.repository, git=counted)
    clock = case.clock

    def counted_clock() -> object:
        before()
        return clock()

    case.clock = counted_clock  # type: ignore[assignment]  # it ticks the same
    case.restart()
    case.drain()


def work_until(root: Path, home: Path, count: int) -> None:
    """Works, and kills this process before the step with the number `count`."""
    steps = itertools.count(1)  # two threads may be at it

    def before() -> None:
        if next(steps) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    work(root, home, before)


def prepared(folder: Path, entries: int, red: frozenset[int]) -> QueueCase:
    """Makes a queue of entries that were submitted and not taken up."""
    case = QueueCase(make_repo(folder, files={"a.txt": "a\n", "mine.txt": "m\n"}))
    for number in range(1, entries + 1):
        files = {f"{number}.txt": f"{number}\n"}
        if number == 1:
            files["a.txt"] = "landed\n"
        if number in red:
            files[f"broken/{number}"] = "x\n"
        case.submit(number, files)
    return case


def copied(case: QueueCase, folder: Path) -> Repo:
    """Copies a repository with its queue, and puts the person's own work into it."""
    shutil.copytree(case.repo.root, folder / "repo", symlinks=True)
    repo = Repo((folder / "repo").resolve(), case.repo.home)
    (repo.root / "mine.txt").write_bytes(b"my own\r\nbytes")
    (repo.root / "untracked.txt").write_text("untracked\n")
    return repo


def started(call: str, repo: Repo) -> "subprocess.Popen[bytes]":
    """Starts a process that calls a function of this file on the repository."""
    script = (
        "from pathlib import Path; from tests.team.test_queue_crash import work, work_until; "
        f"root, home = Path({str(repo.root)!r}), Path({str(repo.home)!r}); {call}"
    )
    return subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL)


def assert_made_good(repo: Repo, red: frozenset[int], entries: int, *, tree: str) -> None:
    """Goes on where the killed run ended, and fails unless all is as if nothing had happened."""
    case = QueueCase(repo)
    case.drain()
    if "at work" in case.queue.hold_reason:
        end_orphans(repo.root)
        case.restart()
    numbers = range(1, entries + 1)
    good = [f"task {number}" for number in numbers if number not in red]
    statuses = [EntryStatus.FAILED if number in red else EntryStatus.MERGED for number in numbers]

    assert [entry.status for entry in case.queue.entries()] == statuses
    assert case.queue.hold_reason == ""
    assert repo.rev("main") == case.queue.landed
    assert repo.rev("main^{tree}") == tree
    assert sorted(repo.git("log", "--format=%s", "main").split("\n")) == sorted(
        ["first commit", *good]
    )
    assert repo.git("status", "--porcelain") == " M mine.txt\n?? untracked.txt"
    assert (repo.root / "mine.txt").read_bytes() == b"my own\r\nbytes"
    assert repo.git("fsck", "--no-dangling") == ""


def end_orphans(root: Path) -> None:
    """Waits for what a killed run's git still does in the person's checkout."""
    wanted = f"GIT_DIR={root}/".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It ended, or is somebody else's.
            if wanted in (process / "environ").read_bytes():
                assert ends(int(process.name))


@pytest.mark.slow
@pytest.mark.parametrize("count", range(1, _MOST_STEPS, 1 if _IS_LONG else 8))
def test_recover_when_killed_before_any_step_then_the_outcome_is_the_same(
    tmp_path: Path, count: int
) -> None:
    red = frozenset({2})
    made = prepared(tmp_path / "made", 3, red)
    repo = copied(made, tmp_path / "killed")
    made.drain()

    killed = started(f"work_until(root, home, {count})", repo).wait(timeout=60)

    assert killed in (-signal.SIGKILL, 0)
    assert_made_good(repo, red, 3, tree=made.repo.rev("main^{tree}"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50 if _IS_LONG else 2))
def test_recover_when_killed_at_random_moments_then_the_outcome_is_the_same(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    made = prepared(tmp_path / "made", _ENTRIES, _RED)
    repo = copied(made, tmp_path / "killed")
    made.drain()

    for _ in range(3):
        process = started("work(root, home, lambda: None)", repo)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=chance.uniform(0.3, 4.0))
        process.kill()
        process.wait(timeout=60)

    assert_made_good(repo, _RED, _ENTRIES, tree=made.repo.rev("main^{tree}"))


def test_steps_of_a_landing_are_those_that_are_told(tmp_path: Path) -> None:
    reached: list[str] = []
    case = QueueCase(make_repo(tmp_path), step=reached.append)
    case.submit(1, {"x.txt": "x\n"})

    case.drain()

    assert tuple(reached) == _STEPS


def test_steps_that_are_killed_at_are_all_there_are(tmp_path: Path) -> None:
    reached: list[str] = []
    made = prepared(tmp_path, 3, frozenset({2}))

    work(made.repo.root, made.repo.home, lambda: reached.append(""))

    assert _MOST_STEPS - 30 < len(reached) <= _MOST_STEPS
