"""What a jailed process may use of the machine, so that a runaway one ends by itself.

1. No file grows past the limit: the writer is ended by a signal. No core is left behind.
2. Under bubblewrap the processes and threads of one jail are counted; past the limit no further one
   starts. Landlock knows no jail to count in. The kernel exempts root from this limit alone.
3. Memory counts for each process by itself, and only what it may write and shares with nobody:
   what is reserved and never used would count otherwise, and programs reserve a lot. Under
   bubblewrap the folders that lie in memory end at the same size, each.
4. A limit that is lower already stays; none is ever raised.
"""

import resource
import shutil
from collections.abc import Sequence

from modules.safety.jail import JailSpec, SandboxKind


def limited_argv(argv: Sequence[str], spec: JailSpec, kind: SandboxKind) -> list[str]:
    """Returns the command that runs `argv` with limits; as it is where `prlimit` is missing."""
    program = shutil.which("prlimit", path="/usr/bin:/bin:/usr/local/bin")
    if program is None:
        return list(argv)
    wanted = {"core": 0, "fsize": spec.file_bytes, "nofile": spec.open_files}
    if kind is SandboxKind.BWRAP:
        wanted["nproc"] = spec.processes
    if spec.memory_bytes:
        wanted["data"] = spec.memory_bytes
    options = [f"--{name}={_lowered(name, most)}" for name, most in wanted.items()]
    return [program, *options, "--", *argv]


def _lowered(name: str, most: int) -> str:
    """Returns the soft and the hard limit, none above what holds now."""
    now = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    soft, hard = (most if value == resource.RLIM_INFINITY else min(value, most) for value in now)
    return f"{soft}:{hard}"
