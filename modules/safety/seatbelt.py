"""The jail as macOS' Seatbelt builds it, from a profile in its own language; pure.

1. What is deeper is said later, and what is said later counts: as mounts do under bubblewrap.
2. Nothing is written but the places named. Of git's folder that is what a worktree needs; the parts
   that steer git are read-only.
3. The ways by which a process has another one act for it are shut: launchd, Apple events, signals,
   services of the system but for the few that names and users are looked up by.
4. There is no network but the whole of it.
"""

from collections.abc import Sequence
from pathlib import Path

from modules.safety.jail import GitGround, JailSpec
from modules.safety.jail_setup import branch_folder

_BASE = """\
(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow file-write* (regex #"^/dev/(fd/|pty|ttys)"))
(deny signal)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
(deny appleevent-send)
(deny job-creation)
(deny mach-lookup)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.logger"))"""
_NETWORK_SERVICES = """\
(allow mach-lookup
  (global-name "com.apple.dnssd.service")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.trustd.agent"))"""

_Rule = tuple[Path, str]


def seatbelt_argv(argv: Sequence[str], spec: JailSpec) -> list[str]:
    """Returns the command that runs `argv` in the jail; all paths are absolute, without links."""
    return ["/usr/bin/sandbox-exec", "-p", seatbelt_profile(spec), *argv]


def seatbelt_profile(spec: JailSpec) -> str:
    """Returns the profile of a jail."""
    rules = [_hidden(path) for path in spec.hidden]
    rules += [_shown(path) for path in spec.readable]
    rules += [_writable(path) for path in (spec.folder, spec.temporary, *spec.writable)]
    rules.append(_kept(spec.folder / ".git"))
    if spec.git is not None:
        rules += _git(spec.git)
    rules.sort(key=lambda rule: len(rule[0].parts))
    network = _NETWORK_SERVICES if spec.network == "shared" else "(deny network*)"
    return "\n".join([_BASE, network, *(line for _, line in rules), ""])


def _git(git: GitGround) -> list[_Rule]:
    objects = git.common_dir / "objects"
    steering = (git.admin_dir / name for name in ("commondir", "gitdir", "config.worktree"))
    return [
        *(_writable(path) for path in (objects, git.admin_dir, branch_folder(git))),
        *(_kept(path) for path in (objects / "pack", objects / "info", *steering)),
    ]


def _hidden(path: Path) -> _Rule:
    return path, f"(deny file-read* file-write* {_at(path)})"


def _shown(path: Path) -> _Rule:
    return path, f"(allow file-read* {_at(path)})"


def _writable(path: Path) -> _Rule:
    return path, f"(allow file-read* file-write* {_at(path)})"


def _kept(path: Path) -> _Rule:
    return path, f"(deny file-write* {_at(path)})"


def _at(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'(subpath "{text}")'
