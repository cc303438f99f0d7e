"""Which hooks a tool call runs into; pure.

1. A matcher that is empty, missing or `*` matches every tool.
2. One of letters, digits, `_`, `-`, blanks, `,` and `|` alone is a list of names, each to be met
   whole: `edit_file|bash`. `mcp__files` is no tool's name; all tools of a server are
   `mcp__files__.*`.
3. Anything else is a regular expression that must match a whole name.
4. A tool is met by its own name or by the one it has in Claude Code, and whatever runs a command
   line is met by `bash` as well; the hook hears of it by the name that was met.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class HookEvent(StrEnum):
    """The moments hooks run at, under the names Claude Code has for them where it has them."""

    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    STOP = "Stop"
    SUBAGENT_STOP = "SubagentStop"
    PRE_COMPACT = "PreCompact"
    NOTIFICATION = "Notification"
    TEAMMATE_IDLE = "TeammateIdle"
    TASK_CREATED = "TaskCreated"
    TASK_COMPLETED = "TaskCompleted"
    WORKTREE_CREATE = "WorktreeCreate"
    WORKTREE_REMOVE = "WorktreeRemove"
    POST_LANDING = "PostLanding"
    """Ours alone: work has reached the target."""


TOOL_EVENTS = frozenset(
    {
        HookEvent.PRE_TOOL_USE,
        HookEvent.PERMISSION_REQUEST,
        HookEvent.POST_TOOL_USE,
        HookEvent.POST_TOOL_USE_FAILURE,
    }
)

CLAUDE_NAMES: Mapping[str, tuple[str, ...]] = {
    "bash": ("Bash",),
    "background_run": ("Bash", "bash"),
    "bash_with_network": ("Bash", "bash"),
    "read_file": ("Read",),
    "write_file": ("Write",),
    "edit_file": ("Edit",),
    "multi_edit": ("MultiEdit", "Edit"),
    "grep": ("Grep",),
    "glob": ("Glob",),
    "list_dir": ("LS",),
    "web_fetch": ("WebFetch",),
    "todo": ("TodoWrite",),
    "subagent": ("Task", "Agent"),
    "spawn_teammate": ("Agent",),
    "assign_task": ("Agent",),
    "load_skill": ("Skill",),
    "ask_user": ("AskUserQuestion",),
}
"""The other names our tools are met by: theirs in Claude Code, the closest first; then `bash`."""

_NAME_LIST = re.compile(r"[A-Za-z0-9_\- ,|]*")
_MCP_TOOL = re.compile(r"mcp__.+__.+")


@dataclass(frozen=True, slots=True)
class Hook:
    """One command that runs at one event."""

    event: HookEvent
    matcher: str
    command: str
    source: str
    """Where it was written: file and entry."""
    args: tuple[str, ...] | None = None
    """With arguments, even none, `command` is a program; without, a line for the shell."""
    timeout_seconds: float = 60.0
    condition: str = ""
    """A permission rule the call must meet, `Bash(git *)`."""
    blocks_on_failure: bool = False
    """True when a hook that fails, hangs or can't be started says no."""


def met_name(matcher: str, tool: str) -> str:
    """Returns the name by which a matcher meets a tool; empty when it doesn't.

    Raises re.error for a matcher that is no regular expression.
    """
    meets = _test(matcher)
    return next((name for name in (tool, *CLAUDE_NAMES.get(tool, ())) if meets(name)), "")


def dead_matchers(hooks: Iterable[Hook], tools: Iterable[str]) -> list[str]:
    """Returns a warning for each hook on tools whose matcher can meet none of `tools`.

    Tools of MCP servers that aren't started yet are taken to exist.
    """
    known = tuple(tools)
    return [
        f"{hook.source}: the matcher {hook.matcher!r} meets no tool.{_advice(hook.matcher)}"
        for hook in hooks
        if hook.event in TOOL_EVENTS and not _meets_any(hook.matcher, known)
    ]


def _meets_any(matcher: str, tools: Iterable[str]) -> bool:
    if any(met_name(matcher, tool) for tool in tools):
        return True
    if _NAME_LIST.fullmatch(matcher):
        return any(_MCP_TOOL.fullmatch(name) for name in _names(matcher))
    return "mcp__" in matcher


def _advice(matcher: str) -> str:
    if matcher.startswith("mcp__") and _NAME_LIST.fullmatch(matcher):
        return f" For all tools of the server write {matcher + '__.*'!r}."
    return ""


def _test(matcher: str) -> Callable[[str], bool]:
    if matcher in ("", "*"):
        return bool
    if _NAME_LIST.fullmatch(matcher):
        names = _names(matcher)
        return lambda name: name in names
    pattern = re.compile(matcher)
    return lambda name: pattern.fullmatch(name) is not None


def _names(matcher: str) -> frozenset[str]:
    return frozenset(name.strip() for name in re.split("[,|]", matcher)) - {""}
