"""The one door for calls: every call of every agent takes these steps, in this order.

1. validate: the tool is one this agent has, the input fits its schema
2. permission: guards, deny rules, mode, allow rules; what is denied here goes no further
3. hooks before: they may refuse, ask, or change the input; then 1 and 2 again
4. the person, where the decision is still to ask; without one: denied. What the rules and the mode
   have come to deny while a question was open stays denied
5. run, here or in the worker's process
6. hooks after: they may object, add context, or replace the result
7. trim: known secrets masked, the rest spilled to a file

A step that fails says no. `open` is steps 1 to 4, `close` is 6 and 7; between them the call runs.
"""

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from modules.agent.schema import input_schema, read_input
from modules.providers.well_formed import well_formed, well_formed_json
from modules.records.decisions import Behavior, Decision, Risk, Subject
from modules.records.errors import ModelFault
from modules.records.messages import ToolCall, ToolSpec
from modules.records.record import Record
from modules.records.tooling import Place, ToolResult
from modules.safety.hook_verdict import HookOutcome
from modules.safety.permissions import PermissionManager, Standing, is_of_use, with_hook


@dataclass(frozen=True, slots=True)
class PooledTool:
    """A tool with everything it needs to run; `run` is None where it runs in another process."""

    spec: ToolSpec
    place: Place
    read: Callable[[dict[str, Any]], Record]
    subject: Callable[[Record], Subject]
    run: Callable[[Record], Any] | None
    """Returns an awaitable of ToolResult."""
    least_risk: Risk = Risk.SAFE
    """See modules.records.tooling.Tool."""
    overlaps: bool = False
    """See modules.records.tooling.Tool."""
    waits: bool = False
    """See modules.records.tooling.Tool."""


