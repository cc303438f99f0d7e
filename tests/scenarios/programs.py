"""Runs the whole program in processes of its own, on repositories made for one test."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from modules.git.repository import exclude_own_folders, open_repository
from modules.records.tasks import TaskDraft
from modules.safety.jail import SandboxKind
from modules.safety.sandbox import probe
from modules.store.config import read_environment
from modules.store.paths import Paths
from modules.team.task_board import TaskBoard

PROJECT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 100.0
ENDING_SECONDS = 40.0
PASSING = "true"
"""A check that lets anything land."""
FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Ended:
    """A program that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        assert self.out, self.err
        return json.loads(self.out)


def crewyard(
    *arguments: str,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> Ended:
    """Runs one command line to its end."""
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def command(*arguments: str) -> list[str]:
    """Returns the argv of the program."""
    return [sys.executable, str(PROJECT / "main.py"), *arguments]


class Program:
    """A program at work; what it says is read as it comes, stderr included."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.said = ""

    def wait_for(self, words: str) -> None:
        """Returns once the program has said `words`; fails when it ends without."""
        until = time.monotonic() + LIMIT_SECONDS
        while words not in self.said:
            piece = self._read(until)
            assert piece, f"{words!r} was never said:\n{self.said}"

    def end(self) -> int:
        """Reads to the end and returns the exit code."""
        until = time.monotonic() + LIMIT_SECONDS
        while self._read(until):
            pass
        return self.process.wait(LIMIT_SECONDS)

    def _read(self, until: float) -> bytes:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        is_ready = select.select([descriptor], [], [], until - time.monotonic())[0]
        assert is_ready, f"nothing more was said:\n{self.said}"
        piece = os.read(descriptor, 65_536)
        self.said += piece.decode(errors="replace")
        return piece


@contextlib.contextmanager
def started(
    *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Program]:
    """Starts one command line in a test's own repository and kills what is left at the end."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield Program(process)
    finally:
        for pid in {process.pid, *processes_in(cwd)}:
            with contextlib.suppress(ProcessLookupError):  # it has ended, as it should
                os.kill(pid, signal.SIGKILL)
        process.wait(ENDING_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


def git(folder: Path, *arguments: str) -> str:
    """Returns what git prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def make_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """Makes a repository with one commit of `files` on the branch main."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def make_script(folder: Path, entries: Sequence[Mapping[str, Any]]) -> str:
    """Writes a script of a model and returns its SPEC."""
    folder.mkdir(exist_ok=True)
    path = folder / "script.yaml"
    path.write_text(yaml.safe_dump(list(entries)))
    return f"scripted:{path}"


def worker(task: str, *turns: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the script of whoever works on `task`."""
    return {"agent": "*", "task": task, "turns": list(turns)}


def calls(*made: Mapping[str, Mapping[str, Any]], **rest: Any) -> dict[str, Any]:
    """Returns a turn that makes calls."""
    return {"call": list(made), **rest}


def write(path: str, content: str) -> dict[str, Any]:
    """Returns the call that writes a file."""
    return {"write_file": {"path": path, "content": content}}


def bash(line: str) -> dict[str, Any]:
    """Returns the call that runs a command line."""
    return {"bash": {"command": line}}


def commit(message: str) -> dict[str, Any]:
    """Returns the call that commits everything."""
    return bash(f"git add -A && git commit -qm '{message}'")


def submit(summary: str = "done", **more: str) -> dict[str, Any]:
    """Returns the call that hands in."""
    return {"submit_work": {"summary": summary, **more}}


def writing(task: str, path: str, content: str) -> dict[str, Any]:
    """Returns the script of a worker that writes and commits one file and hands it in."""
    return worker(
        task,
        calls(write(path, content), commit(f"add {path}"), say=f"Writing {path}."),
        calls(submit(f"{path} is there")),
    )


def post(repository: Path, *drafts: TaskDraft) -> None:
    """Posts tasks as another process would."""
    board = _board(repository)
    for draft in drafts:
        board.add(draft, by="person")


def tasks(repository: Path) -> list[dict[str, Any]]:
    """Returns the board as another shell is shown it."""
    listed: list[dict[str, Any]] = crewyard("task", "list", "--json", cwd=repository).document
    return listed


def journal(path: Path) -> list[dict[str, Any]]:
    """Returns the records of a journal, oldest first; fails where a line is none."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def heard(repository: Path, session: str) -> str:
    """Returns all that was told to the agents of the sessions that match `session`, in order."""
    texts = []
    for path in sorted(Paths(repository).sessions.glob(f"{session}.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["kind"] == "message" and record["message"]["role"] == "user":
                texts += [block["text"] for block in record["message"]["blocks"]]
    return "\n".join(texts)


def salvaged(repository: Path) -> dict[str, str]:
    """Returns the names of the files in every salvage ref, by ref."""
    refs = git(repository, "for-each-ref", "--format=%(refname)", "refs/crewyard/salvage")
    return {ref: git(repository, "ls-tree", "-r", "--name-only", ref) for ref in refs.split()}


def assert_proven(repository: Path, report: Mapping[str, Any], *, target: str = "main") -> None:
    """Fails unless the report's landings are on the target, once each, on the tree checked."""
    landed = report["landed"]
    first = git(repository, "rev-list", "--max-parents=0", target)
    assert git(repository, "rev-list", "--reverse", f"{first}..{target}").split() == landed
    proofs = {task["landed_as"]: task["receipt"] for task in report["tasks"] if task["verified"]}
    assert sorted(proofs) == sorted(landed)
    for commit_id, receipt in proofs.items():
        assert git(repository, "rev-parse", f"{commit_id}^{{tree}}") == receipt["tree"]
        assert (receipt["outcome"], receipt["exit_code"]) == ("passed", 0)


def assert_nothing_left(repository: Path) -> None:
    """Fails when a lane, a branch of one, a process or a dirty file is left."""
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "for-each-ref", "refs/heads/wt", "refs/heads/wt-lanes") == ""
    assert lanes_in(repository) == []
    assert processes_in(repository) == []


def lanes_in(repository: Path) -> list[Path]:
    """Returns the lanes on disk; the merge queue's own worktree is none."""
    found = Paths(repository).lanes.glob("*")
    return sorted(path for path in found if not path.name.startswith("check-"))


def processes_in(folder: Path) -> list[int]:
    """Returns the processes whose working folder lies in `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if entry.readlink().is_relative_to(folder):
                found.append(int(entry.parent.name))
        except OSError:
            continue  # it has ended, or is somebody else's
    return found


def skip_without(sandbox: str) -> None:
    """Skips the test where the machine does not have this sandbox; `off` is everywhere."""
    environment = read_environment({**os.environ, "CREWYARD_SANDBOX": sandbox})
    found = probe(environment)
    if found.kind is SandboxKind.UNAVAILABLE:
        pytest.skip(f"needs {sandbox}: {found.why}")


def eventually(look: Callable[[], FoundT], *, within_seconds: float = ENDING_SECONDS) -> FoundT:
    """Returns the first true thing `look` finds; fails when there is none in time."""
    until = time.monotonic() + within_seconds
    while not (found := look()):
        assert time.monotonic() < until, f"{look} never found anything"
        time.sleep(0.02)
    return found


def _board(folder: Path) -> TaskBoard:
    repository = open_repository(folder, variables=os.environ)
    exclude_own_folders(repository)
    return TaskBoard(repository.paths, clock=lambda: datetime.now(UTC))
