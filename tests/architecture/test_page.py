"""ARCHITECTURE.md: its tables are the program's, and the files it names are there."""

import re

from modules.safety.hook_matching import HookEvent
from tests.architecture.test_floors import FLOORS, PROJECT

PAGE = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FLOOR_ROW = re.compile(r"^\| (\d) \| `([a-z_/.]+)` \|", re.MULTILINE)
FILE = re.compile(r"`([a-z_]+(?:/[a-z_]+)*\.(?:py|md|toml))`")


def test_floors_of_the_page_are_the_floors_of_the_house() -> None:
    page = {
        name.removesuffix(".py").replace("/", "."): int(floor)
        for floor, name in FLOOR_ROW.findall(PAGE)
    }

    house = {
        name: floor
        for name, floor in FLOORS.items()
        if floor >= 0 and any(PROJECT.glob(f"{name.replace('.', '/')}*"))
    }

    assert page == house


def test_hook_events_of_the_page_are_those_there_are() -> None:
    section = PAGE.split("## Hook events\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]

    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]

    assert sorted(named) == sorted(HookEvent)


def test_files_the_page_names_are_there() -> None:
    folders = (PROJECT, PROJECT / "modules", *(PROJECT / "modules").iterdir(), PROJECT / "tools")

    missing = {
        name
        for name in FILE.findall(PAGE)
        if not any((folder / name).is_file() for folder in folders)
    }

    assert missing == set()
