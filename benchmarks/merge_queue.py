"""Measures the merge queue: landings an hour, what a landing costs without its check, and lanes.

Run: python -m benchmarks.merge_queue [--sleep SECONDS] [--busy] [--entries N] [PART ...]
Parts: overhead, lanes, landings (all when none is named). Every figure is of one run on one
machine; compare columns, not machines.
"""

import argparse
import asyncio
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from modules.git.check_tree import point_check_tree
from modules.git.lanes import make_lane
from modules.git.repository import Repository, open_repository
from modules.git.run_git import TIMEOUT_SECONDS, Git, GitResult
from modules.git.spare_trees import (
    SETTLING_SECONDS,
    SpareTree,
    begin_spare,
    fill_spare,
    settle_spare,
)
from modules.records.merges import CheckOutcome, Entry, EntryStatus, Receipt, Strategy, Submission
from modules.team.lander import Lander
from modules.team.merge_queue import MergeQueue
from modules.team.probe_pace import Limits, limits_for
from modules.team.probes import Probes
from modules.team.proof import Job, Proof
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog

RATES = (0.0, 0.02, 0.1, 0.25)
SERIAL = Limits(lanes=1, chunk=1)
SIZES = (1_000, 50_000)
LANE_FILES = 10_000
ROUNDS = 5
LANDINGS = 20
FILE_BYTES = 2_500
CORES = os.cpu_count() or 1


