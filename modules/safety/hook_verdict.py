"""What a finished hook has said, and what several hooks say together; pure.

1. Exit code 2 is a no, whatever was printed; the reason is what stands on stderr, or a general one.
2. Exit code 0: output that begins with `{` is a JSON answer; other words are context at
   SessionStart and UserPromptSubmit, and nothing elsewhere.
3. Any other end (another code, a signal, the time limit, no start, an answer that can't be
   understood) is a failure: a warning, and a no where the hook says so. A JSON answer beside
   another code still counts.
4. Answers in JSON: `continue: false`; `decision` block or approve with `reason`; `systemMessage`;
   and, in `hookSpecificOutput` or beside it, `permissionDecision` allow, ask or deny with
   `permissionDecisionReason`, `updatedInput` (before a tool), `additionalContext`; before a person
   is asked also a `decision` of `behavior` allow or deny with `message`; after a tool
   `updatedToolOutput` (or `updatedMCPToolOutput`): the text the model reads instead, or an object
   with it under `text`.
5. Together no beats ask beats yes. The input of the last hook that changes it counts, and a no
   makes every change void. The output of the last hook that replaces it counts, no or not.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from modules.safety.hook_matching import Hook, HookEvent

Behavior = Literal["none", "allow", "ask", "deny"]
LONGEST_TEXT_CHARACTERS = 10_000
_STRENGTH: tuple[Behavior, ...] = ("none", "allow", "ask", "deny")
_PERMISSION_EVENTS = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.PERMISSION_REQUEST})
_PLAIN_CONTEXT_EVENTS = frozenset({HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT})
_STOP_EVENTS = frozenset({HookEvent.STOP, HookEvent.SUBAGENT_STOP})
_DECISIONS: dict[str, Behavior] = {
    "block": "deny",
    "deny": "deny",
    "approve": "allow",
    "allow": "allow",
    "ask": "ask",
}


@dataclass(frozen=True, slots=True)
class HookRun:
    """How a hook's process ended."""

    exit_code: int = 0
    """Negative: the signal that ended it."""
    stdout: str = ""
    stderr: str = ""
    failure: str = ""
    """Why it gave no answer at all; then the rest is empty."""


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """What hooks say; `none` where they have no opinion."""

    behavior: Behavior = "none"
    """`deny` after a tool, at a stop or a prompt: the hook objects."""
    why: str = ""
    updated_input: dict[str, Any] | None = None
    context: str = ""
    """What the model should read."""
    warnings: tuple[str, ...] = ()
    """What the person should read: messages of hooks, and hooks that failed."""
    updated_output: str | None = None
    """What stands in for the result of the call."""


class _Unclear(Exception):
    """An answer that is none."""


def verdict(hook: Hook, run: HookRun) -> HookOutcome:
    """Returns what one hook has said."""
    if run.failure:
        return _failed(hook, run.failure)
    if run.exit_code == 2:
        return HookOutcome("deny", _cut(run.stderr) or f"The hook {_name(hook)} says no.")
    has_answer = run.stdout.lstrip().startswith("{")
    try:
        if has_answer:
            return _answer(hook.event, run.stdout)
    except _Unclear as error:
        return _failed(hook, f"its answer can't be understood: {error}")
    if run.exit_code != 0:
        return _failed(hook, f"{_ending(run.exit_code)} {_cut(run.stderr)}".strip())
    is_context = hook.event in _PLAIN_CONTEXT_EVENTS
    return HookOutcome(context=_cut(run.stdout) if is_context else "")


