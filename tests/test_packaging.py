"""The wheel: `crewyard` is the same program as `python main.py`, with all it needs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGES = ("modules", "tools", "mcp_servers")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is packed: setuptools leaves its traces beside what it builds."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "main.py"):
        shutil.copy(PROJECT / name, source)
    for name in PACKAGES:
        shutil.copytree(PROJECT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    return source


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network."""
    wheels = tmp_path_factory.mktemp("wheels")
    run([sys.executable, "-c", BUILD, str(wheels)], at=source)
    (made,) = wheels.glob("crewyard-*.whl")
    return made


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_program(source: Path, wheel: Path) -> None:
    program = {"main.py"} | {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file()
    }

    packed = set(ZipFile(wheel).namelist())

    assert program - packed == set()
    assert {name.partition("/")[0] for name in packed} == {
        "main.py",
        *PACKAGES,
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
    }


@pytest.mark.slow
def test_unpacked_wheel_runs_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    ZipFile(wheel).extractall(site)
    elsewhere.mkdir()
    (command,) = site.glob("*.dist-info/entry_points.txt")

    told = run(
        [sys.executable, "-c", "import sys, main; sys.exit(main.main())", "--help"],
        at=elsewhere,
        variables={"PYTHONPATH": str(site)},
    )

    assert "crewyard = main:main" in command.read_text(encoding="utf-8")
    assert "a crew of coding agents on one git repository" in " ".join(told.split())


def run(argv: list[str], *, at: Path, variables: Mapping[str, str] | None = None) -> str:
    result = subprocess.run(
        argv,
        cwd=at,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
