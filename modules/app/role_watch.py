"""Tells of tasks whose role no settings describe, whoever posted them; once for each role."""

from collections.abc import Collection

from modules.app.event_bus import EventBus
from modules.records.events import AnyEvent, TaskChanged
from modules.records.tasks import TaskStatus
from modules.team.role_rules import undescribed_role
from modules.team.task_board import TaskBoard

_TO_BE_DONE = (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)


class RoleWatch:
    """The watch of one run."""

    def __init__(self, board: TaskBoard, events: EventBus, *, described: Collection[str]) -> None:
        self._board = board
        self._events = events
        self._described = described
        self._told: set[str] = set()

    def take_event(self, event: AnyEvent) -> None:
        """Takes in an event of the run."""
        if not isinstance(event, TaskChanged) or event.status not in _TO_BE_DONE:
            return
        role = self._board.task(event.task).draft.role
        if role not in self._told and (words := undescribed_role(role, self._described)):
            self._told.add(role)
            self._events.notice(words)
