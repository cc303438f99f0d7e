"""Joins what makes a run's worktrees ready to run code in."""

from pathlib import Path

from modules.app.jails import check_jail
from modules.app.opening import Opened
from modules.records.settings import Settings
from modules.safety.jail import SandboxKind
from modules.safety.sandbox import Probe
from modules.team.editable_installs import editable_installs, python_environments
from modules.team.preparation import Preparation


def make_preparation(
    opened: Opened, settings: Settings, sandbox: Probe, writable: tuple[Path, ...] = ()
) -> Preparation:
    """Returns what prepares the worktrees of a run; looks through Python environments."""
    root = opened.paths.root
    path = opened.environment.variables.get("PATH", "")
    preparation = Preparation(
        opened.repository,
        settings.lane,
        timeout_seconds=settings.check_timeout_seconds,
        wrap=check_jail(
            opened, settings, sandbox, shown=lambda tree: preparation.links(tree), writable=writable
        ),
        installs=editable_installs(python_environments(path, root, settings.lane.link), root),
        has_read_only_places=sandbox.kind is SandboxKind.BWRAP,
    )
    return preparation
