"""Runs command lines for real, in a jail with a small repository, and tells what they did."""

import contextlib
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from modules.safety.ground import Ground

BWRAP = Path("/usr/bin/bwrap")
SECONDS = 10
_EVIL = "#!/bin/sh\necho x > /mark/ran\n"
_STUB = (
    '#!/bin/sh\nexec python3 -S -c "import os,sys\n'
    "log=os.open('/mark/log',os.O_WRONLY|os.O_APPEND|os.O_CREAT)\n"
    'os.write(log,b\'\\0\'.join(map(os.fsencode,sys.argv[1:]))+b\'\\0\\1\')" "$0" "$@"\n'
)
STUBS = ("./ma", "./mb", "./mc", "./md", "./me")
"""Programs that write down how they were called."""
_FILES = {
    "a.txt": "one\ntwo x y\nthree\n",
    "b.txt": "two\n",
    "sub/one": "1\n1\n",
    "sub/two": "2\n",
    "-x": "",
    "cmds": "./evil.sh\n",
    "index": "a[$(./evil.sh)]\n",
    "prog.awk": 'BEGIN{system("./evil.sh")}\n',
    "prog.sed": "1e ./evil.sh\n",
    "data.json": '{"a": 1}\n',
    "Makefile": "all:\n\t./evil.sh\n",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command line did."""

    ran: bool
    """True where it ran code of the folder's."""
    changed: bool
    """True where it changed the folder."""
    calls: tuple[tuple[str, ...], ...]
    """How it called the stubs."""


class ShellJail:
    """A folder that command lines run in, made anew for each."""

    def __init__(self, folder: Path) -> None:
        self._fresh = folder / "fresh"
        self._mark = folder / "mark"
        self.lane = folder / "lane"
        self._fill()
        self.ground = Ground(
            root=self.lane,
            main_checkout=self.lane,
            home=Path("/home/u"),
            user_folder=Path("/home/u/.config/crewyard"),
        )

    def run(self, command: str) -> Outcome:
        """Runs a command line and tells what it did."""
        for folder in (self.lane, self._mark):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._fresh, self.lane, symlinks=True)
        self._mark.mkdir()
        before = _snapshot(self.lane)
        with contextlib.suppress(subprocess.TimeoutExpired):  # what it did until then counts
            subprocess.run(
                [*self._argv(), command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
                start_new_session=True,
            )
        log = self._mark / "log"
        entries = log.read_bytes().split(b"\1")[:-1] if log.exists() else []
        return Outcome(
            ran=(self._mark / "ran").exists(),
            changed=_snapshot(self.lane) != before,
            calls=tuple(_call(entry) for entry in entries),
        )

    def _argv(self) -> list[str]:
        system = [
            part for name in ("usr", "bin", "lib", "lib64") for part in _bound(Path("/") / name)
        ]
        variables = {"PATH": "/usr/bin:/bin", "HOME": "/home/u", "PAGER": "cat", "GIT_PAGER": "cat"}
        environment = [part for item in variables.items() for part in ("--setenv", *item)]
        return [
            *(str(BWRAP), "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"),
            *("--cap-drop", "ALL", "--die-with-parent", "--clearenv", *environment),
            *("--tmpfs", "/", *system, "--dev", "/dev", "--proc", "/proc", "--dir", "/home/u"),
            *(
                "--ro-bind",
                "/etc/alternatives",
                "/etc/alternatives",
                "--dir",
                "/tmp",
                "--bind",
                str(self.lane),
                str(self.lane),
            ),
            *("--bind", str(self._mark), "/mark", "--chdir", str(self.lane)),
            *("--", "bash", "--noprofile", "--norc", "-c"),
        ]

    def _fill(self) -> None:
        for name, text in _FILES.items():
            path = self._fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name, text in {"evil.sh": _EVIL, "ls": _EVIL, **dict.fromkeys(STUBS, _STUB)}.items():
            path = self._fresh / name
            path.write_text(text)
            path.chmod(0o755)
        (self._fresh / "evil.py").write_text('open("/mark/ran", "w").write("x")\n')
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        for command in (("init", "-q"), ("add", "a.txt"), (*identity, "commit", "-qm", "x")):
            subprocess.run(
                ["git", *command], cwd=self._fresh, check=True, capture_output=True, timeout=SECONDS
            )


def needed_jail(folder: Path) -> ShellJail:
    """Returns a jail; skips the test where none can be made."""
    if not BWRAP.exists():
        pytest.skip("bubblewrap is not installed")
    jail = ShellJail(folder)
    if jail.run("./ma x").calls != (("./ma", "x"),):
        pytest.skip("bubblewrap can't make a jail here")
    return jail


def _bound(path: Path) -> tuple[str, ...]:
    if path.is_symlink():
        return ("--symlink", str(path.readlink()), str(path))
    return ("--ro-bind", str(path), str(path)) if path.exists() else ()


def _snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == ".git/index":
            continue  # git status refreshes it
        is_file = path.is_file() and not path.is_symlink()
        digest = hashlib.md5(path.read_bytes()).hexdigest() if is_file else ""
        found[name] = (path.lstat().st_mode, digest)
    return found


def _call(entry: bytes) -> tuple[str, ...]:
    return tuple(os.fsdecode(part) for part in entry.split(b"\0")[:-1])