@dataclass(frozen=True, slots=True)
class Cleared:
    """A call that may run, with the input it may run with."""

    call: ToolCall
    tool: PooledTool
    input: Record
    context: str
    """What hooks want the model to read with the result."""
    cleared_at: float
    """By the pool's clock."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """A call that fits its tool, with the decision on it so far."""

    call: ToolCall
    tool: PooledTool
    input: Record
    subject: Subject
    decision: Decision


class Hooks(Protocol):
    """The hook pipeline, for the agent of one pool."""

    async def before(self, call: ToolCall) -> HookOutcome: ...

    async def after(self, call: ToolCall, result: ToolResult, seconds: float) -> HookOutcome:
        """Runs the hooks after a call that took so long."""
        ...


class Asker(Protocol):
    """Whoever answers for the person."""

    async def ask(self, call: ToolCall, subject: Subject, decision: Decision) -> Decision:
        """Returns the decision with ask turned into allow or deny."""
        ...


class Watcher(Protocol):
    """Whoever keeps and shows what the gate does."""

    def decided(self, call: ToolCall, input_hash: str, decision: Decision) -> None: ...

    def started(self, call: ToolCall, subject: Subject) -> None: ...

    def ended(self, call: ToolCall, result: ToolResult) -> None: ...

    def warned(self, text: str) -> None: ...


class ToolPool:
    """The tools of one agent behind the gate."""

    def __init__(
        self,
        tools: Callable[[], Mapping[str, PooledTool]],
        *,
        standing: Callable[[], Standing],
        permissions: PermissionManager,
        hooks: Hooks,
        asker: Asker,
        watcher: Watcher,
        trim: Callable[[str, str], str],
        clock: Callable[[], float],
    ) -> None:
        self._tools = tools
        self._standing = standing
        self._permissions = permissions
        self._hooks = hooks
        self._asker = asker
        self._watcher = watcher
        self._trim = trim
        """Takes a call's id and the text of its result."""
        self._clock = clock
        """Counts seconds; it is never set back."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """Returns what the model is told of the tools it may call now, in a stable order."""
        tools, mode = self._tools(), self._permissions.effective_mode(self._standing())
        return tuple(
            tools[name].spec for name in sorted(tools) if is_of_use(tools[name].least_risk, mode)
        )

    def overlaps(self, call: ToolCall) -> bool:
        """Returns whether the call may run beside others of the same answer."""
        tool = self._tools().get(call.name)
        return tool is not None and tool.overlaps

    def waits(self, call: ToolCall) -> bool:
        """Returns whether the same call again is no loop."""
        tool = self._tools().get(call.name)
        return tool is not None and tool.waits

    async def run(self, call: ToolCall) -> ToolResult:
        """Takes a call through all steps, running it here."""
        opened = await self.open(call)
        if isinstance(opened, ToolResult):
            return opened
        try:
            result = await self.run_here(opened)
        except asyncio.CancelledError:
            self._end(opened.call, _error("The call was interrupted."))
            raise
        return await self.close(opened, result)

    async def run_here(self, cleared: Cleared) -> ToolResult:
        """Runs a cleared call in this process."""
        if cleared.tool.run is None:
            return _error(f"{cleared.call.name} can't run in this process.")
        try:
            result: ToolResult = await cleared.tool.run(cleared.input)
        except ModelFault as error:
            return _error(str(error))
        return result

    async def open(self, call: ToolCall) -> Cleared | ToolResult:
        """Takes a call through steps 1 to 4; returns the refusal as a result."""
        try:
            judged = self._judge(call)
        except ModelFault as error:
            return self._end(call, _error(str(error)))
        if judged.decision.behavior is Behavior.DENY:
            return self._decide(judged, context="")
        outcome = await self._hooks.before(call)
        self._warn(outcome)
        if outcome.updated_input is not None:
            call = replace(call, input=well_formed_json(outcome.updated_input))
        try:
            # Hooks take their time, and the mode may be another one by now.
            judged = self._judge(call)
        except ModelFault as error:
            how = "" if outcome.updated_input is None else "A hook changed the input: "
            return self._end(call, _error(f"{how}{error}"))
        decision = with_hook(judged.decision, outcome.behavior, outcome.why)
        if decision.behavior is Behavior.ASK:
            decision = await self._asker.ask(call, judged.subject, decision)
            by_now = self._permission(judged)
            if by_now.behavior is Behavior.DENY:
                decision = by_now
        return self._decide(dataclasses.replace(judged, decision=decision), outcome.context)

    async def close(self, cleared: Cleared, result: ToolResult) -> ToolResult:
        """Takes a result through steps 6 and 7."""
        seconds = self._clock() - cleared.cleared_at
        outcome = await self._hooks.after(cleared.call, result, seconds)
        self._warn(outcome)
        objection = f"A hook objects: {outcome.why}" if outcome.behavior == "deny" else ""
        said = result.text if outcome.updated_output is None else outcome.updated_output
        parts = (cleared.context, said, outcome.context, objection)
        text = "\n".join(part for part in parts if part.strip()) or "(no output)"
        trimmed = self._trim(cleared.call.call_id, text)
        return self._end(cleared.call, replace(result, text=trimmed))

    def _decide(self, judged: _Judged, context: str) -> Cleared | ToolResult:
        """Notes the decision on a call and returns what follows from it."""
        call, decision = judged.call, judged.decision
        self._watcher.decided(call, _hash(call.input), decision)
        if decision.behavior is not Behavior.ALLOW:
            return _error(f"Permission denied: {decision.why}")
        self._watcher.started(call, judged.subject)
        return Cleared(
            call=call,
            tool=judged.tool,
            input=judged.input,
            context=context,
            cleared_at=self._clock(),
        )

    def _end(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Notes the result of a call and returns it, fit to be shown and sent."""
        fit = replace(result, text=well_formed(result.text))
        self._watcher.ended(call, fit)
        return fit

    def _judge(self, call: ToolCall) -> _Judged:
        tools = self._tools()
        if call.name not in tools:
            raise ModelFault(
                f"There is no tool {call.name!r}. The tools are: {', '.join(sorted(tools))}."
            )
        if call.fault:
            raise ModelFault(call.fault)
        tool = tools[call.name]
        record = tool.read(call.input)
        subject = tool.subject(record)
        decision = self._permissions.decide(self._standing(), call.name, call.input, subject)
        return _Judged(call=call, tool=tool, input=record, subject=subject, decision=decision)

    def _permission(self, judged: _Judged) -> Decision:
        """Returns what rules and mode say now of a call that was judged before."""
        call = judged.call
        return self._permissions.decide(self._standing(), call.name, call.input, judged.subject)

    def _warn(self, outcome: HookOutcome) -> None:
        for warning in outcome.warnings:
            self._watcher.warned(warning)


def pooled(
    name: str,
    description: str,
    input_type: type[Record],
    *,
    place: Place,
    subject: Callable[[Any], Subject],
    run: Callable[[Any], Any] | None,
    least_risk: Risk = Risk.SAFE,
    overlaps: bool = False,
    waits: bool = False,
) -> PooledTool:
    """Returns a tool of ours ready for a pool."""
    return PooledTool(
        spec=ToolSpec(name=name, description=description, input_schema=input_schema(input_type)),
        place=place,
        read=lambda raw: read_input(name, input_type, raw),
        subject=subject,
        run=run,
        least_risk=least_risk,
        overlaps=overlaps,
        waits=waits,
    )


def _hash(raw: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(raw, order="deterministic")).hexdigest()


def _error(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
