"""What the kernel tells of a worker's process: its number outside of its jail, and its work."""

from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def host_pid(root: int, inner: int) -> int:
    """Returns the id, here, of the process that is `inner` in its own eyes, below process `root`.

    Returns `root` where the system does not tell.
    """
    for pid in _descendants(root):
        numbers = _numbers(pid)
        if len(numbers) > 1 and numbers[-1] == inner:
            return pid
        if numbers == [inner]:
            return inner
    return root


def cpu_ticks(pid: int) -> int | None:
    """Returns the processor time a process has taken; None where the system does not tell."""
    try:
        words = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(words[11]) + int(words[12])  # utime and stime of proc(5), which counts from the pid


def _descendants(pid: int) -> Iterator[int]:
    try:
        words = (_PROC / str(pid) / "task" / str(pid) / "children").read_text().split()
    except OSError:
        return  # it has ended, or the kernel keeps no such list
    for word in words:
        yield int(word)
        yield from _descendants(int(word))


def _numbers(pid: int) -> list[int]:
    """Returns the process's numbers from the outermost namespace to its own."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return []
    return next(([int(w) for w in line.split()[1:]] for line in lines if line[:6] == "NSpid:"), [])
