"""Each attack is run without a jail first, where it must work, and then in each kind of jail."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import Template

import pytest

from modules.safety.jail import SandboxKind
from tests.safety.jail_attacks import ALL, BOTH, SHOWN, Attack
from tests.safety.jail_ground import ORDINARY_UID, SYSTEM_PATH, Ground, User, make_ground

KINDS = (SandboxKind.BWRAP, SandboxKind.LANDLOCK)

State = tuple[object, ...] | None


class Listeners:
    """Sockets outside of the jail, and what came in."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "socket"
        self.abstract = f"crewyard-{folder.name}"
        self._sockets = {
            "tcp": socket.create_server(("127.0.0.1", 0)),
            "udp": _bound(socket.AF_INET, ("127.0.0.1", 0)),
            "socket_file": _bound(socket.AF_UNIX, str(self.file)),
            "abstract_socket": _bound(socket.AF_UNIX, f"\0{self.abstract}"),
        }
        self.file.chmod(0o777)
        for listener in self._sockets.values():
            listener.setblocking(False)

    def variables(self) -> dict[str, str]:
        return {
            "TCP": str(self._sockets["tcp"].getsockname()[1]),
            "UDP": str(self._sockets["udp"].getsockname()[1]),
            "SOCKET": str(self.file),
            "ABSTRACT": self.abstract,
        }

    def has_heard(self, name: str) -> bool:
        """Returns whether anything came in since the last look."""
        listener = self._sockets[name]
        try:
            if name == "tcp":
                listener.accept()[0].close()
            else:
                listener.recv(10)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        for listener in self._sockets.values():
            listener.close()


def _bound(family: socket.AddressFamily, address: object) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_DGRAM)
    listener.bind(address)  # type: ignore[arg-type]  # its type depends on the family
    return listener


class Arena:
    """One ground that is put back as it was before every script."""

    def __init__(self, base: Path, user: User, listeners: Listeners, outer: int) -> None:
        self._template = base / "template"
        self._base = base / "ground"
        self._listeners = listeners
        names = {**listeners.variables(), "OUTER": str(outer)}
        ground = make_ground(self._base, user, KINDS)
        self.ground = Ground(ground.base, user, names | {"PY": ground.interpreter})
        subprocess.run(["cp", "-a", self._base, self._template], check=True)

    def works(self, attack: Attack, kind: SandboxKind) -> bool:
        """Runs an attack and returns whether it did any harm."""
        self._put_back(self.ground.lane)
        target = Path(Template(attack.target).substitute(self.ground.variables()) or "/dev/null")
        before = _state(target)
        ran = self.ground.run(attack.script, kind)
        if attack.listener:
            return self._listeners.has_heard(attack.listener)
        return _state(target) != before if attack.target else SHOWN in ran.out

    def works_unguarded(self, attack: Attack) -> bool:
        """Runs an attack without a jail, and undoes what it did."""
        try:
            return self.works(attack, SandboxKind.OFF)
        finally:
            self.put_back()

    def put_back(self) -> None:
        """Makes the whole ground what it was at first."""
        self._put_back(self._base)

    def _put_back(self, folder: Path) -> None:
        shutil.rmtree(folder)
        kept = self._template / folder.relative_to(self._base)
        subprocess.run(["cp", "-a", kept, folder], check=True)


def _state(path: Path) -> State:
    if path.is_symlink():
        return ("link", path.readlink())
    if path.is_dir():
        return ("folder", sorted(os.listdir(path)))  # noqa: PTH208 - the names alone
    if path.exists():
        return ("file", path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
    return None


def _users() -> list[User]:
    return [User(None), User(ORDINARY_UID)] if os.geteuid() == 0 else [User(None)]


@pytest.fixture(scope="module", params=_users(), ids=lambda user: "other" if user.uid else "own")
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    # Outside of /tmp, which bubblewrap's jail has for its own, and open to the other user.
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="crewyard-test-"))
    base.chmod(0o755)
    sockets = Path(tempfile.mkdtemp(prefix="crewyard-test-"))
    sockets.chmod(0o755)
    user: User = request.param
    outer = subprocess.Popen(
        ["sleep", "600"],
        env={"PATH": SYSTEM_PATH},
        start_new_session=True,
        **user.popen_arguments,  # type: ignore[call-overload]  # user, group, extra_groups
    )
    listeners = Listeners(sockets)
    try:
        yield Arena(base, user, listeners, outer.pid)
    finally:
        listeners.close()
        outer.kill()
        outer.wait()
        shutil.rmtree(base)
        shutil.rmtree(sockets)


@pytest.mark.slow
@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_attack_works_unguarded_and_not_in_a_jail(arena: Arena, attack: Attack) -> None:
    is_root = arena.ground.user.uid is None and os.geteuid() == 0
    if attack.root_only and not is_root:
        pytest.skip("only root could do this without a jail")

    worked_in = [kind for kind in KINDS if kind in attack.stopped_by and arena.works(attack, kind)]
    works_unguarded = arena.works_unguarded(attack)

    assert worked_in == []
    if attack.may_fail_unguarded and not works_unguarded:
        pytest.skip("this machine stops the attack without a jail")
    assert works_unguarded


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack", [a for a in ALL if a.stopped_by != BOTH], ids=lambda attack: attack.name
)
def test_what_landlock_can_not_stop_is_known(arena: Arena, attack: Attack) -> None:
    try:
        works = arena.works(attack, SandboxKind.LANDLOCK)
    finally:
        arena.put_back()

    assert works
