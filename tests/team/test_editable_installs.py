"""Environments that would test the main checkout's code in a worktree are found and outdone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from modules.team.editable_installs import (
    EditableInstall,
    editable_installs,
    python_environments,
    python_path,
)

FINDER = """\
from __future__ import annotations
import sys
MAPPING: dict[str, str] = {{'pkg': {place!r}}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        from importlib.util import spec_from_file_location
        if name in MAPPING:
            return spec_from_file_location(name, MAPPING[name] + '/__init__.py')
def install():
    sys.meta_path.append(Finder)
"""


def make_environment(checkout: Path, kind: str) -> Path:
    """Makes an environment in the checkout that has its package `pkg` installed editable."""
    environment = checkout / ".venv"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=60
    )
    (site,) = environment.glob("lib/python3*/site-packages")
    if kind == "path":
        (site / "_pkg.pth").write_text(f"# ours\n{checkout / 'src'}\n")
    else:
        place = str(checkout / "src" / "pkg")
        (site / "__editable___pkg_1_0_finder.py").write_text(FINDER.format(place=place))
        line = "import __editable___pkg_1_0_finder; __editable___pkg_1_0_finder.install()"
        (site / "__editable__.pkg-1.0.pth").write_text(line)
    return environment


def imported_from(environment: Path, lane: Path, variables: dict[str, str]) -> Path:
    done = subprocess.run(
        [environment / "bin" / "python", "-c", "import pkg; print(pkg.__file__)"],
        cwd=lane,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return Path(done.stdout.strip())


@pytest.mark.parametrize("kind", ["path", "finder"])
def test_python_path_when_the_checkout_is_installed_editable_then_the_lanes_code_is_imported(
    tmp_path: Path, kind: str
) -> None:
    checkout, lane = tmp_path / "checkout", tmp_path / "checkout" / ".worktrees" / "t1-1"
    for root in (checkout, lane):
        (root / "src" / "pkg").mkdir(parents=True)
        (root / "src" / "pkg" / "__init__.py").touch()
    environment = make_environment(checkout, kind)
    assert imported_from(environment, lane, {}) == checkout / "src" / "pkg" / "__init__.py"

    environments = python_environments("", checkout, [])
    installs = editable_installs(environments, checkout)
    variables = dict(python_path(installs, lane))

    assert installs == [EditableInstall(environment, (Path("src"),))]
    assert imported_from(environment, lane, variables) == lane / "src" / "pkg" / "__init__.py"


def test_installs_that_lead_elsewhere_or_can_not_be_read_are_none(tmp_path: Path) -> None:
    checkout, environment = tmp_path / "checkout", tmp_path / "environment"
    site = environment / "lib" / "python3.11" / "site-packages"
    own = checkout / ".venv" / "lib" / "python3.11" / "site-packages"
    for folder in (site, own, tmp_path / "other"):
        folder.mkdir(parents=True)
    (site / "a.pth").write_text(f"{tmp_path / 'other'}\nimport os\n\nsub\n")
    (site / "__editable___b_finder.py").write_text("MAPPING = {'b': broken()}\n")
    (own / "own.pth").write_text("vendored\n")

    assert editable_installs([environment, checkout / ".venv"], checkout) == []
    assert python_path([], tmp_path) == {}


def test_environments_are_those_of_the_path_and_of_the_checkout(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for folder in (tmp_path / "active", checkout / ".venv", checkout / "tools" / "env"):
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python3").touch()
    (tmp_path / "empty" / "bin").mkdir(parents=True)
    path = f"{tmp_path}/active/bin:{tmp_path}/empty/bin:relative:{checkout}/.venv/bin"

    assert python_environments(path, checkout, ["tools/env"]) == [
        tmp_path / "active",
        checkout / ".venv",
        checkout / "tools" / "env",
    ]
