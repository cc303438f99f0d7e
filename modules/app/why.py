"""Tells why a task stands where it stands: the chain of who decided what, when, on what.

The chain is read from the journals: the board's, the merge queue's, and the gate's decisions in the
sessions of the task's attempts.
"""

from collections.abc import Iterator
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
from modules.records.queue_records import (
    AnyQueueRecord,
    EntrySettled,
    EntrySubmitted,
    LandingDone,
    ReviewGiven,
)
from modules.records.record import Record
from modules.records.session_records import AnySessionRecord, CallDecided, SessionOpened
from modules.store.journal import Journal
from modules.store.paths import Paths
from modules.team.board_rules import task_of


class Cause(Record):
    """One link of the chain."""

    at: datetime
    by: str
    what: str
    why: str = ""


def causes_of(paths: Paths, task_id: int) -> list[Cause]:
    """Returns the chain of one task, oldest first."""
    found = [
        *_board_causes(paths, task_id),
        *_queue_causes(paths, task_id),
        *_gate_causes(paths, task_id),
    ]
    return sorted(found, key=lambda cause: cause.at)


def _board_causes(paths: Paths, task_id: int) -> Iterator[Cause]:
    records: list[AnyBoardRecord] = []
    Journal(paths.board, AnyBoardRecord, apply=records.append).catch_up()
    for record in records:
        if task_of(record) == task_id and not isinstance(record, LeaseRenewed):
            what, why = _board_words(record)
            yield Cause(at=record.at, by=record.by, what=what, why=why)


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
    for record in records:
        match record:
            case EntrySubmitted(entry_id=entry_id, submission=work):
                if work.task == task_id:
                    entries.add(entry_id)
                    what = f"entry {entry_id} pins {work.commit[:12]} ({len(work.files)} files)"
                    yield Cause(at=record.at, by="queue", what=what)
            case EntrySettled(entry_id=entry_id, status=status, reason=reason):
                if entry_id in entries:
                    what = f"entry {entry_id} is {status}"
                    yield Cause(at=record.at, by="queue", what=what, why=reason)
            case LandingDone(entry_id=entry_id, to_commit=commit):
                if entry_id in entries:
                    what = f"entry {entry_id} landed as {commit[:12]}"
                    yield Cause(at=record.at, by="queue", what=what)
            case ReviewGiven(task=task, commit=commit) if task == task_id:
                what = f"{commit[:12]} is {'approved' if record.accepts else 'sent back'}"
                yield Cause(at=record.at, by=record.by, what=what, why=record.words)
            case _:
                continue


def _gate_causes(paths: Paths, task_id: int) -> Iterator[Cause]:
    for path in sorted(paths.sessions.glob(f"t{task_id}-*.jsonl")):
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
            by="gate",
            what=f"{record.tool} of {opened.agent} {verb} ({decision.risk}, mode {record.mode})",
            why=decision.why,
        )
