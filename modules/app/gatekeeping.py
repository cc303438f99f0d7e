"""Joins one agent's gate: its hooks, its questions, and who keeps and shows what it decided."""

from collections.abc import Callable

from modules.agent.tool_pool import Asker
from modules.app.event_bus import EventBus
from modules.app.questions import shown_subject
from modules.context.session import Session
from modules.records.decisions import Behavior, Decision, Subject
from modules.records.events import CallDenied, CallEnded, CallStarted
from modules.records.messages import ToolCall
from modules.records.session_records import CallDecided
from modules.records.tooling import ToolResult
from modules.safety.hook_verdict import HookOutcome
from modules.safety.hooks import Caller, HookRunner
from modules.safety.permissions import Standing, with_hook
from tools.command import SILENCE

_LINE_CHARACTERS = 200


class SessionWatcher:
    """Keeps one agent's decisions in its journal and tells the run's listeners."""

    def __init__(
        self,
        *,
        agent: str,
        session: Session,
        events: EventBus,
        standing: Callable[[], Standing],
    ) -> None:
        self._agent = agent
        self._session = session
        self._events = events
        self._standing = standing

    def decided(self, call: ToolCall, input_hash: str, decision: Decision) -> None:
        """Takes in what the gate decided."""
        self._session.record(
            CallDecided(
                at=self._events.clock(),
                call_id=call.call_id,
                tool=call.name,
                input_hash=input_hash,
                mode=self._standing().mode,
                decision=decision,
            )
        )
        if decision.behavior != "allow":
            self._events.emit(
                CallDenied(
                    at=self._events.clock(),
                    agent=self._agent,
                    call_id=call.call_id,
                    tool=call.name,
                    why=decision.why,
                )
            )

    def started(self, call: ToolCall, subject: Subject) -> None:
        """Takes in that a call runs."""
        self._events.emit(
            CallStarted(
                at=self._events.clock(),
                agent=self._agent,
                call_id=call.call_id,
                tool=call.name,
                text=_one_line(shown_subject(subject)),
            )
        )

    def ended(self, call: ToolCall, result: ToolResult) -> None:
        """Takes in what a call gave back."""
        self._events.emit(
            CallEnded(
                at=self._events.clock(),
                agent=self._agent,
                call_id=call.call_id,
                tool=call.name,
                is_error=result.is_error,
                text=_one_line(result.text.removeprefix(SILENCE)),
            )
        )

    def warned(self, text: str) -> None:
        """Takes in a warning the person should see."""
        self._events.notice(f"{self._agent}: {text}")


def _one_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _LINE_CHARACTERS else line[: _LINE_CHARACTERS - 1] + "…"


class AgentHooks:
    """Runs the hooks for one agent's calls."""

    def __init__(self, runner: HookRunner, caller: Callable[[], Caller]) -> None:
        self._runner = runner
        self._caller = caller

    async def before(self, call: ToolCall) -> HookOutcome:
        """Runs the hooks before a call."""
        return await self._runner.before_tool(call, self._caller())

    async def after(self, call: ToolCall, result: ToolResult, seconds: float) -> HookOutcome:
        """Runs the hooks after a call that took so long."""
        return await self._runner.after_tool(call, result, self._caller(), seconds=seconds)

    async def instead_of_asking(self, call: ToolCall) -> HookOutcome:
        """Runs the hooks that may answer in the person's place."""
        return await self._runner.on_permission_request(call, self._caller())


class HookedAsker:
    """Lets the hooks answer first; what they leave open the person is asked."""

    def __init__(self, hooks: AgentHooks, person: Asker, warn: Callable[[str], None]) -> None:
        self._hooks = hooks
        self._person = person
        self._warn = warn

    async def ask(self, call: ToolCall, subject: Subject, decision: Decision) -> Decision:
        """Returns the decision with ask turned into allow or deny."""
        outcome = await self._hooks.instead_of_asking(call)
        for warning in outcome.warnings:
            self._warn(warning)
        answered = with_hook(decision, outcome.behavior, outcome.why)
        if answered.behavior is not Behavior.ASK:
            return answered
        return await self._person.ask(call, subject, answered)
