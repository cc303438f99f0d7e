"""The jails of the lead's own processes: checks, its commands, MCP servers."""

from collections.abc import Callable
from pathlib import Path

from modules.app.house import House
from modules.app.opening import Opened
from modules.git.run_git import FALLBACK_IDENTITY
from modules.records.settings import Environment
from modules.safety.child_environment import child_environment
from modules.safety.fence import Fence
from modules.safety.hidden_places import hidden_places
from modules.safety.jail import JailSpec
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import Probe, jailed_argv
from tools.lane_context import LaneContext


def reading_jail(root: Path, environment: Environment, temporary: Path) -> JailSpec:
    """Returns a jail that reads the repository, has the network, and writes `temporary` alone."""
    return JailSpec(
        folder=temporary / "work",
        temporary=temporary,
        readable=(root,),
        hidden=_hidden(root, environment),
        network="shared",
    )


def check_jail(opened: Opened, sandbox: Probe) -> Callable[[list[str], Path, Path], list[str]]:
    """Returns what puts a check into the sandbox: it writes its tree and its scratch alone."""

    def wrap(argv: list[str], folder: Path, scratch: Path) -> list[str]:
        hidden = _hidden(opened.paths.root, opened.environment)
        spec = JailSpec(folder=folder, temporary=scratch, hidden=hidden, network="shared")
        prepare_jail(spec, sandbox.kind, person=FALLBACK_IDENTITY)
        return jailed_argv(argv, spec, sandbox.kind)

    return wrap


def lead_lane(house: House, temporary: Path) -> LaneContext:
    """Returns what the lead's own tools work with: its bash reads all and writes its own tmp."""
    spec = reading_jail(house.paths.root, house.environment, temporary)
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
    )


def _hidden(root: Path, environment: Environment) -> tuple[Path, ...]:
    """Returns the places of secrets that no jail of this run may show."""
    return hidden_places(home=environment.home, user_folder=environment.user_folder, project=root)
