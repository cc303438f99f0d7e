"""Says what happens in a run, a line an event, each change once; pure but for what was said.

1. A task is told where it changes hands: posted, taken, handed in, landed, sent back, given up.
   That it is in review, or at work again after a review, follows from what the queue says.
2. A landing is told once, by whichever comes first of the queue's word and the board's.
3. Of a reason the first sentence is told; the rest is for the one who must act on it.
4. Starts and ends of workers are not told: what they take and hand in is.
5. A call is told where it starts, and where it fails. One that failed before it could start (no
   such tool, an input that does not fit) is a warning: nothing else would be heard of it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from modules.app.visible_text import visible_line
from modules.records.events import (
    AnyEvent,
    CallDenied,
    CallEnded,
    CallStarted,
    ClashForeseen,
    ConversationCompacted,
    CrewHeld,
    EntryChanged,
    ModeChanged,
    Noticed,
    RunStarted,
    TargetFails,
    TargetHeld,
    TaskChanged,
    TaskStuck,
)

SHORT = 8
"""Characters of a commit that people are shown."""
_SHOWN_FILES = 5
_ROOM_MADE = {
    "outputs": "old outputs went to files",
    "summary": "the older part is summed up",
    "no_summary": "the older part is left out without a summary",
}


class Tone(StrEnum):
    """How a line is meant."""

    QUIET = "quiet"
    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Told:
    """A line for people."""

    text: str
    tone: Tone


class Teller:
    """Tells one run's events."""

    def __init__(self) -> None:
        self._tasks: dict[int, TaskChanged] = {}
        self._landed: set[tuple[int, str]] = set()
        self._running: set[tuple[str, str]] = set()

    def tell(self, event: AnyEvent) -> Told | None:
        """Returns the line for an event; None where none is worth it."""
        match event:
            case RunStarted():
                return _told(Tone.QUIET, f"{event.target} is at {event.target_commit[:SHORT]}")
            case TaskChanged():
                return self._task(event)
            case EntryChanged():
                return self._entry(event)
            case CallStarted() | CallDenied() | CallEnded():
                return self._call(event)
            case ModeChanged():
                return _told(Tone.WARNING, f"the mode is {event.mode} now, {_reach(event)}")
            case ConversationCompacted():
                return _told(Tone.QUIET, compaction_words(event))
            case (
                TaskStuck()
                | TargetHeld()
                | TargetFails()
                | ClashForeseen()
                | CrewHeld()
                | Noticed()
            ):
                return _told(Tone.WARNING, _warning(event))
            case _:
                return None

    def _call(self, event: CallStarted | CallDenied | CallEnded) -> Told | None:
        what, call = f"{event.agent}: {event.tool}", (event.agent, event.call_id)
        if isinstance(event, CallStarted):
            self._running.add(call)
            return _told(Tone.QUIET, f"{what} {event.text}")
        if isinstance(event, CallDenied):
            return _told(Tone.WARNING, f"{what} was refused: {event.why}")
        has_run = call in self._running
        self._running.discard(call)
        if not event.is_error:
            return None
        if has_run:
            return _told(Tone.QUIET, f"{what} failed", event.text)
        return _told(Tone.WARNING, f"{what} can't be run", event.text)

    def _task(self, event: TaskChanged) -> Told | None:
        before = self._tasks.get(event.task)
        self._tasks[event.task] = event
        if before is not None and _standing(before) == _standing(event):
            return None
        name = f"task {event.task}"
        match event.status:
            case "pending" if event.attempt == 0 and not event.reason:
                return _told(Tone.PLAIN, f"{name} is posted: {event.subject}")
            case "pending":
                return _told(Tone.WARNING, f"{name} goes back to the board", event.reason)
            case "in_progress":
                again = "" if event.attempt <= 1 else f", attempt {event.attempt}"
                taken = f"{event.worker} takes {name}{again}: {event.subject}"
                return None if _is_same_attempt(before, event) else _told(Tone.PLAIN, taken)
            case "in_review":
                return None
            case "completed" if event.landed_as:
                return self._landing(event.task, event.landed_as)
            case "completed":
                return _told(Tone.GOOD, f"{name} is done without a change", event.reason)
            case "parked" | "cancelled":
                return _told(Tone.WARNING, f"{name} is {event.status}", event.reason)
            case _:
                return _told(Tone.BAD, f"{name} is {event.status}", event.reason)

    def _entry(self, event: EntryChanged) -> Told | None:
        name = f"task {event.task}"
        match event.status:
            case "queued":
                return _told(Tone.QUIET, f"{name} is in the merge queue{self._subject(event.task)}")
            case "checking":
                return _told(Tone.QUIET, f"{name} is being checked")
            case "merged":
                return self._landing(event.task, event.landed_as)
            case "rejected":
                return _told(Tone.BAD, f"{name}: its work is rejected", event.reason)
            case "no_changes":
                return None
            case _:
                return _told(Tone.BAD, f"{name} can't land", event.reason)

    def _landing(self, task: int, commit: str) -> Told | None:
        if (task, commit) in self._landed:
            return None
        self._landed.add((task, commit))
        return _told(Tone.GOOD, f"task {task} has landed as {commit[:SHORT]}{self._subject(task)}")

    def _subject(self, task: int) -> str:
        known = self._tasks.get(task)
        return f": {known.subject}" if known is not None else ""


