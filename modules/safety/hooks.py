"""Runs a person's own programs at the moments they asked for.

1. All hooks of a moment run at once; equal ones once. Each has its own time limit.
2. A hook runs in the main checkout, whoever calls; the agent's own folder is in the payload.
3. It gets the moment as JSON on stdin and in short in its environment, which holds no key.
4. It is over when its process is over. Then, or when its time is up, its process group is killed.
5. Hooks come from a trusted project or the person, and run with the person's rights. A file of the
   project that a hook names is pinned when the session starts: once it has changed, the hook is
   not run and counts as a no, for it isn't what was trusted.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modules.records.decisions import Mode
from modules.records.messages import ToolCall
from modules.records.tooling import ToolResult
from modules.safety.child_environment import plain_environment
from modules.safety.hook_matching import Hook, HookEvent, met_name
from modules.safety.hook_process import run_hook
from modules.safety.hook_verdict import HookOutcome, together, verdict
from modules.safety.named_files import fingerprints, named_files

_VALUE_CHARACTERS = (10_000, 1_000, 100)
_LONGEST_VARIABLE_BYTES = 100_000
"""The kernel takes 128 KiB at most."""
_PATH_KEYS = ("path", "file_path")
_CLAUDE_MODES = {Mode.YOLO: "bypassPermissions"}
_MATCHED_FIELDS = {
    HookEvent.SESSION_START: "source",
    HookEvent.SESSION_END: "reason",
    HookEvent.PRE_COMPACT: "trigger",
    HookEvent.NOTIFICATION: "notification_type",
}
"""What a matcher is held against at events that have no tool."""

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The agent a hook runs for."""

    session_id: str
    transcript: Path
    folder: Path
    """The agent's own: a worker's lane, the main checkout for the lead."""
    mode: Mode
    agent: str = ""
    """A worker's name; empty for the lead."""
    role: str = ""
    meets: Callable[[str, ToolCall], bool] | None = None
    """Says whether a call of this agent meets a permission rule, for hooks with an `if`; None:
    such hooks run always."""


class HookRunner:
    """The hooks of one session."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        *,
        project: Path,
        variables: Mapping[str, str],
    ) -> None:
        self._hooks = tuple(hooks)
        self._project = project
        self._variables = variables
        self._pins = {hook: fingerprints(self._files_of(hook)) for hook in self._hooks}

    async def before_tool(self, call: ToolCall, caller: Caller) -> HookOutcome:
        """Runs the hooks before a call."""
        return await self._run_for_tool(HookEvent.PRE_TOOL_USE, call, caller, {})

    async def on_permission_request(self, call: ToolCall, caller: Caller) -> HookOutcome:
        """Runs the hooks before a person is asked about a call."""
        return await self._run_for_tool(HookEvent.PERMISSION_REQUEST, call, caller, {})

    async def after_tool(
        self, call: ToolCall, result: ToolResult, caller: Caller, *, seconds: float
    ) -> HookOutcome:
        """Runs the hooks after a call, and those for failed calls where it has failed."""
        fields = {
            "tool_response": {"text": result.text, "is_error": result.is_error},
            "duration_ms": round(seconds * 1000),
        }
        outcomes = [await self._run_for_tool(HookEvent.POST_TOOL_USE, call, caller, fields)]
        if result.is_error:
            event = HookEvent.POST_TOOL_USE_FAILURE
            outcomes.append(await self._run_for_tool(event, call, caller, fields))
        return together(outcomes)

    async def on_event(self, event: HookEvent, fields: Payload, caller: Caller) -> HookOutcome:
        """Runs the hooks of an event that is no tool's; `fields` go into the payload."""
        matched = _MATCHED_FIELDS.get(event)
        value = str(fields.get(matched, "")) if matched else ""
        hooks = [
            hook
            for hook in self._hooks
            if hook.event is event and (not matched or met_name(hook.matcher, value))
        ]
        payload = _base(event, caller) | dict(fields)
        variables = {"HOOK_EVENT": str(event)}
        return await self._run([(hook, payload, variables) for hook in hooks])

    async def _run_for_tool(
        self, event: HookEvent, call: ToolCall, caller: Caller, fields: Payload
    ) -> HookOutcome:
        runs = []
        for hook in self._hooks:
            name = met_name(hook.matcher, call.name) if hook.event is event else ""
            if name and _is_wanted(hook, call, caller):
                payload = _base(event, caller) | _tool_fields(name, call, caller) | dict(fields)
                runs.append((hook, payload, _tool_variables(event, call, payload)))
        outcome = await self._run(runs)
        return _with_own_keys(outcome, call)

    async def _run(self, runs: Sequence[tuple[Hook, Payload, dict[str, str]]]) -> HookOutcome:
        once: dict[object, tuple[Hook, Payload, dict[str, str]]] = {}
        for run in runs:
            # Of equal hooks the one counts that says no when it fails.
            key = (run[0].command, run[0].args)
            if key not in once or run[0].blocks_on_failure:
                once[key] = run
        if not once:
            return HookOutcome()
        return together(await asyncio.gather(*(self._run_one(*run) for run in once.values())))

    async def _run_one(
        self, hook: Hook, payload: Payload, variables: dict[str, str]
    ) -> HookOutcome:
        if fingerprints(self._files_of(hook)) != self._pins[hook]:
            warning = (
                f"The hook {hook.command!r} ({hook.source}) was not run: a file it names has "
                "changed since the session began. Look at it and start anew."
            )
            return HookOutcome("deny", warning, warnings=(warning,))
        shell = ["/bin/sh", "-c", hook.command]
        run = await run_hook(
            shell if hook.args is None else [hook.command, *hook.args],
            cwd=self._project,
            environment=self._environment() | variables,
            payload=json.dumps(payload).encode(),
            timeout_seconds=hook.timeout_seconds,
        )
        return verdict(hook, run)

    def _environment(self) -> dict[str, str]:
        project = str(self._project)
        return {
            **plain_environment(self._variables),
            "CLAUDE_PROJECT_DIR": project,
            "CREWYARD_PROJECT_DIR": project,
        }

    def _files_of(self, hook: Hook) -> tuple[Path, ...]:
        return named_files([hook.command, *(hook.args or ())], self._project)


