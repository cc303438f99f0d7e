"""A repository with two lanes, an outside and a secret, and ways to run a script in it jailed."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from modules.git.lane_objects import take_in
from modules.records.settings import Environment
from modules.safety import landlock
from modules.safety.child_environment import child_environment
from modules.safety.jail import GitGround, JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import jailed_argv, probe

ORDINARY_UID = 65534
SECRET = "the-secret-of-the-ground"
SECONDS = 30
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Nobody:
    name: str = "A Worker"
    email: str = "worker@example.com"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a script ended."""

    code: int
    out: str
    error: str


@dataclass(frozen=True, slots=True)
class User:
    """Whom the scripts run as; None: whoever runs the tests."""

    uid: int | None

    @property
    def popen_arguments(self) -> dict[str, object]:
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders of one ground."""

    base: Path
    user: User
    names: Mapping[str, str] = field(default_factory=dict)
    """What scripts may use as variables, beside the folders."""

    @property
    def root(self) -> Path:
        return self.base / "repository"

    @property
    def git(self) -> Path:
        return self.root / ".git"

    @property
    def lane(self) -> Path:
        return self.root / ".worktrees" / "one"

    @property
    def other_lane(self) -> Path:
        return self.root / ".worktrees" / "two"

    @property
    def admin(self) -> Path:
        return self.git / "worktrees" / "one"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def secret(self) -> Path:
        return self.base / "secret"

    @property
    def temporary(self) -> Path:
        return self.root / ".team" / "tmp" / "one"

    def loose(self, name: str) -> Path:
        """Returns the file git keeps the content of one of the person's new files in."""
        content = (self.root / name).read_bytes()
        digest = hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()
        return self.git / "objects" / digest[:2] / digest[2:]

    def variables(self) -> dict[str, str]:
        return {
            "L": str(self.lane),
            "R": str(self.root),
            "G": str(self.git),
            "A": str(self.admin),
            "W": str(self.other_lane),
            "O": str(self.outside),
            "S": str(self.secret),
            "B": str(self.loose("new.txt")),
            **self.names,
        }

    def spec(self) -> JailSpec:
        return JailSpec(
            folder=self.lane,
            temporary=self.temporary,
            git=GitGround(
                common_dir=self.git, admin_dir=self.admin, branch_ref="refs/heads/wt/one"
            ),
            hidden=(self.root / ".team", self.secret),
        )

    def environment(self) -> dict[str, str]:
        variables = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"}
        return child_environment(variables, temporary=self.temporary) | self.variables()

    def argv(self, command: list[str], kind: SandboxKind) -> list[str]:
        """Returns the jailed command, so that an ordinary user may read all it names."""
        need(kind)
        argv = jailed_argv(command, self.spec(), kind, interpreter=self.interpreter)
        own_copy = str(self.base / "landlock.py")
        return [own_copy if word == landlock.__file__ else word for word in argv]

    @property
    def interpreter(self) -> str:
        return sys.executable if self.user.uid is None else "/usr/bin/python3"

    def run(self, script: str, kind: SandboxKind) -> Ran:
        """Runs a script with bash, in the lane; its objects are taken in, as a lead does."""
        done = subprocess.run(
            self.argv(["/bin/bash", "--noprofile", "--norc", "-c", script], kind),
            cwd=self.lane,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            start_new_session=True,
            check=False,
            **self.user.popen_arguments,  # type: ignore[call-overload]  # user, group, extra_groups
        )
        take_in(self.git, self.admin.name)
        return Ran(done.returncode, done.stdout, done.stderr)


def need(kind: SandboxKind) -> None:
    """Skips the test where the machine has no jail of this kind."""
    reason = "" if kind is SandboxKind.OFF else _missing(kind)
    if reason:
        pytest.skip(f"needs {kind}: {reason}")


@cache
def _missing(kind: SandboxKind) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = Environment(variables={"PATH": SYSTEM_PATH}, home=folder, user_folder=folder)
        found = probe(environment, [kind])
    return "" if found.kind is kind else found.why


def make_ground(base: Path, user: User, kinds: tuple[SandboxKind, ...]) -> Ground:
    """Makes a ground that is ready for jails of `kinds`, owned by `user`."""
    ground = Ground(base, user)
    for folder in (ground.root, ground.outside, ground.secret):
        folder.mkdir(parents=True)
    (ground.outside / "victim").write_text("untouched")
    (ground.secret / "key").write_text(SECRET)
    shutil.copyfile(landlock.__file__, base / "landlock.py")
    _git(ground.root, "init", "-q", "-b", "main")
    (ground.root / "a.txt").write_text("one\n")
    (ground.root / ".gitattributes").write_text("* text=auto\n")
    _git(ground.root, "add", ".")
    _git(ground.root, "commit", "-q", "-m", "base")
    _git(ground.root, "repack", "-adq")
    (ground.git / "info").mkdir(exist_ok=True)
    (ground.git / "info" / "exclude").write_text("/.team/\n/.worktrees/\n")
    for lane in (ground.lane, ground.other_lane):
        _git(ground.root, "worktree", "add", "-q", "-b", f"wt/{lane.name}", str(lane))
    # The person's newest work lies in files of its own.
    (ground.root / "new.txt").write_text("new\n")
    _git(ground.root, "add", ".")
    _git(ground.root, "commit", "-q", "-m", "new")
    (ground.root / "staged.txt").write_text("staged\n")
    _git(ground.root, "add", ".")
    for kind in kinds:
        prepare_jail(ground.spec(), kind, person=Nobody())
    if user.uid is not None:
        for path in (base, *base.rglob("*")):
            os.chown(path, user.uid, user.uid, follow_symlinks=False)
    return ground


def git(ground: Ground, *args: str) -> str:
    """Returns what plain git says in the lane, from outside."""
    return _git(ground.lane, *args)


def _git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "safe.directory=*")
    done = subprocess.run(
        ["git", *identity, *args],
        cwd=folder,
        env={"PATH": SYSTEM_PATH, "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"git {args}: {done.stderr}")
    return done.stdout.rstrip("\n")
