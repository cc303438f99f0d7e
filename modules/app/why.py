"""Tells why a task stands where it stands: the chain of who decided what, when, on what.

The chain is read from the journals: the board's, the merge queue's, and the gate's decisions in the
sessions of the task's attempts. A task that waits for others stands where it does because of what
happened to those, so their links belong to its chain.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import assert_never

from modules.records.board_records import (
    AnyBoardRecord,
    ClaimRecord,
    LaneBound,
    LeaseRenewed,
    TaskAdded,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskEdited,
    TaskFailed,
    TaskParked,
    TaskReleased,
    TaskRetried,
    TaskReworked,
    TaskSubmitted,
)
from modules.records.decisions import Behavior
from modules.records.merges import Receipt
from modules.records.queue_records import (
    AnyQueueRecord,
    EntryReturned,
    EntrySettled,
    EntrySubmitted,
    LandingDone,
    LandingIntended,
    ReviewGiven,
)
from modules.records.record import Record
from modules.records.session_records import AnySessionRecord, CallDecided, SessionOpened
from modules.records.tasks import Task, TaskStatus
from modules.store.journal import Journal
from modules.store.paths import Paths
from modules.team.board_rules import task_of


class Cause(Record):
    """One link of the chain."""

    at: datetime
    task: int
    """The one it happened to."""
    by: str
    what: str
    why: str = ""


def causes_of(paths: Paths, tasks: Mapping[int, Task], task_id: int) -> list[Cause]:
    """Returns the chain of one of the board's tasks, oldest first."""
    found: list[Cause] = []
    for current in sorted(_itself_and_what_holds_it(tasks, task_id)):
        found += _board_causes(paths, current)
        found += _queue_causes(paths, current)
        found += _gate_causes(paths, current)
    return sorted(found, key=lambda cause: cause.at)


def words_of(cause: Cause) -> str:
    """Returns what happened and why, on one line."""
    if not cause.why or cause.why.startswith(cause.what):
        return cause.why or cause.what
    return f"{cause.what}: {cause.why}"


def _itself_and_what_holds_it(tasks: Mapping[int, Task], task_id: int) -> list[int]:
    """Returns a task and all that it waits for still, directly or not."""
    found = [task_id]
    for current in found:
        task = tasks.get(current)
        if task is None or task.status is TaskStatus.COMPLETED:
            continue
        for other in task.draft.after:
            waits = other in tasks and tasks[other].status is not TaskStatus.COMPLETED
            if waits and other not in found:
                found.append(other)
    return found


def _board_causes(paths: Paths, task_id: int) -> Iterator[Cause]:
    records: list[AnyBoardRecord] = []
    Journal(paths.board, AnyBoardRecord, apply=records.append).catch_up()
    for record in records:
        if task_of(record) == task_id and not isinstance(record, LeaseRenewed):
            what, why = _board_words(record)
            yield Cause(at=record.at, task=task_id, by=record.by, what=what, why=why)


def _board_words(record: AnyBoardRecord) -> tuple[str, str]:
    if isinstance(record, ClaimRecord):
        return _claim_words(record)
    match record:
        case TaskAdded(draft=draft):
            after = f", after {', '.join(map(str, draft.after))}" if draft.after else ""
            return f"posted: {draft.subject}{after}", ""
        case TaskEdited(draft=draft):
            return f"described anew: {draft.subject}", ""
        case TaskCompleted(reason=reason, landed_as=landed_as):
            return (f"completed, landed as {landed_as[:12]}" if landed_as else "completed"), reason
        case TaskFailed(reason=reason):
            return "given up", reason
        case TaskParked(reason=reason, until=until):
            return (f"parked until {until:%Y-%m-%d %H:%M:%S}" if until else "parked"), reason
        case TaskCancelled(reason=reason):
            return "cancelled", reason
        case TaskRetried(reason=reason):
            return "put back", reason
        case _:
            assert_never(record)


def _claim_words(record: ClaimRecord) -> tuple[str, str]:
    attempt = f"attempt {record.claim.attempt}"
    match record:
        case TaskClaimed():
            return f"claimed, {attempt} begins", ""
        case LaneBound(lane=lane, base=base):
            return f"{attempt} works in the lane {lane}, made from {base[:12]}", ""
        case TaskSubmitted(entry=entry):
            return f"{attempt} handed in as entry {entry}", ""
        case TaskReworked(reason=reason):
            return f"{attempt} got its work back", reason
        case TaskReleased(reason=reason, is_failure=is_failure):
            return f"{attempt} ended" + ("" if is_failure else ", not held against it"), reason
        case _:
            return type(record).__name__, ""


def _queue_causes(paths: Paths, task_id: int) -> Iterator[Cause]:
    records: list[AnyQueueRecord] = []
    Journal(paths.queue, AnyQueueRecord, apply=records.append).catch_up()
    entries: set[int] = set()
    proofs: dict[int, str] = {}
    for record in records:
        by, what, why = "queue", "", ""
        match record:
            case EntrySubmitted(entry_id=entry_id, submission=work) if work.task == task_id:
                entries.add(entry_id)
                what = f"entry {entry_id} pins {work.commit[:12]} ({work.files_counted})"
            case EntryReturned(entry_id=entry_id, reason=why) if entry_id in entries:
                what = f"entry {entry_id} waits again"
            case EntrySettled(entry_id=entry_id, status=status, reason=why) if entry_id in entries:
                what = f"entry {entry_id} is {status}"
            case LandingIntended(landings=landings):
                proofs |= {landing.entry_id: _proof(landing.receipt) for landing in landings}
            case LandingDone(entry_id=entry_id, to_commit=commit) if entry_id in entries:
                what, why = f"entry {entry_id} landed as {commit[:12]}", proofs.get(entry_id, "")
            case ReviewGiven(task=task, commit=commit, words=why) if task == task_id:
                by = record.by
                what = f"{commit[:12]} is {'approved' if record.accepts else 'sent back'}"
            case _:
                continue
        if what:
            yield Cause(at=record.at, task=task_id, by=by, what=what, why=why)


def _proof(receipt: Receipt) -> str:
    """Returns a receipt in words."""
    if not receipt.command:
        return ""
    return (
        f"`{receipt.command}` {receipt.outcome} in {receipt.seconds:.1f} s on {receipt.tree[:12]}"
    )


def _gate_causes(paths: Paths, task_id: int) -> Iterator[Cause]:
    folder = paths.sessions
    own, subagents = folder.glob(f"t{task_id}-*.jsonl"), folder.glob(f"sub-t{task_id}-*.jsonl")
    for path in sorted([*own, *subagents]):
        yield from _denials(path, task_id)


def _denials(path: Path, task_id: int) -> Iterator[Cause]:
    """Yields what the gate refused in one session, and what a person allowed."""
    records: list[AnySessionRecord] = []
    Journal(path, AnySessionRecord, apply=records.append).catch_up()
    opened = next((r for r in records if isinstance(r, SessionOpened)), None)
    if opened is None or opened.task != task_id:
        return
    for record in records:
        if not isinstance(record, CallDecided):
            continue
        decision = record.decision
        if decision.behavior is Behavior.ALLOW and decision.source != "person":
            continue
        verb = "allowed" if decision.behavior is Behavior.ALLOW else "denied"
        yield Cause(
            at=record.at,
            task=task_id,
            by="gate",
            what=f"{record.tool} of {opened.agent} {verb} ({decision.risk}, mode {record.mode})",
            why=decision.why,
        )