def main() -> None:
    """Prints the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sleep", type=float, default=2.0, help="seconds a check sleeps")
    parser.add_argument("--busy", action="store_true", help="the check computes, it doesn't sleep")
    parser.add_argument("--entries", type=int, default=40, help="entries in the queue")
    parser.add_argument("--dir", type=Path, help="where repositories are made")
    parser.add_argument("parts", nargs="*", choices=[[], "overhead", "lanes", "landings"])
    asked = parser.parse_args()
    parts = asked.parts or ["overhead", "lanes", "landings"]
    with tempfile.TemporaryDirectory(dir=asked.dir) as name:
        if "overhead" in parts:
            _print_overhead(Path(name))
        if "lanes" in parts:
            _print_lanes(Path(name))
        if "landings" in parts:
            check = _busy(asked.sleep) if asked.busy else f"sleep {asked.sleep}"
            print(f"\nlandings an hour, the check: {check}; {asked.entries} entries, {CORES} cores")
            _print_landings(Path(name), check=check, entries=asked.entries)


def _print_overhead(folder: Path) -> None:
    print(f"one landing without its check, ms (min / median of {LANDINGS}); git calls")
    print("files     not checked out         checked out              git calls")
    for size in SIZES:
        cells = []
        for is_checked_out in (False, True):
            sample = _sample(folder / f"o{size}-{is_checked_out}", size, is_checked_out)
            times, calls = asyncio.run(_land_singly(sample))
            cells.append(f"{min(times) * 1e3:7.1f} /{statistics.median(times) * 1e3:6.1f}      ")
            cells.append(f"{calls:5.1f}")
            shutil.rmtree(sample.repository.root.parent)
        print(f"{size:6}  {cells[0]} {cells[2]} {cells[1]} / {cells[3]}")
    print(f"(starting git and doing nothing: {_least_git_ms():.1f} ms at best)")


@dataclass(frozen=True, slots=True)
class _CountedGit(Git):
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


@dataclass(frozen=True, slots=True)
class Sample:
    """A repository with branches that each add a file."""

    repository: Repository
    base: str
    commits: tuple[str, ...]


def _sample(folder: Path, files: int, is_checked_out: bool, names: tuple[str, ...] = ()) -> Sample:
    """Makes a repository of `files` files, and one branch on top of it for each of `names`."""
    folder.mkdir(parents=True)
    root = (folder / "repo").resolve()
    names = names or tuple(f"added/{n}.txt" for n in range(LANDINGS))
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    (folder / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    _git(folder, "init", "-q", "-b", "main", str(root), env=variables)
    stream = b"".join(_history(files, names))
    _git(root, "fast-import", "--quiet", env=variables, input=stream)
    if is_checked_out:
        _git(root, "reset", "-q", "--hard", "main", env=variables)
    else:
        _git(root, "checkout", "-q", "--orphan", "elsewhere", env=variables)
        _git(root, "commit", "-q", "--allow-empty", "-m", "elsewhere", env=variables)
    repository = open_repository(root, variables=variables, target="main")
    git = repository.git
    commits = tuple(git.text("rev-parse", f"refs/heads/wt/{n}") for n in range(len(names)))
    return Sample(repository, git.text("rev-parse", "refs/heads/main"), commits)


def _history(files: int, names: tuple[str, ...]) -> Iterator[bytes]:
    who = b"committer Ada <ada@example.org> 1700000000 +0000\ndata 1\nx\n"
    yield b"commit refs/heads/main\nmark :1\n" + who
    for number in range(files):
        text = f"{number}\n".encode() * (FILE_BYTES // len(f"{number}\n"))
        path = f"d{number // 1000}/e{number // 100 % 10}/f{number}.txt"
        yield f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n"
    for number, name in enumerate(names):
        yield f"commit refs/heads/wt/{number}\n".encode() + who + b"from :1\n"
        yield f"M 100644 inline {name}\ndata 2\nx\n\n".encode()


def _submission(sample: Sample, number: int) -> Submission:
    return Submission(
        task=number + 1,
        subject=f"task {number + 1}",
        attempt=1,
        generation=1,
        worker="w",
        branch=f"wt/{number}",
        commit=sample.commits[number],
        base=sample.base,
        summary="",
        files=(),
    )


class _Passing:
    """A check that passes before it begins."""

    async def prove(self, job: Job) -> Proof:
        """Passes."""
        receipt = Receipt(
            tree=job.tree,
            command=" && ".join(job.commands),
            outcome=CheckOutcome.PASSED,
            exit_code=0,
            seconds=0.0,
        )
        return Proof(receipt)


async def _land_singly(sample: Sample) -> tuple[list[float], float]:
    """Returns the seconds of each landing, and how many times git ran for one."""
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    git = sample.repository.git
    counted = _CountedGit(
        git.folder, git.variables, git.place, git.identity, git.overrides, before=count
    )
    repository = replace(sample.repository, git=counted)
    queue = _queue(repository, check="true", limits=SERIAL)
    log = QueueLog(repository.paths, clock=_now, on_change=lambda entry: None)
    lander = Lander(
        repository,
        log,
        Publisher(repository, log, step=lambda name: None),
        Probes(_Passing(), logs=repository.paths.checks, cores=1, limits=SERIAL),
        check="true",
        strategy=Strategy.SQUASH,
        may_land=lambda entry: None,
        step=lambda name: None,
    )
    queue.recover()
    times = []
    spent = 0
    for number in range(LANDINGS):
        queue.submit(_submission(sample, number))
        before, began = calls, time.perf_counter()
        entry = await lander.land_next()
        times.append(time.perf_counter() - began)
        spent += calls - before
        if entry is None or entry.status is not EntryStatus.MERGED:
            raise RuntimeError(f"{entry} did not land.")
    return times, spent / LANDINGS


def _print_lanes(folder: Path) -> None:
    print(f"\na lane ready on {LANE_FILES} files, ms (min / median)")
    names = tuple(f"added/{n}.txt" for n in range(10))
    sample = _sample(folder / "lanes", LANE_FILES, True, names)
    repository, root = sample.repository, sample.repository.root
    tips = iter(sample.commits * 2)
    spares = [_spare(repository, sample.base, str(number)) for number in range(ROUNDS)]

    def plain(number: int) -> None:
        _git(root, "worktree", "add", "-q", "--detach", str(folder / f"plain-{number}"))

    rows = (
        ("plain git worktree add", plain),
        ("worker's lane", lambda n: make_lane(repository, name=f"t{n}", base=sample.base)),
        (
            "worker's lane, spare",
            lambda n: make_lane(repository, name=f"s{n}", base=sample.base, spare=spares[n]),
        ),
        ("check tree, cold", lambda n: point_check_tree(repository, n + 1, sample.base)),
        ("check tree, warm", lambda n: point_check_tree(repository, 1, next(tips))),
    )
    times: dict[str, list[float]] = {label: [] for label, _ in rows}
    # A disk's speed varies within a minute, so all take turns.
    for number in range(ROUNDS):
        for label, act in rows:
            os.sync()  # What was written before must not be waited for here.
            began = time.perf_counter()
            act(number)
            times[label].append((time.perf_counter() - began) * 1e3)
    for label, found in times.items():
        print(f"{label:24}{min(found):9.0f} /{statistics.median(found):7.0f}")
    shutil.rmtree(folder / "lanes")


def _spare(repository: Repository, commit: str, name: str) -> SpareTree:
    spare, steps = begin_spare(repository, commit, name=name)
    for paths in steps:
        fill_spare(repository, spare, paths)
    time.sleep(SETTLING_SECONDS)
    settle_spare(spare)
    return spare


def _busy(seconds: float) -> str:
    """Returns a command that keeps one core busy for so long."""
    code = f"import time; [0 for _ in iter(lambda: time.process_time() < {seconds}, False)]"
    return f"{shlex.quote(sys.executable)} -S -c {shlex.quote(code)}"


def _print_landings(folder: Path, *, check: str, entries: int) -> None:
    print("red      one at a time     ours     times")
    for rate in RATES:
        serial = _landings_an_hour(folder, rate, check, entries, SERIAL)
        ours = _landings_an_hour(folder, rate, check, entries, limits_for(CORES))
        print(f"{rate:4.0%} {serial:16.0f} {ours:12.0f} {ours / serial:9.1f}")


def _landings_an_hour(folder: Path, rate: float, check: str, entries: int, limits: Limits) -> float:
    chance = random.Random(1)
    red = set(chance.sample(range(entries), round(rate * entries)))
    names = tuple(f"red/{n}" if n in red else f"good/{n}" for n in range(entries))
    sample = _sample(folder / "landings", 10, True, names)
    queue = _queue(sample.repository, check=f"{check}; test ! -e red", limits=limits)
    queue.recover()
    for number in range(entries):
        queue.submit(_submission(sample, number))
    began = time.perf_counter()
    ended = asyncio.run(_drain(queue))
    spent = time.perf_counter() - began
    landed = sum(entry.status is EntryStatus.MERGED for entry in ended)
    if (landed, len(ended)) != (entries - len(red), entries):
        raise RuntimeError(f"{landed} of {len(ended)} landed.")
    shutil.rmtree(folder / "landings")
    return landed / spent * 3600


async def _drain(queue: MergeQueue) -> list[Entry]:
    ended = []
    while (entry := await queue.land_next()) is not None:
        ended.append(entry)
    return ended


def _queue(repository: Repository, *, check: str, limits: Limits) -> MergeQueue:
    return MergeQueue(
        repository,
        check=check,
        check_timeout_seconds=600,
        clock=_now,
        environment={"PATH": os.environ["PATH"]},
        cores=CORES,
        limits=limits,
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _least_git_ms() -> float:
    times = []
    for _ in range(30):
        began = time.perf_counter()
        subprocess.run(["git", "version"], stdout=subprocess.DEVNULL, timeout=60, check=True)
        times.append((time.perf_counter() - began) * 1e3)
    return min(times)


def _git(folder: Path, *args: str, env: dict[str, str] | None = None, input: bytes = b"") -> None:
    subprocess.run(
        ["git", *args],
        cwd=folder,
        env=env,
        input=input,
        stdout=subprocess.DEVNULL,
        timeout=600,
        check=True,
    )


if __name__ == "__main__":
    main()
