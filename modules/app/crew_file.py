"""What a lead last wrote of itself and its workers, for another shell to read."""

from pathlib import Path

import msgspec

from modules.records.crew import CrewView


def read_crew(path: Path) -> CrewView | None:
    """Returns what the lead last wrote of its crew; None where that can't be read, or never was."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=CrewView)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
