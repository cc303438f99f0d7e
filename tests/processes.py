"""Real Python processes for tests, each running a piece of code beside our packages."""

import subprocess
import sys
import textwrap
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def start_python(code: str, *args: object) -> "subprocess.Popen[str]":
    """Starts `code` with `args` in sys.argv[1:]; its output and its input are pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run_python(code: str, *args: object, timeout: float = 60) -> str:
    """Runs `code` to its end and returns what it printed."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if result.returncode:
        raise AssertionError(result.stderr)
    return result.stdout
