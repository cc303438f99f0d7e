"""The tests' own guards: no test sees the person's environment, no gap passes in CI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GAPPED = """
import pytest

def test_runs(): pass

def test_lacks_something(): pytest.skip("needs a terminal")

def test_does_not_apply(): pytest.skip("only on another system")
"""


def test_environment_of_a_test_holds_no_key_and_a_home_of_its_own(own_environment: Path) -> None:
    keys = [name for name in os.environ if name.endswith("_API_KEY")]

    assert keys == []
    assert Path.home() == own_environment
    assert Path(os.environ["CREWYARD_HOME"]).is_relative_to(own_environment)


@pytest.mark.slow
def test_skip_for_a_missing_need_passes_at_home_and_fails_in_ci(tmp_path: Path) -> None:
    at_home = run_gapped(tmp_path, {})
    in_ci = run_gapped(tmp_path, {"CREWYARD_CI": "1"})

    assert at_home.returncode == 0
    assert in_ci.returncode == 1
    assert "test_gapped.py::test_lacks_something: needs a terminal" in in_ci.stdout
    assert "test_does_not_apply:" not in in_ci.stdout
    assert "1 passed, 2 skipped" in in_ci.stdout


def run_gapped(folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "test_gapped.py").write_text(GAPPED, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if name not in {"CI", "CREWYARD_CI"}}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--numprocesses=2"],
        cwd=folder,
        env={**clean, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
