"""Tests of modules/app/jails.py: what a person may open of the sandbox."""

from pathlib import Path

import pytest

from modules.app.jails import granted_folders, network_warnings
from modules.records.errors import PersonFault
from modules.records.settings import Environment, Settings
from modules.safety.jail import SandboxKind
from modules.safety.sandbox import Probe


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    home = tmp_path / "home"
    for folder in ("go", ".ssh/keys", ".config/crewyard/x", "code/repo/src"):
        (home / folder).mkdir(parents=True)
    return Environment(variables={}, home=home, user_folder=home / ".config/crewyard")


def granted(environment: Environment, *texts: str) -> tuple[tuple[Path, ...], list[str]]:
    root = environment.home / "code/repo"
    return granted_folders(Settings(writable=texts), root, environment)


def test_granted_folders_when_a_cache_is_named_then_it_is_writable(
    environment: Environment, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    (tmp_path / "real").mkdir()
    cache.symlink_to(tmp_path / "real")

    folders, missing = granted(environment, "~/go", str(cache), "~/no-such")

    assert folders == (environment.home / "go", tmp_path / "real")
    assert missing == ["[sandbox] writable: there is no folder '~/no-such'."]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "/",
            "~/",
            "~/code",
            "~/code/repo",
            "~/code/repo/src",
            "~/.config",
            "~/.config/crewyard/x",
        ),
        *("~/.ssh", "~/.ssh/keys", "~/go/../.ssh"),
    ],
)
def test_granted_folders_when_one_would_let_workers_out_then_the_run_does_not_start(
    environment: Environment, text: str
) -> None:
    with pytest.raises(PersonFault, match="can't be made writable"):
        granted(environment, text)


@pytest.mark.parametrize(
    ("settings", "kind", "count"),
    [
        (Settings(), SandboxKind.LANDLOCK, 0),
        (Settings(worker_network="proxy", open_hosts=("a.io",)), SandboxKind.BWRAP, 0),
        (Settings(worker_network="proxy", open_hosts=("a.io",)), SandboxKind.LANDLOCK, 1),
        (Settings(mcp_network="proxy"), SandboxKind.BWRAP, 1),
    ],
)
def test_network_warnings_when_a_setting_does_nothing_then_it_is_told(
    settings: Settings, kind: SandboxKind, count: int
) -> None:
    assert len(network_warnings(settings, Probe(kind=kind, why=""))) == count
