"""Where this program's own entry lies, for processes that are to run it again."""

import sys
from pathlib import Path

MAIN = Path(__file__).resolve().parents[2] / "main.py"
WORKER_ARGV = (sys.executable, str(MAIN), "worker-process")
"""A worker's process."""
