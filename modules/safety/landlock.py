"""Starts a command in a jail that the kernel's Landlock keeps; run as a script by `python -I -S`.

1. What is not granted is refused: writing but in the named places, reading devices and hidden
   files, TCP (Linux 6.7), signals and abstract sockets to the outside (Linux 6.12).
2. A grant holds for all below it and nothing takes it back. To hide a file, the folders on the way
   to it are not granted; everything else in them is, one by one.
3. What Landlock can't refuse, a system call filter does: sockets of every other kind, docker's and
   ssh-agent's among them. Root loses its capabilities.
4. An order that is `open` restricts nothing; what 5 says holds for it, too.
5. Two processes stand before the command. The outer one, whose pid the starter has, dies with the
   thread that started it, and starts nothing where the starter was gone before it could ask for
   that. The inner one adopts whatever the command leaves behind, and kills it when the command
   ends or the outer one is gone.

What it can't do: protect or hide a file inside a writable folder, keep names of hidden files from
being listed, or modes and times of one's own files elsewhere from being changed.

Interfaces: landlock(7), seccomp(2), capabilities(7), prctl(2).
"""

import ctypes
import errno
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterable, Iterator
from functools import cache

WRITE_FILE, READ_FILE = 1 << 1, 1 << 2
_REMOVE = 1 << 4 | 1 << 5
_MAKE_DEVICE = 1 << 6 | 1 << 11
_MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
CHANGE = WRITE_FILE | _REMOVE | _MAKE | _REFER | _TRUNCATE
_ON_FILES = WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_HANDLED_SINCE = {
    1: READ_FILE | WRITE_FILE | _REMOVE | _MAKE | _MAKE_DEVICE,
    2: _REFER,
    3: _TRUNCATE,
    5: _IOCTL_DEVICE,
}
_BIND_AND_CONNECT = 0b11
_SOCKETS_AND_SIGNALS = 0b11
_ATTRIBUTE_BYTES_SINCE = {1: 8, 4: 16, 6: 24}
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GET_VERSION, _PATH_BENEATH = 1, 1

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")

_SET_PDEATHSIG, _SET_SECCOMP, _CAPBSET_DROP = 1, 22, 24
_SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_HIGHEST_CAPABILITY = 63

# The kernel's name for the machine's system calls, and the number of socket(2) among them.
_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
_IO_URING_SETUP = 425
_X32_CALLS = 0x40000000
_AF_INET, _AF_INET6, _AF_NETLINK = 2, 10, 16

Grant = tuple[str, int]


class Unavailable(Exception):
    """The kernel, or the machine, has not what the jail needs."""


def grants(
    *, writable: list[str], hidden: list[str], readable: Iterable[str] = ()
) -> Iterator[Grant]:
    """Returns what to grant: each path with its rights."""
    covered = {path for path in hidden if not any(_is_below(path, place) for place in writable)}
    covered.add("/dev")
    yield from _readable_below("/", covered)
    for place in readable:
        yield from _readable_below(place, covered - {place})
    for name in _DEVICES:
        yield f"/dev/{name}", READ_FILE | CHANGE | _IOCTL_DEVICE
    for place in writable:
        yield place, READ_FILE | CHANGE


def _readable_below(folder: str, covered: set[str]) -> Iterator[Grant]:
    """Grants reading of `folder`, or of its parts where something below it is covered."""
    if folder in covered:
        return
    if not any(_is_below(path, folder) for path in covered):
        yield folder, READ_FILE
        return
    try:
        with os.scandir(folder) as entries:
            paths = [entry.path for entry in entries if not entry.is_symlink()]
    except (FileNotFoundError, PermissionError):
        return  # what can't be told apart is not granted
    for path in paths:
        yield from _readable_below(path, covered)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def abi_version() -> int:
    """Returns the version of the kernel's Landlock, 0 where there is none."""
    return max(0, int(_libc().syscall(*map(_wide, (_CREATE_RULESET, None, 0, _GET_VERSION)))))


