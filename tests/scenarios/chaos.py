"""A crew whose lead and workers are killed at random moments until its board is done.

A kill comes after a number of further records in the journals and a random pause, so it hits the
crew in the middle of something, however fast the machine is. Some come while a lead still starts.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from modules.store.paths import Paths
from modules.team.board_rules import UNDER_WAY
from modules.team.task_board import TaskBoard
from tests.scenarios.programs import (
    bash,
    calls,
    processes_in,
    submit,
    worker,
    write,
)

LOOK_SECONDS = 0.005
LONGEST_WAIT_SECONDS = 5.0
LONGEST_RUN_SECONDS = 100.0
MOST_KILLS_OF_A_TASK = 3
"""Kills of workers at one task; it rests twice as long after each."""
COMMIT = "git add -A && { git diff --cached --quiet || git commit -qm 'one step'; }"
"""Committing that a worker may do again after it was interrupted."""
TRIES = 8


def persistent(task: str, path: str, content: str, *, needs: str = "base.txt") -> dict[str, Any]:
    """Returns the script of a worker that goes on where an interruption broke it off.

    It commits only in a lane that holds `needs`, what the task it waited for has landed.
    """
    once = (
        calls(write(path, content), bash(f"test -f {needs} && {COMMIT}")),
        calls(submit(f"{path} is there")),
    )
    return worker(task, *once * TRIES)


@dataclass
class Chaos:
    """Runs `argv` in `repository` again and again, and kills who is at work there."""

    repository: Path
    argv: list[str]
    chance: random.Random
    most_kills: int
    most_records: int
    """Records that at most come in between two kills."""
    logs: Path
    killed_leads: int = 0
    left_tasks: int = 0
    """How many tasks were under way when a lead was killed, all kills together."""
    _kills_of: Counter[int] = field(default_factory=Counter)
    codes: list[int] = field(default_factory=list)
    """Exit codes of the leads that ended by themselves."""

    def run(self) -> None:
        """Starts leads until one ends by itself."""
        self.logs.mkdir()
        while not self.codes:
            with self._lead() as lead:
                while lead.poll() is None and self._kills < self.most_kills:
                    is_worker = self.chance.random() < 0.5
                    self._wait_for_a_moment(lead)
                    if is_worker:
                        self._kill_a_worker(lead)
                    elif lead.poll() is None:
                        self._kill_lead(lead)
                lead.wait(LONGEST_RUN_SECONDS)
                if lead.returncode != -signal.SIGKILL:
                    self.codes.append(lead.returncode)

    @property
    def killed_workers(self) -> int:
        """How many workers were killed."""
        return self._kills_of.total()

    @property
    def _kills(self) -> int:
        return self.killed_leads + self.killed_workers

    @contextlib.contextmanager
    def _lead(self) -> "Iterator[subprocess.Popen[bytes]]":
        with (self.logs / f"lead-{self.killed_leads}.log").open("wb") as log:
            lead = subprocess.Popen(
                self.argv,
                cwd=self.repository,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                yield lead
            finally:
                lead.kill()
                lead.wait()

    def _wait_for_a_moment(self, lead: "subprocess.Popen[bytes]") -> None:
        wanted = self._records() + self.chance.randint(0, self.most_records)
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while self._records() < wanted and time.monotonic() < until and lead.poll() is None:
            time.sleep(LOOK_SECONDS)
        time.sleep(self.chance.uniform(0, 0.2))

    def _records(self) -> int:
        paths = Paths(self.repository)
        journals = (paths.board, paths.queue)
        return sum(path.read_bytes().count(b"\n") for path in journals if path.exists())

    def _kill_lead(self, lead: "subprocess.Popen[bytes]") -> None:
        lead.kill()
        lead.wait()
        self.killed_leads += 1
        board = TaskBoard(Paths(self.repository), clock=lambda: datetime.now(UTC))
        self.left_tasks += sum(task.status in UNDER_WAY for task in board.tasks())

    def _kill_a_worker(self, lead: "subprocess.Popen[bytes]") -> None:
        place = self.chance.random()
        while lead.poll() is None:
            if workers := self._workers():
                pid, task = workers[int(place * len(workers))]
                with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
                    os.kill(pid, signal.SIGKILL)
                    self._kills_of[task] += 1
                return
            time.sleep(LOOK_SECONDS)

    def _workers(self) -> list[tuple[int, int]]:
        """Returns who may be killed, pid and task, by what the lead last wrote of its crew."""
        try:
            crew = json.loads(Paths(self.repository).crew.read_bytes())
        except FileNotFoundError:
            return []
        alive = processes_in(self.repository)
        return [
            (member["pid"], member["task"])
            for member in crew["workers"]
            if member["pid"] in alive and self._kills_of[member["task"]] < MOST_KILLS_OF_A_TASK
        ]
