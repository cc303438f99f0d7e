"""A merge queue on a real repository, with workers' branches to submit."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from modules.git.lane_state import Lane
from modules.git.lanes import make_lane
from modules.git.repository import Repository
from modules.records.merges import Entry, Strategy, Submission
from modules.team.merge_queue import MergeQueue
from modules.team.probe_pace import Limits
from tests.repos import NOW, Repo, make_repo

CHECK = "test ! -e broken"
"""Passes unless a file called `broken` is in the tree."""


@dataclass
class Ticking:
    """A clock that is a second later each time it is read."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass
class QueueCase:
    """What a test of the queue works with."""

    repo: Repo
    check: str = CHECK
    step: Callable[[str], None] = lambda name: None
    may_land: Callable[[Entry], str | None] = lambda entry: None
    timeout_seconds: float = 60.0
    cores: int = 2
    limits: Limits | None = None
    strategy: Strategy = Strategy.SQUASH
    logs: list[Path] = field(default_factory=list)
    """Logs of checks that were told of."""
    changed: list[tuple[int, str]] = field(default_factory=list)
    """The news of entries: id and status."""

    def __post_init__(self) -> None:
        self.repository: Repository = self.repo.open()
        self.clock = Ticking()
        self.queue = self.new_queue()
        self.queue.recover()

    def new_queue(self) -> MergeQueue:
        """Opens the queue as a new process does."""
        return MergeQueue(
            self.repository,
            check=self.check,
            check_timeout_seconds=self.timeout_seconds,
            cores=self.cores,
            strategy=self.strategy,
            limits=self.limits,
            clock=self.clock,
            environment={"PATH": os.environ["PATH"], "HOME": str(self.repo.home)},
            on_change=lambda entry: self.changed.append((entry.entry_id, str(entry.status))),
            on_log=self.logs.append,
            may_land=self.may_land,
            step=self.step,
        )

    def restart(self) -> None:
        """Goes on as a new process on the same repository."""
        self.queue = self.new_queue()
        self.queue.recover()

    def lane(self, task: int) -> Lane:
        """Makes a lane at what has landed."""
        return make_lane(self.repository, name=f"t{task}-1", base=self.queue.landed)

    def work(self, task: int, files: dict[str, str], *, lane: Lane | None = None) -> Submission:
        """Commits files in a lane and returns the submission of it."""
        lane = lane or self.lane(task)
        self.repo.commit(files, f"work of task {task}", at=lane.path)
        return self.submission(task, lane)

    def submission(self, task: int, lane: Lane, *, check: str = "") -> Submission:
        """Returns the submission of a lane as it stands."""
        return Submission(
            task=task,
            subject=f"task {task}",
            attempt=1,
            generation=1,
            worker=f"w{task}",
            branch=lane.branch,
            commit=self.repo.rev("HEAD", at=lane.path),
            base=lane.base,
            summary="",
            files=(),
            check=check,
        )

    def submit(self, task: int, files: dict[str, str]) -> Entry:
        """Works and submits."""
        return self.queue.submit(self.work(task, files))

    def land(self) -> Entry | None:
        """Takes one entry to its end; checks of others are stopped."""

        async def land() -> Entry | None:
            entry = await self.queue.land_next()
            await self.queue.stop()
            return entry

        return asyncio.run(land())

    def drain(self) -> list[str]:
        """Takes all entries to their ends; returns their statuses."""
        return [str(entry.status) for entry in self.drained()]

    def drained(self) -> list[Entry]:
        """Takes all entries to their ends; returns them in the order they came there."""

        async def drain() -> list[Entry]:
            entries = []
            while (entry := await self.queue.land_next()) is not None:
                entries.append(entry)
            return entries

        return asyncio.run(drain())

    def files(self, commit: str = "main") -> list[str]:
        """Returns the paths in a commit."""
        return self.repo.git("ls-tree", "-r", "--name-only", "-z", commit).rstrip("\0").split("\0")


def make_case(folder: Path, **facts: object) -> QueueCase:
    """Makes a repository with a queue on it."""
    return QueueCase(make_repo(folder), **facts)  # type: ignore[arg-type]  # facts are its fields
