"""Finds rules that do nothing: a rule somebody trusts in must not be dead in silence; pure."""

import re
from collections.abc import Iterable

from modules.records.settings import Rules, RuleText
from modules.safety.rules import PATH_TOOLS, Rule, canonical_tool, parse_rule
from modules.safety.shell_tables import AGENTS, SYSTEM

_UNGRANTABLE = frozenset(
    {
        *("bash:unparsed", "bash:system", "bash:wipe", "bash:agent", "bash:remote-code"),
        *("bash:secret", "bash:outside", "bash:protected", "file:secret", "file:outside"),
        *("file:protected", "file:kind", "file:hardlink", "net:private", "net:url"),
    }
)


def check_rules(rules: Rules, known_tools: Iterable[str]) -> list[str]:
    """Returns a warning for each rule that does nothing; raises PersonFault for a malformed one."""
    known = {canonical_tool(name) for name in known_tools}
    warnings = []
    for kind, texts in (("allow", rules.allow), ("ask", rules.ask), ("deny", rules.deny)):
        denied = {rule.text.strip() for rule in rules.deny} if kind != "deny" else set()
        for text in texts:
            why = _why_dead(parse_rule(text), kind, known, denied)
            if why:
                warnings.append(_warning(text, kind, why))
    return warnings


def _warning(rule: RuleText, kind: str, why: str) -> str:
    return f"The {kind} rule {rule.text!r} in {rule.source!r} does nothing: {why}."


def _why_dead(rule: Rule, kind: str, known: set[str], denied: set[str]) -> str:
    if rule.text in denied:
        return "the same rule denies it"
    if rule.is_category:
        is_dead = kind == "allow" and rule.tool in _UNGRANTABLE
        return "what it names is asked about or denied in every mode" if is_dead else ""
    if rule.tool.startswith("mcp__") or rule.tool == "*":
        return _why_dead_pattern(rule, kind)
    if rule.tool not in known:
        return f"there is no tool {rule.tool!r}"
    return _why_dead_spec(rule, kind)


def _why_dead_pattern(rule: Rule, kind: str) -> str:
    name = rule.tool.removeprefix("mcp__").split("__")[0]
    if kind == "allow" and "*" in name:
        return "it would allow servers nobody named"
    return ""


def _why_dead_spec(rule: Rule, kind: str) -> str:
    pattern = rule.pattern
    if pattern is None or rule.tool in PATH_TOOLS or rule.tool == "Agent":
        return ""
    if rule.tool == "Bash":
        program = re.split(r"[ :]", pattern)[0]
        if kind == "allow" and (program in SYSTEM or program in AGENTS):
            return f"{program!r} is asked about in every mode"
        return ""
    if rule.tool == "WebFetch":
        return "" if pattern.startswith("domain:") else "write it as WebFetch(domain:…)"
    if kind == "allow":
        return "a rule about a parameter only denies or asks"
    return "" if ":" in pattern else "write its pattern as parameter:value"
