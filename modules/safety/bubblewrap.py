"""The jail as bubblewrap builds it: a read-only view of the machine with a few writable places.

1. Every mount is laid in the order of its depth, so what lies deeper is laid on top.
2. `/tmp` is the jail's own folder, `/run` is empty (no docker, agent or bus sockets), processes
   outside can't be seen.
3. Root inside has no capabilities and a read-only `/proc/sys`: else it could mount the jail away
   or have the kernel run a program outside.
4. The repository's git folder is an empty one that lives in memory, in which only the parts a
   worktree needs are laid: the worktree's own branches can be moved; config, hooks and all other
   refs are read-only. What git writes beside them, logs of branches included, is gone with the
   jail: git outside would write to a log through a link that was put there.
   The file of packed refs is one that is written anew in its place when git outside replaces its.
   For its objects git has a folder of the worktree's own in their place, and sees the
   repository's, read-only, in another. So nobody inside can delete or forge what others have.
5. Folders in memory are as large as one process's memory may be, where that is limited.
6. The jail dies with the thread that started it, and everything in it with the jail. bubblewrap
   sees to that some milliseconds after its start. So the jail's first process, once it will die
   with bubblewrap, looks whether bubblewrap and the starter still live, and runs the command only
   then. It sees them through folders of /proc that are opened outside and closed before the
   command runs; what is left of a dead process there has no memory.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from modules.safety import egress_relay
from modules.safety.jail import BRANCH_LOGS, GitGround, JailSpec

_NAMESPACES = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
)
_SHARED_MEMORY = Path("/dev/shm")
_GIT_READABLE = ("HEAD", "config", "config.worktree", "hooks", "info", "shallow", "refs", "logs")
_ADMIN_READABLE = ("commondir", "gitdir", "config.worktree")
# With a shared network, names are resolved through what systemd keeps here.
_RESOLVER = Path("/run/systemd/resolve")

_ENTER = 'exec 8<"/proc/$0" 9<"/proc/$$" && exec "$@"'
# Its own stderr goes nowhere, or the shell would add words to those of a command that was killed.
# The last line keeps it from becoming the command: process 1 buries what the command leaves.
_BEGIN = """\
read -r starter _ <"/proc/self/fd/8/statm" && read -r jail _ <"/proc/self/fd/9/statm" || exit 125
[ "$starter" != 0 ] && [ "$jail" != 0 ] || exit 125
exec 8<&- 9<&- 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-)
exit $?
"""

_Mount = tuple[Path, tuple[str, ...]]


def bubblewrap_argv(
    argv: Sequence[str], spec: JailSpec, *, program: str, readable: Iterable[Path], starter: int
) -> list[str]:
    """Returns the command that runs `argv` in the jail; all paths are absolute, without links.

    `starter` is the process without which the jail must not be. `readable` are folders that stay
    readable where an empty folder would cover them.
    """
    mounts = [*_system(spec), *_hidden(spec), *_readable(readable), *_places(spec)]
    mounts += [(where, ("--ro-bind", str(what), str(where))) for what, where in spec.shown]
    if spec.git is not None:
        mounts += _git(spec.git)
    if spec.memory_bytes:
        mounts.append((_SHARED_MEMORY, ("--perms", "1777", "--tmpfs", str(_SHARED_MEMORY))))
        mounts = [(place, _bounded(words, spec.memory_bytes)) for place, words in mounts]
    mounts.sort(key=lambda mount: len(mount[0].parts))
    return [
        *("/bin/sh", "-c", _ENTER, str(starter)),
        program,
        *_NAMESPACES,
        *([] if spec.network == "shared" else ["--unshare-net"]),
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        "--as-pid-1",
        "--new-session",
        *(word for _, words in mounts for word in words),
        # The folder of devices lies in memory as well, and bubblewrap gives it no size.
        *(("--remount-ro", "/dev") if spec.memory_bytes else ()),
        "--chdir",
        str(spec.folder),
        *("--", "/bin/sh", "-c", _BEGIN, "sh"),
        *argv,
    ]


def _system(spec: JailSpec) -> list[_Mount]:
    mounts = [
        _shown(Path("/")),
        (Path("/dev"), ("--dev", "/dev")),
        (Path("/proc"), ("--proc", "/proc")),
        _shown(Path("/proc/sys")),
        _empty(Path("/run")),
        (Path("/tmp"), ("--bind", str(spec.temporary), "/tmp")),
    ]
    if spec.network == "shared" and _RESOLVER.exists():
        mounts.append(_shown(_RESOLVER))
    if spec.network == "proxy":
        mounts.append(
            (Path(egress_relay.SOCKET), ("--ro-bind", str(spec.egress), egress_relay.SOCKET))
        )
    return mounts


def _hidden(spec: JailSpec) -> list[_Mount]:
    places = [(path, path) for path in spec.hidden]
    # What lies in a folder that is seen in another place would be seen there, too.
    places += [
        (where / path.relative_to(what), path)
        for what, where in spec.shown
        for path in spec.hidden
        if path.is_relative_to(what)
    ]
    return [
        _empty(place) if path.is_dir() else (place, ("--ro-bind", "/dev/null", str(place)))
        for place, path in places
    ]


def _readable(folders: Iterable[Path]) -> list[_Mount]:
    return [_shown(folder) for folder in folders]


def _places(spec: JailSpec) -> list[_Mount]:
    mounts = [_writable(path) for path in (spec.folder, spec.temporary, *spec.writable)]
    return mounts + _shown_if_there(spec.folder, (".git",))


def _git(git: GitGround) -> list[_Mount]:
    common = git.common_dir
    packed_refs = common / "packed-refs"
    return [
        _empty(common),
        *_shown_if_there(common, _GIT_READABLE),
        (packed_refs, ("--ro-bind", str(git.seen_packed_refs), str(packed_refs))),
        *_objects(git),
        _writable(common / git.branch_folder),
        _empty(common / BRANCH_LOGS),
        _writable(git.admin_dir),
        *_shown_if_there(git.admin_dir, _ADMIN_READABLE),
    ]


def _objects(git: GitGround) -> list[_Mount]:
    objects, own = git.common_dir / "objects", git.own_objects
    return [
        (git.seen_objects, ("--ro-bind", str(objects), str(git.seen_objects))),
        (objects, ("--bind", str(own), str(objects))),
        *(
            (objects / name, ("--ro-bind", str(own / name), str(objects / name)))
            for name in ("info", "pack")
        ),
    ]


def _shown_if_there(folder: Path, names: Iterable[str]) -> list[_Mount]:
    return [_shown(folder / name) for name in names if (folder / name).exists()]


def _shown(path: Path) -> _Mount:
    return path, ("--ro-bind", str(path), str(path))


def _writable(path: Path) -> _Mount:
    return path, ("--bind", str(path), str(path))


def _bounded(words: tuple[str, ...], size_bytes: int) -> tuple[str, ...]:
    return ("--size", str(size_bytes), *words) if "--tmpfs" in words else words


def _empty(path: Path) -> _Mount:
    return path, ("--tmpfs", str(path))