def together(outcomes: Sequence[HookOutcome]) -> HookOutcome:
    """Returns what several hooks say, in the order they were written in."""
    behavior = _STRENGTH[max((_STRENGTH.index(o.behavior) for o in outcomes), default=0)]
    inputs = [outcome.updated_input for outcome in outcomes if outcome.updated_input is not None]
    warnings = [warning for outcome in outcomes for warning in outcome.warnings]
    if any(other != inputs[-1] for other in inputs):
        warnings.append("Several hooks change the same input; the last one's change counts.")
    outputs = [o.updated_output for o in outcomes if o.updated_output is not None]
    if any(other != outputs[-1] for other in outputs):
        warnings.append("Several hooks replace the same output; the last one's counts.")
    return HookOutcome(
        behavior=behavior,
        why=_joined(o.why for o in outcomes if o.behavior == behavior),
        updated_input=inputs[-1] if inputs and behavior != "deny" else None,
        updated_output=outputs[-1] if outputs else None,
        context=_joined(outcome.context for outcome in outcomes),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _failed(hook: Hook, what: str) -> HookOutcome:
    warning = f"The hook {_name(hook)} failed: {what}."
    if hook.blocks_on_failure:
        return HookOutcome("deny", warning, warnings=(warning,))
    return HookOutcome(warnings=(warning,))


def _answer(event: HookEvent, stdout: str) -> HookOutcome:
    answer = _parsed(stdout)
    specific = {**answer, **_object(answer, "hookSpecificOutput")}
    behavior, why = _decision(event, answer, specific)
    updated = specific.get("updatedInput")
    if updated is not None and not isinstance(updated, dict):
        raise _Unclear("updatedInput is no object")
    message = _text(answer, "systemMessage")
    return HookOutcome(
        behavior=behavior,
        why=_cut(why),
        updated_input=updated if event is HookEvent.PRE_TOOL_USE else None,
        updated_output=_output(specific) if event is HookEvent.POST_TOOL_USE else None,
        context=_cut(_text(specific, "additionalContext")),
        warnings=(_cut(message),) if message else (),
    )


def _output(specific: dict[str, Any]) -> str | None:
    """Returns the text that stands in for a result; whole, for the result is bounded anyway."""
    found = specific.get("updatedToolOutput", specific.get("updatedMCPToolOutput"))
    text = found.get("text") if isinstance(found, dict) else found
    if found is not None and not isinstance(text, str):
        raise _Unclear("updatedToolOutput is neither a text nor an object with one")
    return text


def _decision(
    event: HookEvent, answer: dict[str, Any], specific: dict[str, Any]
) -> tuple[Behavior, str]:
    found: list[tuple[Behavior, str]] = [("none", "")]
    if isinstance(specific.get("decision"), dict):
        specific = {**specific, **_for_the_person(event, specific["decision"])}
    if answer.get("continue") is False and event in _STOP_EVENTS:
        return "none", ""  # it wants the agent to stop, which is what is about to happen
    if answer.get("continue") is False:
        found.append(("deny", _text(answer, "stopReason") or "A hook says to stop."))
    for key, reason in (("decision", "reason"), ("permissionDecision", "permissionDecisionReason")):
        word = _text(specific, key)
        if not word:
            continue
        if word not in _DECISIONS:
            raise _Unclear(f"{key} is {word!r}")
        behavior = _DECISIONS[word]
        if behavior == "deny" or event in _PERMISSION_EVENTS:
            found.append((behavior, _text(specific, reason) or "A hook says so."))
    return max(found, key=lambda pair: _STRENGTH.index(pair[0]))


def _for_the_person(event: HookEvent, decision: dict[str, Any]) -> dict[str, Any]:
    """Returns an answer given in the person's place, in the words of the others."""
    if event is not HookEvent.PERMISSION_REQUEST or decision.get("updatedInput") is not None:
        raise _Unclear("decision is no text")
    return {"decision": _text(decision, "behavior"), "reason": _text(decision, "message")}


def _parsed(stdout: str) -> dict[str, Any]:
    try:
        answer = json.loads(stdout)
    except (ValueError, RecursionError) as error:
        raise _Unclear(str(error)) from error
    if not isinstance(answer, dict):
        raise _Unclear("it is no object")
    return answer


def _object(answer: dict[str, Any], key: str) -> dict[str, Any]:
    value = answer.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Unclear(f"{key} is no object")
    return value


def _text(answer: dict[str, Any], key: str) -> str:
    value = answer.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unclear(f"{key} is no text")
    return value


def _cut(text: str) -> str:
    plain = text.strip()
    if len(plain) <= LONGEST_TEXT_CHARACTERS:
        return plain
    left_out = len(plain) - LONGEST_TEXT_CHARACTERS
    return f"{plain[:LONGEST_TEXT_CHARACTERS]}\n[{left_out} more characters of the hook's left out]"


def _ending(code: int) -> str:
    return f"it was ended by signal {-code}" if code < 0 else f"exit code {code}"


def _name(hook: Hook) -> str:
    command = hook.command if len(hook.command) <= 80 else f"{hook.command[:79]}…"
    return f"{command!r} ({hook.source})"


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))
