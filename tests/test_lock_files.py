"""The lock files: they pin what pyproject.toml asks for, and name no machine."""

import re
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9A-Za-z.+!]+)( ; [a-z_]+ .+)?")
DEMAND = re.compile(r"[A-Za-z0-9._-]+")


def lines_of(lock: str) -> list[str]:
    lines = (PROJECT / lock).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def names_of(lock: str) -> set[str]:
    return {line.partition("==")[0] for line in lines_of(lock)}


def normalized(demand: str) -> str:
    """Returns a requirement's name as the packaging specification writes it (PEP 503)."""
    match = DEMAND.match(demand)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match.group()).lower()


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_lock_holds_pins_and_nothing_else(lock: str) -> None:
    odd = [line for line in lines_of(lock) if not PIN.fullmatch(line) or "/" in line]

    assert odd == []


def test_locks_pin_everything_the_project_asks_for() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))

    runtime = {normalized(demand) for demand in project["project"]["dependencies"]}
    dev = {normalized(demand) for demand in project["dependency-groups"]["dev"]}

    assert runtime - names_of("requirements.lock") == set()
    assert dev - names_of("requirements-dev.lock") == set()


def test_both_locks_agree_on_the_versions_they_share() -> None:
    runtime, dev = lines_of("requirements.lock"), lines_of("requirements-dev.lock")
    shared = names_of("requirements.lock") & names_of("requirements-dev.lock")

    pins = {line.split(" ;")[0] for line in (*runtime, *dev)}

    assert len([pin for pin in pins if pin.partition("==")[0] in shared]) == len(shared)