def _is_wanted(hook: Hook, call: ToolCall, caller: Caller) -> bool:
    if not hook.condition or caller.meets is None:
        return True
    return caller.meets(hook.condition, call)


def _base(event: HookEvent, caller: Caller) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "session_id": caller.session_id,
        "transcript_path": str(caller.transcript),
        "cwd": str(caller.folder),
        "permission_mode": _CLAUDE_MODES.get(caller.mode, str(caller.mode)),
        "hook_event_name": str(event),
    }
    if caller.agent:
        payload |= {"agent_id": caller.agent, "agent_type": caller.role}
    return payload


def _tool_fields(name: str, call: ToolCall, caller: Caller) -> dict[str, Any]:
    shown = dict(call.input)
    for key in _PATH_KEYS:
        if isinstance(shown.get(key), str):
            shown[key] = str(caller.folder / shown[key])
    if name != call.name and "path" in shown:
        # A hook that knows the tool by Claude Code's name knows its path by the name there.
        shown["file_path"] = shown.pop("path")
    return {"tool_name": name, "tool_input": shown, "tool_use_id": call.call_id}


def _with_own_keys(outcome: HookOutcome, call: ToolCall) -> HookOutcome:
    """Returns the outcome with a changed input under the names our tool knows."""
    changed = outcome.updated_input
    if changed is None or "file_path" not in changed or "path" not in call.input:
        return outcome
    own = {key: value for key, value in changed.items() if key != "file_path"}
    return replace(outcome, updated_input=own | {"path": changed["file_path"]})


def _tool_variables(event: HookEvent, call: ToolCall, payload: Payload) -> dict[str, str]:
    variables = {
        "HOOK_EVENT": str(event),
        "HOOK_TOOL_NAME": call.name,
        "HOOK_TOOL_INPUT": _short_json(call.input),
    }
    if "tool_response" in payload:
        text = str(payload["tool_response"]["text"])[: _VALUE_CHARACTERS[0]]
        variables["HOOK_TOOL_OUTPUT"] = text.replace("\0", "").encode(errors="replace").decode()
    return variables


def _short_json(value: Mapping[str, Any]) -> str:
    """Returns JSON that fits into a variable; long texts in it are cut, the whole is on stdin."""
    for characters in _VALUE_CHARACTERS:
        text = json.dumps(_shortened(value, characters))
        if len(text) <= _LONGEST_VARIABLE_BYTES:
            return text
    return "{}"


def _shortened(value: Any, characters: int) -> Any:
    if isinstance(value, str):
        return value[:characters]
    if isinstance(value, Mapping):
        return {key: _shortened(item, characters) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, characters) for item in value]
    return value
