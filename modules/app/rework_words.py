"""What a worker is told of work that came back from the merge queue, and of an earlier one's.

Only the log of a check is read; the rest is pure.
"""

from collections.abc import Sequence
from pathlib import Path

from modules.git.refs import CONFLICTS
from modules.records.merges import Conflict, Entry, EntryStatus
from modules.team.handover import Handover

_LOG_CHARACTERS = 4_000
_MOST_HUNKS = 10


def conflict_lines(conflicts: Sequence[Conflict]) -> list[str]:
    """Returns where work conflicts, who brought the other side, and the first places."""
    lines = []
    for number, conflict in enumerate(conflicts):
        landed = ", ".join(conflict.landed_by)
        lines.append(
            f"- {conflict.path} ({conflict.kind})" + (f", landed by: {landed}" if landed else "")
        )
        if conflict.hunk and number < _MOST_HUNKS:
            lines.append(conflict.hunk)
    return lines


def failure_lines(entry: Entry, root: Path) -> list[str]:
    """Returns how the check of an entry failed, with the end of its log; `root` is ours."""
    lines = [f"The check failed on the merged tree: {entry.reason}"]
    if (receipt := entry.receipt) is not None:
        lines.append(f"Command: {receipt.command} (exit code {receipt.exit_code})")
        log = root / receipt.log
        if receipt.log and log.is_file():
            text = log.read_text(encoding="utf-8", errors="replace")
            lines.append(text[-_LOG_CHARACTERS:])
    return lines


def handover_words(handover: Handover, *, landed_ref: str, root: Path) -> str:
    """Returns what the worker of a new attempt has to know of the work it goes on with."""
    work, entry, commit = handover.work, handover.entry, handover.commit[:12]
    handed_in = f"Attempt {work.attempt} ({work.worker}) handed in work for this task"
    if entry is None:
        lines = [f"{handed_in}, and ended before its review was given."]
    else:
        lines = [f"{handed_in}, entry {entry.entry_id} of the merge queue, and it came back."]
    if handover.start:
        lines.append(
            f"Your branch begins with that work, on top of what has landed: see `git log -p "
            f"{landed_ref}..HEAD`. Go on with it; don't do it again."
        )
    else:
        lines.append(
            f"Your branch begins without it, for it conflicts with what has landed. To go on with "
            f"it, run `git merge {commit}` here and resolve; don't do it again."
        )
    if entry is not None:
        lines += _reasons(entry, root)
    if handover.has_uncommitted:
        lines.append(
            f"What was not committed is in {handover.kept_in}: `git diff {commit} "
            f"{handover.kept_in}`."
        )
    return "\n".join(lines)


def _reasons(entry: Entry, root: Path) -> list[str]:
    """Returns why an entry came back."""
    if entry.status is not EntryStatus.CONFLICTED:
        return failure_lines(entry, root)
    return [
        "It conflicted with what had landed then:",
        *conflict_lines(entry.conflicts),
        f"The merge with its markers is {CONFLICTS}{entry.entry_id}.",
    ]
