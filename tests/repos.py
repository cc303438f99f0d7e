"""Real git repositories for tests, apart from the machine's own configuration."""

import os
import select
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from modules.git.repository import Repository, open_repository

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@dataclass(frozen=True)
class Repo:
    """A checkout in a test, and plain git to act as its person or a worker in it."""

    root: Path
    home: Path

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the process under test."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home)}

    def git(self, *args: str, at: Path | None = None, accept: tuple[int, ...] = (0,)) -> str:
        """Runs plain git as a person would; returns its output without the last line break."""
        result = subprocess.run(
            ["git", *args],
            cwd=at or self.root,
            env={**self.variables, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        if result.returncode not in accept:
            raise AssertionError(f"git {args}: {result.stdout!r} {result.stderr!r}")
        return result.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def commit(self, files: dict[str, str], message: str, *, at: Path | None = None) -> str:
        """Writes files, commits everything, returns the commit."""
        for name, text in files.items():
            path = (at or self.root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A", at=at)
        self.git("commit", "-q", "--allow-empty", "-m", message, at=at)
        return self.rev("HEAD", at=at)

    def rev(self, name: str, *, at: Path | None = None) -> str:
        """Returns the object id of `name`; empty when there is none."""
        return self.git("rev-parse", "--verify", "-q", name, at=at, accept=(0, 1))

    def open(self, *, target: str = "") -> Repository:
        """Opens it as the program does."""
        return open_repository(self.root, variables=self.variables, target=target)


def ends(pid: int) -> bool:
    """Waits for a process to end; False when it still lives after ten seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


def make_repo(folder: Path, *, files: dict[str, str] | None = None) -> Repo:
    """Makes a repository with one commit on `main`."""
    repo = make_empty_repo(folder)
    repo.commit(files or {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"}, "first commit")
    return repo


def make_empty_repo(folder: Path) -> Repo:
    """Makes a repository without a commit, and a home with an identity."""
    home = folder / "home"
    home.mkdir(parents=True)
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    root = (folder / "repo").resolve()
    root.mkdir()
    repo = Repo(root, home)
    repo.git("init", "-q", "-b", "main")
    return repo
