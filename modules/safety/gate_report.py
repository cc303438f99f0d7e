"""How the gate would decide on one item, as `gate --json` prints it; nothing is run."""

from collections.abc import Collection

from msgspec.structs import replace

from modules.records.decisions import (
    Behavior,
    PathOp,
    PathSubject,
    Risk,
    ShellSubject,
    Subject,
    UrlSubject,
)
from modules.records.errors import PersonFault
from modules.safety.permissions import PermissionManager, Standing

_OPS: tuple[PathOp, ...] = ("read", "write", "edit", "delete")
_TOOLS: dict[PathOp, str] = {
    "read": "read_file",
    "write": "write_file",
    "edit": "edit_file",
    "delete": "delete_file",
}


def judge(
    kind: str,
    text: str,
    op: str,
    standing: Standing,
    manager: PermissionManager,
    *,
    tools: Collection[str] | None = None,
) -> dict[str, object]:
    """Returns {risk, categories, decision, rule, why} for one command, path or address.

    `tools` are those the agent's role leaves it; None: all.
    """
    tool, subject = _call(kind, text, op)
    decision = manager.decide(standing, tool, {}, subject)
    if tools is not None and tool not in tools:
        why = f"the role {standing.role} has no tool {tool}"
        decision = replace(decision, behavior=Behavior.DENY, rule="", why=why)
    return {
        "risk": str(decision.risk),
        "categories": list(decision.categories),
        "decision": str(decision.behavior),
        "rule": decision.rule,
        "why": decision.why or _settled(decision.behavior),
    }


def refusal(why: str) -> dict[str, object]:
    """Returns the answer about what can't be judged: nobody may do it."""
    return {
        "risk": str(Risk.DENY),
        "categories": ["gate:unreadable"],
        "decision": str(Behavior.DENY),
        "rule": "",
        "why": why,
    }


def _call(kind: str, text: str, op: str) -> tuple[str, Subject]:
    if kind == "bash":
        return "bash", ShellSubject(command=text)
    if kind == "url":
        return "web_fetch", UrlSubject(url=text)
    if kind != "path":
        raise PersonFault(f"There is no kind {kind!r} to judge.", hint="Use bash, path or url.")
    if op not in _OPS:
        raise PersonFault(
            f"There is no operation {op!r} on a path.", hint="Use read, write, edit or delete."
        )
    return _TOOLS[op], PathSubject(path=text, op=op)


def _settled(behavior: Behavior) -> str:
    return "it only reads" if behavior is Behavior.ALLOW else ""
