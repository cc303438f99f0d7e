"""Runs git; the only caller of it, hardened so that no repository can make it run something else.

1. The environment is a short list of names: whatever `GIT_*` the caller inherited is dropped, so
   git works on the folder it is given and nowhere else. Kept are the names that say which
   configuration is the person's own.
2. Hooks, fsmonitor, external diffs, pagers, editors, background gc and ssh are off. Filter and
   merge drivers that the repository's own configuration defines are off as well (`overrides`).
3. Once a repository is known (`Place`) git is told its folders; no `.git` file that somebody could
   have rewritten is followed.
4. An identity is always passed, so a commit never depends on the machine's guess.
5. Each run has its own process group and a time limit; past it the whole group is killed. What a
   terminal sends to our group doesn't reach it, not even before it has its own.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modules.records.errors import CrewyardError, PersonFault

TIMEOUT_SECONDS = 60.0
_STDERR_LIMIT = 2_000
_PASSED_ON = (
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
)
_FIXED = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_MERGE_AUTOEDIT": "no",
}
_HARDENING = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
    ("core.sshCommand", "false"),
    ("core.quotePath", "false"),
    ("core.safecrlf", "false"),
    ("core.filesRefLockTimeout", "5000"),
    ("core.packedRefsTimeout", "5000"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("i18n.commitEncoding", "utf-8"),
    ("i18n.logOutputEncoding", "utf-8"),
    ("log.showSignature", "false"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
)
_FROM_TERMINALS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGHUP})
_CAN_WATCH = hasattr(os, "pidfd_open")
_NO_INDEX = "no-index"
"""Name of a file that is never there, nor can workers put one where it is looked for."""
_SHOW_DIFFS = frozenset({"diff", "diff-files", "diff-index", "diff-tree", "log", "show"})


class GitFault(CrewyardError):
    """git refused or failed; `stderr` holds its own words."""

    def __init__(self, argv: Sequence[str], *, code: int | None, stderr: str) -> None:
        words = stderr.strip() or f"exit code {code}"
        super().__init__(f"git {' '.join(argv)}: {words}")
        self.argv = tuple(argv)
        self.code = code
        self.stderr = stderr


class GitTimedOut(GitFault):
    """git took longer than it was given and was killed."""

    def __init__(self, argv: Sequence[str], *, seconds: float) -> None:
        super().__init__(argv, code=None, stderr=f"killed after {seconds:.0f} s")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a commit is by."""

    name: str
    email: str


FALLBACK_IDENTITY = Identity("Crewyard", "crewyard@localhost")


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of a known repository or worktree."""

    git_dir: Path
    common_dir: Path
    work_tree: Path


@dataclass(frozen=True, slots=True)
class GitResult:
    """What one run gave."""

    stdout: bytes
    stderr: str
    code: int

    @property
    def text(self) -> str:
        """The output without the line breaks at its end; bytes that aren't UTF-8 survive."""
        return decoded(self.stdout).rstrip("\n")

    @property
    def fields(self) -> list[str]:
        """The output's NUL-terminated fields."""
        return [decoded(field) for field in self.stdout.split(b"\0")[:-1]]


def decoded(data: bytes) -> str:
    """Returns `data` as text that `os.fsencode` turns back into the same bytes."""
    return data.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Git:
    """git, bound to one folder."""

    folder: Path
    variables: Mapping[str, str]
    """The process's environment; only a short list of names is passed on."""
    place: Place | None = None
    """None while the repository is still to be found."""
    identity: Identity = FALLBACK_IDENTITY
    overrides: tuple[tuple[str, str], ...] = ()
    """Configuration on top of the hardening."""

    def at(self, place: Place) -> "Git":
        """Returns the same git, working in `place`."""
        return replace(self, folder=place.work_tree, place=place)

    def configured(self, *overrides: tuple[str, str]) -> "Git":
        """Returns the same git with more configuration."""
        return replace(self, overrides=(*self.overrides, *overrides))

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        accept: Sequence[int] = (0,),
    ) -> GitResult:
        """Runs `git args…` and waits for it.

        Raises GitFault when the exit code is none of `accept`, GitTimedOut past the time limit.
        """
        environment = {**self._environment(), **(env or {})}
        if args[0] == "diff-tree" and self.place is not None:
            # It compares trees, and reads all of the index first, for nothing.
            environment["GIT_INDEX_FILE"] = str(self.place.common_dir / _NO_INDEX)
        process = self._start(args, environment, input is not None)
        try:
            stdout, stderr = process.communicate(input, timeout=timeout_seconds)
        except subprocess.TimeoutExpired as error:
            raise GitTimedOut(args, seconds=timeout_seconds) from error
        finally:
            _end_group(process)
        words = decoded(stderr)[-_STDERR_LIMIT:]
        if process.returncode not in accept:
            raise GitFault(args, code=process.returncode, stderr=words)
        return GitResult(stdout, words, process.returncode)

    def text(self, *args: str) -> str:
        """Returns the output of `git args…` as text."""
        return self.run(*args).text

    def fields(self, *args: str) -> list[str]:
        """Returns the NUL-terminated fields that `git args…` prints."""
        return self.run(*args).fields

    def succeeds(self, *args: str) -> bool:
        """Returns the answer of a git command that says no by exit code 1."""
        return self.run(*args, accept=(0, 1)).code == 0

    def _start(
        self, args: Sequence[str], environment: Mapping[str, str], has_input: bool
    ) -> "subprocess.Popen[bytes]":
        if not self.folder.is_dir():
            raise GitFault(args, code=None, stderr=f"The folder {str(self.folder)!r} is gone.")
        flags = ("--no-ext-diff", "--no-textconv") if args[0] in _SHOW_DIFFS else ()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _FROM_TERMINALS)
        try:
            return _Process(
                ["git", args[0], *flags, *args[1:]],
                cwd=self.folder,
                env=dict(environment),
                stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise PersonFault(
                "The program 'git' is not found.", hint="Install git 2.39 or newer."
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _environment(self) -> dict[str, str]:
        passed_on = {name: self.variables[name] for name in _PASSED_ON if name in self.variables}
        settings = (*_HARDENING, *self.overrides)
        environment = {**passed_on, **_FIXED, "GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings):
            environment[f"GIT_CONFIG_KEY_{number}"] = key
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
        for role in ("AUTHOR", "COMMITTER"):
            environment[f"GIT_{role}_NAME"] = self.identity.name
            environment[f"GIT_{role}_EMAIL"] = self.identity.email
        if self.place is not None:
            environment["GIT_DIR"] = str(self.place.git_dir)
            environment["GIT_COMMON_DIR"] = str(self.place.common_dir)
            environment["GIT_WORK_TREE"] = str(self.place.work_tree)
        return environment


class _Process(subprocess.Popen[bytes]):
    """A process whose end is noticed at once: `Popen` sleeps between looks when given a limit."""

    def wait(self, timeout: float | None = None) -> int:
        """Waits as `Popen` does."""
        if timeout is None or self.returncode is not None or not _CAN_WATCH:
            return super().wait(timeout)
        until = time.monotonic() + timeout
        # It ended and was reaped, or the kernel has no such call: then the looks have to do.
        with contextlib.suppress(OSError):
            _watch(self.pid, timeout)
        return super().wait(max(until - time.monotonic(), 0.0))


def _watch(pid: int, seconds: float) -> None:
    """Returns when the process ended or the time is over."""
    descriptor = os.pidfd_open(pid)
    try:
        watched = select.poll()
        watched.register(descriptor, select.POLLIN)
        watched.poll(max(seconds, 0.0) * 1_000)
    finally:
        os.close(descriptor)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
