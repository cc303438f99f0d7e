"""What is wrong with the rules and hooks somebody wrote: a guard must not be dead in silence; pure.

1. A rule or a hook's `if` that is malformed stops the start, with the place it was written in.
2. A rule that does nothing, a hook that can meet no call, a role's tool that is none: a warning.
"""

from collections.abc import Sequence

from modules.records.settings import Rules, RuleText, Settings
from modules.safety.hook_matching import TOOL_EVENTS, Hook, dead_matchers
from modules.safety.hook_settings import HookFile
from modules.safety.rule_check import check_rules
from tools.catalog import LANE_TOOLS, LEAD_TOOLS, WORKER_TOOLS
from tools.network_command import NETWORK_TOOLS
from tools.subagent import SUBAGENT_TOOL

TOOL_NAMES = tuple(
    sorted(
        {
            tool.name
            for tools in (LANE_TOOLS, LEAD_TOOLS, WORKER_TOOLS, NETWORK_TOOLS, (SUBAGENT_TOOL,))
            for tool in tools
        }
    )
)
"""Every tool of ours; those of MCP servers are known only once these have started."""


def settings_warnings(
    settings: Settings, granted: Rules, files: Sequence[HookFile]
) -> tuple[str, ...]:
    """Returns a line for each thing that does nothing; raises PersonFault for a malformed one."""
    hooks = [hook for file in files for hook in file.hooks]
    found = [
        *rule_warnings(settings, granted),
        *(warning for file in files for warning in file.warnings),
        *dead_matchers(hooks, TOOL_NAMES),
        *_condition_warnings(hooks),
    ]
    return tuple(dict.fromkeys(found))


def rule_warnings(settings: Settings, granted: Rules) -> list[str]:
    """Returns a line for each rule and each tool of a role that does nothing."""
    warnings = check_rules(settings.rules + granted, TOOL_NAMES)
    for name, role in settings.roles.items():
        warnings += check_rules(role.rules, TOOL_NAMES)
        warnings += [
            f"The role {name!r} names the tool {tool!r}, which there is not."
            for tool in role.tools or ()
            if tool not in TOOL_NAMES and not tool.startswith("mcp__")
        ]
    return warnings


def _condition_warnings(hooks: Sequence[Hook]) -> list[str]:
    warnings = [
        f"{hook.source}: its `if` {hook.condition!r} can be met by no call."
        for hook in hooks
        if hook.condition and check_rules(_as_rules(hook), TOOL_NAMES)
    ]
    # Such a hook runs whatever its `if` says, for there is no call to hold it against.
    always = "the hook runs whenever its moment comes."
    return warnings + [
        f"{hook.source}: an `if` counts for calls alone; {always}"
        for hook in hooks
        if hook.condition and hook.event not in TOOL_EVENTS
    ]


def _as_rules(hook: Hook) -> Rules:
    return Rules(deny=(RuleText(text=hook.condition, source=hook.source),))