def restrict(rules: Iterable[Grant], *, is_network_off: bool) -> None:
    """Keeps this process and all it starts inside the rules, for good."""
    abi = abi_version()
    if abi < 1:
        raise Unavailable("The kernel has no Landlock.")
    handled = sum(rights for version, rights in _HANDLED_SINCE.items() if abi >= version)
    size = max(size for version, size in _ATTRIBUTE_BYTES_SINCE.items() if abi >= version)
    attributes = struct.pack(
        "QQQ", handled, _BIND_AND_CONNECT if is_network_off else 0, _SOCKETS_AND_SIGNALS
    )
    ruleset = _call(_CREATE_RULESET, attributes[:size], size, 0)
    for path, rights in rules:
        _add_rule(ruleset, path, rights & handled)
    _prctl(_SET_NO_NEW_PRIVS, 1)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # nothing there that could be granted
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def drop_capabilities() -> None:
    """Takes root's powers away, from this process and all it starts."""
    for capability in range(_HIGHEST_CAPABILITY + 1):
        try:
            _prctl(_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EPERM):  # none such; not ours to drop
                raise
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    if _libc().capset(header, bytes(24)) != 0:
        raise _last_error("capset")


def filter_sockets(*, is_network_off: bool) -> None:
    """Refuses sockets that Landlock knows nothing of."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        raise Unavailable(f"The socket filter does not know the machine {machine!r}.")
    architecture, socket_call = _MACHINES[machine]
    program = _socket_program(architecture, socket_call, is_network_off=is_network_off)
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    _prctl(_SET_NO_NEW_PRIVS, 1)
    _prctl(_SET_SECCOMP, _SECCOMP_MODE_FILTER, header)


def _socket_program(architecture: int, socket_call: int, *, is_network_off: bool) -> bytes:
    """Returns a BPF program over `struct seccomp_data`: call at 0, machine at 4, arguments at 16.

    io_uring makes sockets too, without the call; calls of another machine have other numbers.
    """
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    allow, refuse, unknown = 0x7FFF0000, 0x00050000 | errno.EACCES, 0x00050000 | errno.ENOSYS
    families = [_AF_NETLINK] if is_network_off else [_AF_NETLINK, _AF_INET, _AF_INET6]
    count = len(families)
    steps = [
        (load, 0, 0, 4),
        (equal, 0, count + 6, architecture),
        (load, 0, 0, 0),
        (at_least, count + 4, 0, _X32_CALLS),
        (equal, count + 3, 0, _IO_URING_SETUP),
        (equal, 0, count + 3, socket_call),
        (load, 0, 0, 16),
        *((equal, count - index + 1, 0, family) for index, family in enumerate(families)),
        (answer, 0, 0, refuse),
        (answer, 0, 0, unknown),
        (answer, 0, 0, allow),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


class Order:
    """What is to be run, and inside of what."""

    def __init__(self) -> None:
        self.folder = "/"
        self.writable: list[str] = []
        self.hidden: list[str] = []
        self.readable: list[str] = []
        self.is_network_off = True
        self.is_open = False
        self.starter = os.getppid()
        self.command: list[str] = []

    def as_arguments(self) -> list[str]:
        """Returns the words `read_order` reads."""
        words = ["folder", self.folder, "network", "off" if self.is_network_off else "shared"]
        words += ["starter", str(self.starter), "jail", "open" if self.is_open else "closed"]
        for path in self.writable:
            words += ["writable", path]
        for path in self.hidden:
            words += ["hidden", path]
        for path in self.readable:
            words += ["readable", path]
        return [*words, "--", *self.command]


def read_order(arguments: list[str]) -> Order:
    """Reads `folder F network off|shared starter N jail open|closed -- command`.

    Before the dashes there may be any number of `writable P`, `hidden P` and `readable P`.
    """
    # Plain words, because json alone would double the time this takes to start.
    order = Order()
    position = 0
    while arguments[position] != "--":
        name, value = arguments[position], arguments[position + 1]
        if name == "folder":
            order.folder = value
        elif name == "network":
            order.is_network_off = value != "shared"
        elif name == "jail":
            order.is_open = value == "open"
        elif name == "starter":
            order.starter = int(value)
        elif name in ("writable", "hidden", "readable"):
            getattr(order, name).append(value)
        else:
            raise ValueError(f"The jail knows no {name!r}.")
        position += 2
    order.command = arguments[position + 1 :]
    return order


def main(arguments: list[str]) -> int:
    """Runs an order and returns its command's exit code, 128 + n for a signal n."""
    order = read_order(arguments)
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if not _is_alive(order.starter):
        return 128 + signal.SIGKILL
    outer = os.getpid()
    inner = os.fork()
    if inner == 0:
        os._exit(_keep(order, outer))
    _let_go_of_pipes()
    _, status = os.waitpid(inner, 0)
    return _exit_code(status)


