"""What every test stands on: an environment of its own, and in CI no silent gaps."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

KEPT = frozenset({"CREWYARD_CI"})
DROPPED_PREFIXES = ("GIT_", "XDG_", "CREWYARD_", "ANTHROPIC_", "OPENAI_")
DROPPED_NAMES = frozenset({"COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "GITHUB_ACTIONS"})
SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET")
IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
}
GAP = "needs "
"""How the reason of a skip begins when the machine lacks what the test needs."""


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Gives one new folder after the other, cheaper than a numbered one a test."""
    parent = tmp_path_factory.mktemp("homes")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_environment(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps the person's settings, keys and git configuration out; returns the test's home."""
    for name in list(os.environ):
        if _is_dropped(name):
            monkeypatch.delenv(name)
    home = next(homes)
    home.mkdir()
    own = {"HOME": str(home), "CREWYARD_HOME": str(home / "crewyard"), **IDENTITY}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return home


def _is_dropped(name: str) -> bool:
    if name in KEPT:
        return False
    return (
        name.startswith(DROPPED_PREFIXES) or name in DROPPED_NAMES or name.endswith(SECRET_ENDINGS)
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes gaps count where everything a test needs was to be installed."""
    if os.environ.get("CI") or os.environ.get("CREWYARD_CI"):
        config.pluginmanager.register(Gaps(), "gaps")


class Gaps:
    """Fails the session when a test was skipped for want of something CI has to have."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.found and session.exitstatus in {
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        }:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.found:
            terminalreporter.section("skipped, but CI must run them", red=True, bold=True)
            for line in self.found:
                terminalreporter.line(line)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason.startswith(GAP):
                self.found.append(f"{report.nodeid}: {reason}")
