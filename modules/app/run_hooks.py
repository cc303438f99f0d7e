"""The hooks of a run's own moments, beside those of calls.

1. Asked, and waited for: whether a prompt, a task, a hand-in, an end of a turn may be. A no is the
   reason, and only the moment it was about does not happen.
2. Told, and not waited for: what has happened already. They end with the run, within a time limit.
3. Whatever a hook has to say to the person is a notice.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from modules.app.event_bus import EventBus
from modules.git.lane_state import Lane
from modules.git.lanes import Closed
from modules.records.crew import WorkerState
from modules.records.events import AnyEvent, EntryChanged, QuestionAsked, WorkerChanged
from modules.records.merges import EntryStatus
from modules.records.messages import ToolCall
from modules.records.tasks import Task, TaskDraft
from modules.safety.hook_matching import HookEvent
from modules.safety.hook_verdict import HookOutcome
from modules.safety.hooks import Caller, HookRunner

SETTLE_SECONDS = 10.0
"""What hooks may still take when the run ends."""
LEAD = "lead"
MOST_STOP_BLOCKS = 3
"""How often in a row a hook may send an agent back to work."""


class RunHooks:
    """Runs the hooks of one run's moments; `caller` is the lead."""

    def __init__(
        self, runner: HookRunner, *, events: EventBus, caller: Callable[[], Caller]
    ) -> None:
        self._runner = runner
        self._events = events
        self._caller = caller
        self._loop = asyncio.get_running_loop()
        self._told: set[asyncio.Task[HookOutcome]] = set()

    async def ask(
        self, event: HookEvent, fields: Mapping[str, Any], caller: Caller | None = None
    ) -> HookOutcome:
        """Returns what the hooks of a moment say; `caller` is set where it is a worker's."""
        outcome = await self._runner.on_event(event, fields, caller or self._caller())
        for warning in outcome.warnings:
            self._events.notice(warning)
        return outcome

    async def objection(
        self, event: HookEvent, fields: Mapping[str, Any], caller: Caller | None = None
    ) -> str:
        """Returns why the hooks of a moment say no; empty when they don't."""
        outcome = await self.ask(event, fields, caller)
        return outcome.why or "A hook says no." if outcome.behavior == "deny" else ""

    async def objection_to_asking(self, *, agent: str, tool: str, text: str) -> str:
        """Returns why hooks say no before a person is asked what only a person may allow.

        Their yes is for nothing; empty when they don't say no.
        """
        caller = self._caller()
        if agent != LEAD:
            caller = replace(caller, agent=agent)
        call = ToolCall(call_id="", name=tool, input={"text": text})
        outcome = await self._runner.on_permission_request(call, caller)
        for warning in outcome.warnings:
            self._events.notice(warning)
        return outcome.why or "A hook says no." if outcome.behavior == "deny" else ""

    def tell(self, event: HookEvent, fields: Mapping[str, Any]) -> None:
        """Lets the hooks of a moment that is over know of it."""
        # Some moments are noticed by a thread that works for the run.
        self._loop.call_soon_threadsafe(self._start, event, fields)

    def tell_removed(self, lane: Lane, closed: Closed) -> None:
        """Tells that a lane is gone, when it is."""
        if not closed.kept:
            self.tell(HookEvent.WORKTREE_REMOVE, lane_fields(lane))

    async def end_session(self) -> None:
        """Tells that the run ends, and waits for every hook that still runs, a limited time."""
        self.tell(HookEvent.SESSION_END, {"reason": "other"})
        await asyncio.sleep(0)
        told = list(self._told)
        _, late = await asyncio.wait(told, timeout=SETTLE_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.wait(told)
        if late:
            self._events.notice(f"Hooks that took over {SETTLE_SECONDS:g} s at the end were ended.")
        for task in told:
            if not task.cancelled():
                task.result()

    def _start(self, event: HookEvent, fields: Mapping[str, Any]) -> None:
        task = self._loop.create_task(self.ask(event, fields))
        self._told.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[HookOutcome]") -> None:
        if task.cancelled() or task.exception() is None:  # what failed is raised at the end
            self._told.discard(task)

    def take_event(self, event: AnyEvent) -> None:
        """Tells the hooks of what they can hear of: landings, idle workers, waiting questions."""
        if isinstance(event, EntryChanged) and event.status == EntryStatus.MERGED:
            landed = {"entry": event.entry, "task_id": event.task, "commit": event.landed_as}
            self.tell(HookEvent.POST_LANDING, landed)
        if isinstance(event, WorkerChanged) and event.state == WorkerState.IDLE:
            self.tell(HookEvent.TEAMMATE_IDLE, {"teammate_name": event.worker})
        if isinstance(event, QuestionAsked):
            message = f"{event.agent} needs an answer: {event.tool} {event.text}"
            fields = {"message": message, "notification_type": "permission_prompt"}
            self.tell(HookEvent.NOTIFICATION, fields)


def stop_fields(text: str, *, is_again: bool) -> dict[str, Any]:
    """Returns what hooks are told at the end of a turn."""
    return {"stop_hook_active": is_again, "last_assistant_message": text}


def lane_fields(lane: Lane) -> dict[str, Any]:
    """Returns what hooks are told of a lane."""
    return {
        "name": lane.name,
        "worktree_path": str(lane.path),
        "branch": lane.branch,
        "base": lane.base,
    }


def draft_fields(draft: TaskDraft, *, by: str) -> dict[str, Any]:
    """Returns what hooks are told of a task that is to be posted."""
    return {
        "task_subject": draft.subject,
        "task_description": draft.description,
        "teammate_name": by,
    }


def task_fields(task: Task) -> dict[str, Any]:
    """Returns what hooks are told of a task somebody works on."""
    return {"task_id": task.task_id, **draft_fields(task.draft, by=task.worker)}
