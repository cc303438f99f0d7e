"""The lines a console begins with: where it works, with what, and what one would not expect."""

from collections import Counter
from collections.abc import Iterator

from modules.app.cli_options import LAST
from modules.app.event_words import SHORT
from modules.app.run import Run
from modules.records.tasks import TaskStatus

NO_CHECK = "none, so no work can land; set one with --check CMD, or check in team.toml"
_STYLE_OF_TROUBLE = "bold red"
_OVER = (TaskStatus.COMPLETED, TaskStatus.CANCELLED)


def first_lines(run: Run, *, unused: str) -> Iterator[tuple[str, str]]:
    """Yields lines with their styles; `unused` tells which settings are not used and why."""
    house = run.house
    where = f"{house.paths.root.name} on {house.repository.target}"
    yield f"Crewyard in {where} at {house.queue.landed[:SHORT]}", "bold"
    lead = house.models.name(house.settings.model)
    workers = house.models.name(house.settings.worker_model or house.settings.model)
    yield _row("model", lead if lead == workers else f"{lead}; workers: {workers}"), ""
    check = house.settings.check
    yield _row("check", check or NO_CHECK), "" if check else "yellow"
    if house.sandbox.is_jail:
        yield _row("sandbox", str(house.sandbox.kind)), ""
    else:
        yield _row("sandbox", f"none. {house.sandbox.why}"), _STYLE_OF_TROUBLE
    if unused:
        yield _row("trust", unused), "yellow"
    if run.resume:
        which = "the last one" if run.resume == LAST else run.resume
        yield _row("resumed", f"{which}; what it says of the crew may be old"), ""
    counts = Counter(task.status for task in house.board.tasks() if task.status not in _OVER)
    if counts:
        board = ", ".join(f"{count} {status}" for status, count in counts.items())
        yield _row("board", board), ""
    yield "Say what you want. /help lists the commands.", "dim"


def _row(name: str, text: str) -> str:
    return f"  {name:8} {text}"
