"""Measures what the gate and the sandbox cost, the best of many runs each.

Run: python -m benchmarks.gate

1. A decision: what the gate takes to judge a command and decide on it, one a developer might type.
2. A start: a worker's process up to its hello, in a jail and without one.
3. A call: `bash -c true` started inside a jail, as a worker does, and outside of any.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from modules.records.decisions import Mode, ShellSubject
from modules.records.settings import Environment, Rules, RuleText
from modules.safety.child_environment import child_environment
from modules.safety.ground import Ground
from modules.safety.jail import GitGround, JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.permissions import PermissionManager, Standing
from modules.safety.sandbox import jailed_argv, probe

MAIN = Path(__file__).parents[1] / "main.py"
COMMANDS = (
    "git status --short && git diff --stat",
    "rg -n 'def main' src | head -20",
    "sed -n '1,80p' src/app.py",
    "pytest -q tests/test_app.py 2>&1 | tail -20",
    'git add -A && git commit -qm "fix: handle empty input"',
    "find . -name '*.py' -not -path './.venv/*' | xargs wc -l",
    "npm run build && ls -la dist",
    "cat > notes.md <<'EOF'\n# Notes\n- `a` and $b\nEOF",
)
CALLS = """
import subprocess, time
best = 9.0
for _ in range(60):
    began = time.perf_counter()
    subprocess.run(["bash", "--noprofile", "--norc", "-c", "true"])
    best = min(best, time.perf_counter() - began)
print(best)
"""


class Nobody:
    """Who commits in the benchmark's lane."""

    name = "nobody"
    email = "nobody@localhost"


def main() -> None:
    """Measures and prints each figure."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        for command, seconds in decisions(folder):
            print(f"{seconds * 1e3:8.3f} ms  decision   {command.splitlines()[0]}")
        kind = probe(Environment(variables=dict(os.environ), home=folder, user_folder=folder)).kind
        spec = lane(folder, kind)
        for kept in (SandboxKind.OFF, kind):
            print(f"{best(20, partial(start, spec, kept)) * 1e3:8.1f} ms  worker's start, {kept}")
        for kept in (SandboxKind.OFF, kind):
            print(f"{call(spec, kept) * 1e3:8.2f} ms  bash call inside, {kept}")


def best(times: int, act: Callable[[], object]) -> float:
    """Returns the seconds of the quickest run."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return min(found)


def decisions(folder: Path) -> list[tuple[str, float]]:
    """Returns what each command takes to decide on, with a few rules in force."""
    ground = Ground(
        root=folder, main_checkout=folder, home=folder / "home", user_folder=folder, is_worker=True
    )
    standing = Standing(agent="w1", is_worker=True, is_jailed=True, mode=Mode.AUTO, ground=ground)
    rules = tuple(
        RuleText(text=text, source="benchmark")
        for text in ("Bash(npm run *)", "Bash(pytest *)", "Read(docs/**)", "WebFetch(domain:a.io)")
    )
    manager = PermissionManager(Rules(allow=rules), mode=Mode.AUTO)

    def decide(command: str) -> None:
        manager.decide(standing, "bash", {"command": command}, ShellSubject(command=command))

    return [(command, best(200, partial(decide, command))) for command in COMMANDS]


def lane(folder: Path, kind: SandboxKind) -> JailSpec:
    """Makes a repository with a lane, and its jail ready."""
    root = folder / "repository"
    made = root / ".worktrees" / "one"
    settings = ("-c", "user.name=n", "-c", "user.email=n@localhost")
    for words in (
        ("init", "-q"),
        (*settings, "commit", "-q", "--allow-empty", "-m", "x"),
        ("worktree", "add", "-q", "-b", "wt/one", str(made)),
    ):
        root.mkdir(exist_ok=True)
        subprocess.run(["git", *words], cwd=root, check=True)
    git = root / ".git"
    spec = JailSpec(
        folder=made,
        temporary=folder / "tmp",
        git=GitGround(
            common_dir=git, admin_dir=git / "worktrees" / "one", branch_ref="refs/heads/wt/one"
        ),
        hidden=(root / ".team",),
    )
    prepare_jail(spec, kind, person=Nobody())
    return spec


def start(spec: JailSpec, kind: SandboxKind) -> None:
    """Starts a worker, waits for its hello, and ends it."""
    process = subprocess.Popen(
        jailed_argv([sys.executable, str(MAIN), "worker-process"], spec, kind),
        cwd=spec.folder,
        env=child_environment(os.environ, temporary=spec.temporary),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    if process.stdout is None or process.stdin is None:
        raise RuntimeError("A worker was started without pipes.")
    hello = json.loads(process.stdout.readline())
    process.kill()
    process.communicate()
    if not hello:
        raise RuntimeError("The worker said nothing.")


def call(spec: JailSpec, kind: SandboxKind) -> float:
    """Returns what a bash call takes where a worker is."""
    done = subprocess.run(
        jailed_argv([sys.executable, "-I", "-c", CALLS], spec, kind),
        cwd=spec.folder,
        env=child_environment(os.environ, temporary=spec.temporary),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


if __name__ == "__main__":
    main()