def _warning(
    event: TaskStuck | TargetHeld | TargetFails | ClashForeseen | CrewHeld | Noticed,
) -> str:
    match event:
        case TaskStuck():
            return f"task {event.task} does not get on: {event.why}"
        case TargetHeld():
            return f"{event.target} stays where it is: {event.why}"
        case TargetFails():
            return f"The queue blames no entry: {event.why}"
        case ClashForeseen():
            return clash_words(event)
        case CrewHeld():
            return f"The crew rests until /resume: {event.why}"
        case Noticed():
            return event.text
        case _:
            assert_never(event)


def clash_words(event: ClashForeseen) -> str:
    """Returns a coming conflict in words."""
    files = ", ".join(map(repr, event.files[:_SHOWN_FILES]))
    more = len(event.files) - _SHOWN_FILES
    where = f"{files} and {more} more" if more > 0 else files
    names = [f"task {task}" for task in event.tasks]
    who = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    if not event.has_landed:
        return f"{who} will conflict in {where}"
    by = " and ".join(f"task {task}" for task in event.landed_by)
    verb = "conflict" if len(names) > 1 else "conflicts"
    return f"{who} {verb} with what has landed{f' by {by}' if by else ''} in {where}"


def _reach(event: ModeChanged) -> str:
    if event.for_all or event.mode.rank < event.before.rank:
        return "for every agent's next call"
    return "for the lead and workers that begin from now on"


def compaction_words(event: ConversationCompacted) -> str:
    """Returns a compaction in words."""
    return (
        f"{event.agent}: the conversation is compacted from about {event.tokens_before:,} to "
        f"{event.tokens_after:,} tokens; {_ROOM_MADE[event.step]}"
    )


def first_sentence(text: str) -> str:
    """Returns the first sentence of the first line of `text`, without its full stop."""
    line = visible_line(text)
    sentence, _, _ = line.partition(". ")
    return sentence.rstrip(".")


def _told(tone: Tone, text: str, reason: str = "") -> Told:
    why = first_sentence(reason)
    return Told(visible_line(f"{text}: {why}" if why else text), tone)


def _standing(event: TaskChanged) -> tuple[str, str, int, str]:
    return event.status, event.worker, event.attempt, event.reason


def _is_same_attempt(before: TaskChanged | None, event: TaskChanged) -> bool:
    return (
        before is not None
        and before.status in ("in_progress", "in_review")
        and (before.worker, before.attempt) == (event.worker, event.attempt)
    )
