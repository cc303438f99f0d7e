"""What of a run's events the lead's model is told, and how; pure.

1. Told: a task that landed, completed without changes, failed, was parked or cancelled, or that
   does not get on; a target that could not follow, or does not pass its own check; a coming
   conflict; a crew that is held; mail to the lead.
2. Not told: starts, idling, heartbeats, queue positions. Status is data, it is read when wanted.
3. Several events become one message.
"""

from collections.abc import Iterable

from modules.app.event_words import clash_words
from modules.app.visible_text import visible_line
from modules.records.events import (
    AnyEvent,
    ClashForeseen,
    CrewHeld,
    TargetFails,
    TargetHeld,
    TaskChanged,
    TaskStuck,
)
from modules.records.tasks import TaskStatus
from modules.team.mailbox import without_our_tags

_TOLD = {
    TaskStatus.COMPLETED,
    TaskStatus.FAILED,
    TaskStatus.PARKED,
    TaskStatus.CANCELLED,
    TaskStatus.BLOCKED,
}


def event_line(event: AnyEvent) -> str:
    """Returns the line the lead's model reads of an event; empty when it is not told."""
    match event:
        case TaskChanged(status=status) if status in _TOLD:
            line = f"task {event.task} ({event.subject}) {_what(event)}"
            return f"{line}, by {event.worker}" if event.worker else line
        case TaskStuck():
            return f"task {event.task} ({event.subject}) does not get on: {event.why}"
        case TargetHeld():
            return f"{event.target} could not follow what has landed: {event.why}"
        case TargetFails():
            return f"{event.why} Entries keep their places; one that mends it lands."
        case CrewHeld():
            return f"the crew rests until the person lets it go on: {event.why}"
        case ClashForeseen():
            # Names of files are chosen by workers.
            words = without_our_tags(visible_line(clash_words(event)))
            return f"{words}; whoever works on it was told"
        case _:
            return ""


def events_message(lines: Iterable[str], mail: str) -> str:
    """Returns one message of several events and the mail; empty when there is neither."""
    parts = []
    told = list(lines)
    if told:
        parts.append("<team-events>\n" + "\n".join(told) + "\n</team-events>")
    if mail:
        parts.append(mail)
    return "\n".join(parts)


def _what(event: TaskChanged) -> str:
    if event.status == TaskStatus.COMPLETED:
        if event.landed_as:
            return f"landed as {event.landed_as[:12]}, attempt {event.attempt}"
        return f"completed without changes: {event.reason}"
    return f"is {event.status}: {event.reason}"
