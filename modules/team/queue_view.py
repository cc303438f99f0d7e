"""The merge queue as other shells and scripts see it."""

from modules.records.merges import Entry
from modules.records.queue_records import AnyQueueRecord
from modules.store.journal import Journal
from modules.store.paths import Paths
from modules.team.queue_state import QueueState


def read_entries(paths: Paths) -> list[Entry]:
    """Returns the entries of a repository's queue, oldest first; writes nothing."""
    state = QueueState()

    def fold(record: AnyQueueRecord) -> None:
        state.apply(record)

    journal = Journal(paths.queue, AnyQueueRecord, apply=fold)
    journal.catch_up()
    journal.close()
    return [state.entries[key] for key in sorted(state.entries)]


def queue_json(entry: Entry) -> dict[str, object]:
    """Returns an entry as `queue --json` prints it."""
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
    }
