"""The jails of the lead's own processes, and what the person opened of all jails."""

from collections.abc import Callable
from pathlib import Path

from modules.app.house import House
from modules.app.opening import Opened
from modules.git.run_git import FALLBACK_IDENTITY
from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.settings import Environment, Network, Settings
from modules.safety.child_environment import child_environment
from modules.safety.egress_proxy import EgressProxy
from modules.safety.fence import Fence
from modules.safety.ground import Ground
from modules.safety.hidden_places import hidden_places
from modules.safety.jail import JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import Probe, jailed_argv
from modules.store.paths import Paths
from tools.background_commands import BackgroundCommands
from tools.lane_context import LaneContext


def reading_jail(
    paths: Paths,
    environment: Environment,
    temporary: Path,
    *,
    settings: Settings,
    network: Network = "shared",
) -> JailSpec:
    """Returns a jail that reads the repository and writes `temporary` alone."""
    return JailSpec(
        folder=temporary / "work",
        temporary=temporary,
        readable=(paths.root,),
        hidden=_hidden(paths.root, environment),
        network=network,
        egress=egress_socket(paths),
        memory_bytes=memory_bytes(settings),
    )


def memory_bytes(settings: Settings) -> int:
    """Returns how much memory a process in a jail may hold; 0: any amount."""
    return settings.memory_mb * 2**20


def egress_socket(paths: Paths) -> Path:
    """Returns where the proxy of a run listens."""
    return paths.temporary / "egress"


def egress_proxy(opened: Opened, settings: Settings) -> EgressProxy:
    """Returns the way out of jails whose network is `proxy`."""
    ground = Ground(
        root=opened.paths.root,
        main_checkout=opened.paths.root,
        home=opened.environment.home,
        user_folder=opened.environment.user_folder,
        allowed_hosts=settings.web_allow,
    )
    return EgressProxy(egress_socket(opened.paths), settings.open_hosts, ground)


def granted_folders(
    settings: Settings, root: Path, environment: Environment
) -> tuple[tuple[Path, ...], list[str]]:
    """Returns the folders workers may write beside their lanes, and a line for each not there.

    Raises PersonFault for one that would let them out of their sandbox.
    """
    folders, missing = [], []
    for text in settings.writable:
        path = Path(environment.home, text[2:]) if text.startswith("~/") else Path(text)
        folder = path.resolve()
        if not folder.is_dir():
            missing.append(f"[sandbox] writable: there is no folder {text!r}.")
            continue
        kept = (root.resolve(), environment.home.resolve(), environment.user_folder.resolve())
        holds = any(place.is_relative_to(folder) for place in kept)
        lies_in = any(folder.is_relative_to(place) for place in (kept[0], kept[2]))
        if holds or lies_in or any(folder.is_relative_to(h) for h in _hidden(root, environment)):
            raise PersonFault(
                f"The folder {text!r} can't be made writable for workers: it holds or belongs to "
                "what they must not change.",
                hint="Name a narrower folder under [sandbox] writable, such as a package cache.",
                exit_code=Exit.USAGE,
            )
        folders.append(folder)
    return tuple(folders), missing


def network_warnings(settings: Settings, sandbox: Probe) -> list[str]:
    """Returns a line for each setting of the network that does nothing here."""
    is_wanted = "proxy" in (settings.worker_network, settings.mcp_network)
    if is_wanted and sandbox.is_jail and sandbox.kind is not SandboxKind.BWRAP:
        return [f"The network `proxy` needs bubblewrap; under {sandbox.kind} it is off."]
    if is_wanted and not settings.open_hosts:
        return ["The network `proxy` lets nothing through: [sandbox] hosts names no host."]
    return []


def check_jail(
    opened: Opened,
    settings: Settings,
    sandbox: Probe,
    *,
    shown: Callable[[Path], tuple[tuple[Path, Path], ...]] = lambda folder: (),
    writable: tuple[Path, ...] = (),
) -> Callable[[list[str], Path, Path], list[str]]:
    """Returns what puts a check into the sandbox: it writes its tree and its scratch alone.

    `shown` says what of a tree is read-only, and from where it is; `writable` are further folders.
    """

    def wrap(argv: list[str], folder: Path, scratch: Path) -> list[str]:
        hidden = _hidden(opened.paths.root, opened.environment)
        spec = JailSpec(
            folder=folder,
            temporary=scratch,
            writable=writable,
            hidden=hidden,
            shown=shown(folder),
            network="shared",
            memory_bytes=memory_bytes(settings),
        )
        prepare_jail(spec, sandbox.kind, person=FALLBACK_IDENTITY)
        return jailed_argv(argv, spec, sandbox.kind)

    return wrap


def lead_lane(house: House, temporary: Path) -> LaneContext:
    """Returns what the lead's own tools work with: its bash reads all and writes its own tmp."""
    spec = reading_jail(house.paths, house.environment, temporary, settings=house.settings)
    spec.folder.mkdir(parents=True, exist_ok=True)
    prepare_jail(spec, house.sandbox.kind, person=house.repository.git.identity)

    def wrap(argv: list[str]) -> list[str]:
        there = ["env", "-C", str(house.paths.root), *argv]
        return jailed_argv(there, spec, house.sandbox.kind)

    return LaneContext(
        root=house.paths.root,
        environment=child_environment(house.environment.variables, temporary=temporary),
        temporary=temporary,
        fence=Fence(house.paths.root),
        wrap=wrap,
        background=BackgroundCommands(
            lambda line: house.events.notice(f"In the lead's background {line}")
        ),
    )


def _hidden(root: Path, environment: Environment) -> tuple[Path, ...]:
    """Returns the places of secrets that no jail of this run may show."""
    return hidden_places(home=environment.home, user_folder=environment.user_folder, project=root)