def _is_alive(pid: int) -> bool:
    """False for a process that is gone; what is left of a killed one has no memory."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - no pathlib at start-up
            return not file.read().startswith(b"0 ")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _keep(order: Order, outer: int) -> int:
    """Starts the command, waits for it, and leaves nothing of it behind."""
    os.setsid()
    awaited = {signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    _prctl(_SET_CHILD_SUBREAPER, 1)
    _prctl(_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != outer:
        return 128 + signal.SIGTERM
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
        os._exit(_become(order))
    _let_go_of_pipes()
    code = None
    while code is None and signal.sigwait(awaited) == signal.SIGCHLD:
        code = _reap(child)
    _kill_all_children()
    return 128 + signal.SIGTERM if code is None else code


def _become(order: Order) -> int:
    """Turns this process into the command; returns an exit code only where that fails."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.chdir(order.folder)
        if not order.is_open:
            _lock_in(order)
        os.execvp(order.command[0], order.command)
    except (OSError, Unavailable) as error:
        print(
            f"The jail could not start {order.command[0]!r}: {error}", file=sys.stderr, flush=True
        )
        return 127 if isinstance(error, FileNotFoundError) else 126


def _lock_in(order: Order) -> None:
    rules = grants(writable=order.writable, hidden=order.hidden, readable=order.readable)
    drop_capabilities()
    restrict(rules, is_network_off=order.is_network_off)
    filter_sockets(is_network_off=order.is_network_off)


def _reap(awaited: int) -> int | None:
    """Buries the dead; returns the exit code of `awaited` when it is one of them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == awaited:
            code = _exit_code(status)


def _kill_all_children() -> None:
    # A killed child's own children become ours, so this goes on until there are none.
    while _has_children():
        for pid in _children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # gone by itself
        os.waitpid(-1, 0)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _children() -> Iterator[int]:
    own = os.getpid()
    with os.scandir("/proc") as entries:
        pids = [entry.name for entry in entries if entry.name.isdigit()]
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - no pathlib at start-up
                # The program's name stands in brackets and may itself hold any of them.
                parent = file.read().rpartition(b")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue  # gone meanwhile
        if int(parent) == own:
            yield int(pid)


def _let_go_of_pipes() -> None:
    # Whoever waits for the end of the command's output must not wait for this process.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: int | bytes | None) -> int:
    result = int(_libc().syscall(*map(_wide, (number, *arguments))))
    if result < 0:
        raise _last_error(f"system call {number}")
    return result


def _prctl(option: int, first: int, second: int | bytes = 0) -> None:
    if _libc().prctl(*map(_wide, (option, first, second, 0, 0))) != 0:
        raise _last_error(f"prctl {option}")


def _wide(argument: int | bytes | None) -> ctypes.c_long | bytes | None:
    """Returns an argument as wide as a register; ctypes alone would pass half of one."""
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _last_error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
