"""The merge queue as other shells and scripts see it."""

from collections.abc import Iterable, Mapping

from modules.records.merges import Entry
from modules.records.queue_records import AnyQueueRecord, ReviewAsked
from modules.store.journal import Journal
from modules.store.paths import Paths
from modules.team.queue_state import QueueState

_SHOWN = 10


def read_entries(paths: Paths) -> list[Entry]:
    """Returns the entries of a repository's queue, oldest first; writes nothing."""
    state = read_queue(paths)
    return [state.entries[key] for key in sorted(state.entries)]


def read_queue(paths: Paths) -> QueueState:
    """Returns how a repository's queue stands; writes nothing."""
    state = QueueState()

    def fold(record: AnyQueueRecord) -> None:
        state.apply(record)

    journal = Journal(paths.queue, AnyQueueRecord, apply=fold)
    journal.catch_up()
    journal.close()
    return state


def alarm_lines(state: QueueState) -> list[str]:
    """Returns how targets fail their own check, a line each."""
    return [alarm.why for alarm in state.alarms.values()]


def flake_line(state: QueueState) -> str:
    """Returns which tests failed and then passed, and how often; empty when none did."""
    counts = [f"{name!r} {count} times" for name, count in state.flakes.most_common(_SHOWN)]
    left = len(state.flakes) - len(counts)
    more = f" and {left} more" if left else ""
    return f"Failed and then passed: {', '.join(counts)}{more}." if counts else ""


def review_line(asked: ReviewAsked) -> str:
    """Returns what waits for a review, and how to give it."""
    work, whose = asked.submission, "your" if asked.of == "person" else f"the {asked.of}'s"
    return (
        f"task {work.task} {work.subject} waits for {whose} review: {work.branch} "
        f"{work.commit[:12]}, {work.files_counted}; `git diff {work.base[:12]} "
        f"{work.commit[:12]}`, then `crewyard queue approve {work.task}` or `reject`"
    )


def unproven(entries: Iterable[Entry]) -> list[str]:
    """Returns the landed commits whose own tree was not checked, oldest first."""
    return [e.landed_as for e in entries if e.proven_as not in ("", e.landed_as)]


def queue_json(entry: Entry, flakes: Mapping[str, int]) -> dict[str, object]:
    """Returns an entry as `queue --json` prints it; `flakes` are the counts of the whole queue."""
    work, receipt = entry.submission, entry.receipt
    return {
        "task": work.task,
        "branch": work.branch,
        "commit": work.commit,
        "base": work.base,
        "status": str(entry.status),
        "files": list(work.files),
        "receipt": None
        if receipt is None
        else {
            "tree": receipt.tree,
            "command": receipt.command,
            "outcome": str(receipt.outcome),
            "exit_code": receipt.exit_code,
            "seconds": receipt.seconds,
        },
        "landed_as": entry.landed_as,
        "proven_as": entry.proven_as,
        "flaky": {name: flakes.get(name, 0) for name in entry.flaky},
    }
