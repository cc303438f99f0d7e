"""The house has floors: a file imports its own package or lower ones, by absolute names.

This table is the truth about the floors. A new package is written into it, or the tests fail.
"""

import ast
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
FLOORS = {
    "modules": -1,  # the folder itself: the version and nothing else
    "modules.records": 0,
    "modules.store": 1,
    "modules.providers": 2,
    "modules.git": 2,
    "modules.safety": 2,
    "modules.context": 2,
    "modules.knowledge": 2,
    "modules.schedule": 2,
    "modules.mcp_client": 2,
    "modules.agent": 3,
    "modules.team": 3,
    "tools": 4,
    "modules.app": 5,
    "main": 6,
}
APART = frozenset({"mcp_servers"})
"""Programs of their own: nothing of ours imports them, they import nothing of ours."""
OURS = frozenset({"modules", "tools", "main", "mcp_servers", "tests"})
HIDDEN_IMPORTS = frozenset({"import_module", "__import__"})


def package_of(module: str) -> str:
    """Returns the package of the table a module is in."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "modules" else parts[0]


def modules_of_ours() -> dict[str, Path]:
    """Returns every module below the floors, by its name."""
    files = [PROJECT / "main.py"]
    for folder in ("modules", "tools", "mcp_servers"):
        files += sorted((PROJECT / folder).rglob("*.py"))
    names = {file: file.relative_to(PROJECT).with_suffix("").parts for file in files}
    return {
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts): file
        for file, parts in names.items()
    }


def imports_of(source: str) -> list[tuple[int, str]]:
    """Returns what a file imports anywhere in it, with the line; relative names as they stand."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            found += [(node.lineno, _imported(base, alias.name)) for alias in node.names]
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in HIDDEN_IMPORTS:
                found.append((node.lineno, f"{name}()"))
    return sorted(set(found))


def _imported(base: str, name: str) -> str:
    """Returns what `from base import name` imports: of a folder, its modules."""
    is_package = base == "modules" and f"modules.{name}" in FLOORS
    return f"{base}.{name}" if is_package else base


def trespasses(module: str, source: str) -> list[str]:
    """Returns a line for each import a module may not make."""
    own = package_of(module)
    found = []
    for line, name in imports_of(source):
        other = package_of(name)
        if name.startswith("."):
            why = "is relative"
        elif name.endswith("()"):
            why = "hides what it imports"
        elif name.split(".")[0] not in OURS or other == own:
            continue
        elif own in APART or other in APART:
            why = "crosses to a program apart"
        elif other not in FLOORS:
            why = "is on no floor"
        elif FLOORS[other] >= FLOORS[own]:
            why = f"goes from floor {FLOORS[own]} to floor {FLOORS[other]}"
        else:
            continue
        found.append(f"{module}:{line} {name} {why}")
    return found


def test_every_package_is_on_a_floor_and_every_floor_has_its_package() -> None:
    packages = {package_of(module) for module in modules_of_ours()}

    assert packages - APART <= set(FLOORS)
    assert all(
        (PROJECT / package.replace(".", "/")).is_dir() or package == "main" for package in packages
    )


@pytest.mark.parametrize("module", modules_of_ours())
def test_module_imports_its_own_package_or_lower_floors_alone(module: str) -> None:
    source = modules_of_ours()[module].read_text(encoding="utf-8")

    assert trespasses(module, source) == []


@pytest.mark.parametrize(
    ("module", "source", "why"),
    [
        ("modules.store.files", "import modules.team.globs", "goes from floor 1 to floor 3"),
        ("modules.store.files", "from modules import team", "goes from floor 1 to floor 3"),
        ("modules.agent.loop", "from modules.team import globs", "goes from floor 3 to floor 3"),
        ("modules.git.refs", "from modules.safety.fence import Fence", "floor 2 to floor 2"),
        ("tools.board", "from modules.app.crew import Crew", "goes from floor 4 to floor 5"),
        ("modules.records.mail", "import tools", "goes from floor 0 to floor 4"),
        ("modules.app.cli", "import main", "goes from floor 5 to floor 6"),
        ("modules.app.cli", "from tests.repos import Repo", "is on no floor"),
        ("modules.app.cli", "import modules.newest", "is on no floor"),
        ("modules.app.cli", "import mcp_servers.echo_server", "crosses to a program apart"),
        ("mcp_servers.echo_server", "from modules.records import mail", "a program apart"),
        ("modules", "from modules.records import mail", "goes from floor -1 to floor 0"),
        ("modules.store.files", "from . import locks", "is relative"),
        ("modules.store.files", "from .locks import held", "is relative"),
        ("modules.store.files", "import importlib\nimportlib.import_module('x')", "hides"),
        ("modules.store.files", "__import__('modules.team')", "hides"),
        (
            "modules.store.files",
            "def f():\n    if True:\n        from modules.app import crew",
            "goes from floor 1 to floor 5",
        ),
        (
            "modules.store.files",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import modules.app.crew",
            "goes from floor 1 to floor 5",
        ),
    ],
)
def test_trespass_is_seen_wherever_it_hides(module: str, source: str, why: str) -> None:
    found = trespasses(module, source)

    assert len(found) == 1
    assert why in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("modules.store.files", "import os\nfrom modules.store.locks import locked"),
        ("modules.store.files", "from modules.records.errors import PersonFault"),
        ("modules.agent.loop", "from modules.context.session import Session"),
        ("main", "def main():\n    from modules.app.cli import main"),
        ("main", "def main():\n    from modules import VERSION"),
        ("mcp_servers.echo_server", "import mcp_servers.parts\nfrom mcp.server import MCPServer"),
        ("modules.app.cli", "from tools.catalog import LANE_TOOLS\nimport tomllib"),
    ],
)
def test_allowed_imports_are_no_trespass(module: str, source: str) -> None:
    assert trespasses(module, source) == []
