"""What a lead last wrote of itself and its workers, for another shell to read."""

from pathlib import Path

import msgspec

from modules.records.crew import CrewView, WorkerView
from modules.store.locks import read_lead_pid
from modules.store.paths import Paths


def read_crew(path: Path) -> CrewView | None:
    """Returns what the lead last wrote of its crew; None where that can't be read, or never was."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=CrewView)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def crew_at_work(paths: Paths) -> tuple[WorkerView, ...]:
    """Returns the workers of the lead that runs now; nobody where none does."""
    view = read_crew(paths.crew)
    if view is None or read_lead_pid(paths.lead_lock) is None:
        return ()
    return view.workers
