"""Where this program's own entry lies, for processes that are to run it again."""

from pathlib import Path

MAIN = Path(__file__).resolve().parents[2] / "main.py"
