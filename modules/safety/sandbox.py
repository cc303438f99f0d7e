"""The OS sandbox: which one this machine has, and how a process is started in it.

1. bubblewrap where it works, else Landlock; Seatbelt on macOS. Else none: then nothing that needs a
   jail is started.
2. What works is found out by doing: a command is run in a real jail and must neither write
   outside nor see what is hidden.
3. The person's own environment alone does without (`CREWYARD_SANDBOX=off`), or asks for one kind
   (`=bwrap`, `=landlock`).
4. One jail is one folder; whoever works elsewhere is started anew. Start it from a thread that
   stays: a jail ends with the thread that started it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.record import Record
from modules.records.settings import Environment
from modules.safety import egress_relay, landlock
from modules.safety.bubblewrap import bubblewrap_argv
from modules.safety.child_environment import child_environment
from modules.safety.jail import JailSpec, SandboxKind
from modules.safety.jail_setup import branch_folder, object_folders, prepare_jail
from modules.safety.process_limits import limited_argv
from modules.safety.seatbelt import seatbelt_argv
from modules.store.scratch import scratch_folder, sweep_scratch

_CODE_FOLDER = Path(__file__).resolve().parents[2]
_COVERED = (Path("/tmp"), Path("/run"))
_PROBE_SECONDS = 10.0
_PROBE = "probe-"


class Probe(Record):
    """What was found out about this machine."""

    kind: SandboxKind
    why: str
    """A sentence for the person."""

    @property
    def is_jail(self) -> bool:
        """True when processes are kept in."""
        return self.kind in (SandboxKind.BWRAP, SandboxKind.LANDLOCK, SandboxKind.SEATBELT)


def kinds_of(platform: str) -> tuple[SandboxKind, ...]:
    """Returns the kinds an operating system may have, the best first."""
    if platform == "darwin":
        return (SandboxKind.SEATBELT,)
    return (SandboxKind.BWRAP, SandboxKind.LANDLOCK)


def probe(environment: Environment, kinds: Sequence[SandboxKind] = kinds_of(sys.platform)) -> Probe:
    """Finds the first of `kinds` that works here; blocks for some 50 ms."""
    if environment.is_sandbox_off:
        return Probe(kind=SandboxKind.OFF, why="The sandbox is off: CREWYARD_SANDBOX=off.")
    wanted = environment.variables.get("CREWYARD_SANDBOX", "").lower()
    reasons = [f"CREWYARD_SANDBOX={wanted}."] if wanted else []
    for kind in kinds:
        if wanted not in ("", kind):
            continue
        reason = _why_not(kind, environment)
        if not reason:
            return Probe(kind=kind, why=" ".join([*reasons, f"The sandbox is {kind}."]))
        reasons.append(f"{kind} does not work: {reason}.")
    return Probe(kind=SandboxKind.UNAVAILABLE, why=" ".join(reasons))


def jailed_argv(
    argv: Sequence[str],
    spec: JailSpec,
    kind: SandboxKind,
    *,
    interpreter: str = sys.executable,
) -> list[str]:
    """Returns the command that runs `argv` in a jail made ready by `prepare_jail`.

    Only this process may start it, and it ends with it. Give it `child_environment`. Raises
    PersonFault where the machine has no jail.
    """
    spec = spec.resolved()
    match kind:
        case SandboxKind.BWRAP:
            readable = _covered(spec, Path(interpreter))
            command = limited_argv(argv, spec, kind)
            if spec.network == "proxy":
                relay = [interpreter, "-I", "-S", egress_relay.__file__, egress_relay.SOCKET]
                command = [*relay, "--", *command]
            return bubblewrap_argv(
                command, spec, program=_bubblewrap(), readable=readable, starter=os.getpid()
            )
        case SandboxKind.LANDLOCK:
            command = limited_argv(argv, spec, kind)
            words = _landlock_order(spec, command).as_arguments()
            return [interpreter, "-I", "-S", landlock.__file__, *words]
        case SandboxKind.SEATBELT:
            return seatbelt_argv(limited_argv(argv, spec, kind), spec)
        case SandboxKind.OFF:
            return _watched_argv(argv, interpreter) if sys.platform == "linux" else list(argv)
        case SandboxKind.UNAVAILABLE:
            raise PersonFault(
                "This machine has no sandbox, so no agent's command is started.",
                hint="Install bubblewrap, or set CREWYARD_SANDBOX=off to do without.",
                exit_code=Exit.USAGE,
            )
        case _:
            assert_never(kind)


def _watched_argv(argv: Sequence[str], interpreter: str) -> list[str]:
    """Returns the command that runs `argv` without a jail, and ends it with whoever started it."""
    order = landlock.Order()
    order.folder = "."
    order.is_open = True
    order.command = list(argv)
    order.starter = os.getpid()
    return [interpreter, "-I", "-S", landlock.__file__, *order.as_arguments()]


def _bubblewrap() -> str:
    # Where user namespaces are restricted, it is the distribution's own that is allowed them.
    own = Path("/usr/bin/bwrap")
    return str(own) if own.exists() else shutil.which("bwrap") or str(own)


def _covered(spec: JailSpec, interpreter: Path) -> list[Path]:
    """Returns what must be seen, our own code included, where the jail would cover it."""
    covered = (*_COVERED, *spec.hidden)
    named = {_CODE_FOLDER, Path(sys.prefix), Path(sys.base_prefix)}
    real = {*(path.resolve() for path in named), interpreter.resolve(), *spec.readable}
    # Nothing can be laid on a link, and one that lies in what is shown leads on by itself.
    wanted = real | {path for path in named if not any(path.is_relative_to(r) for r in real)}
    return sorted(path for path in wanted if any(path.is_relative_to(place) for place in covered))


def _landlock_order(spec: JailSpec, argv: Sequence[str]) -> landlock.Order:
    writable = [spec.folder, spec.temporary, *spec.writable]
    if spec.git is not None:
        writable += [spec.git.admin_dir, branch_folder(spec.git), *object_folders(spec.git)]
    order = landlock.Order()
    order.folder = str(spec.folder)
    order.writable = [str(path) for path in writable]
    order.hidden = [str(path) for path in spec.hidden]
    order.readable = [str(path) for path in spec.readable]
    order.is_network_off = spec.network != "shared"
    order.command = list(argv)
    order.starter = os.getpid()
    return order


class _Nobody:
    name = "nobody"
    email = "nobody@localhost"


def _why_not(kind: SandboxKind, environment: Environment) -> str:
    """Runs a command in a jail of this kind; returns what is wrong with it, or nothing."""
    sweep_scratch(environment.user_folder, _PROBE)
    with scratch_folder(environment.user_folder, _PROBE) as scratch:
        secret, outside = scratch / "secret", scratch / "outside"
        spec = JailSpec(folder=scratch / "folder", temporary=scratch / "tmp", hidden=(secret,))
        spec.folder.mkdir()
        secret.write_text("secret")
        prepare_jail(spec, kind, person=_Nobody())
        script = 'echo in > inside && { echo out > "$1"; cat "$2"; true; }'
        argv = ["/bin/sh", "-c", script, "sh", str(outside), str(secret)]
        try:
            done = subprocess.run(
                jailed_argv(argv, spec, kind),
                env=child_environment(environment.variables, temporary=spec.temporary),
                cwd=spec.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                start_new_session=True,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode != 0 or not (spec.folder / "inside").exists():
            return done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        if outside.exists():
            return "it lets a command write outside"
        return "it shows what is hidden" if b"secret" in done.stdout else ""
