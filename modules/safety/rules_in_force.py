"""The permission rules an agent is under, in the order the gate looks at them; pure.

1. Deny rules, then ask rules, then allow rules: the general ones and those of the agent's role.
2. Where a role has allow rules, an allow rule counts only for what those of each source of the role
   allow as well. So a role narrows what is allowed and never widens it.
"""

from typing import Literal

from modules.records.record import Record
from modules.records.settings import RuleText
from modules.safety.permissions import PermissionManager, Standing

Effect = Literal["deny", "ask", "allow", "only"]
EFFECT_WORDS: dict[Effect, str] = {
    "deny": "denied",
    "ask": "asked about",
    "allow": "allowed",
    "only": "allowed only as far as",
}
NO_RULES = "No rule holds; the mode alone decides."


class RuleInForce(Record):
    """One rule and what it does; `only`: an allow rule of the role that narrows the others."""

    effect: Effect
    rule: str
    source: str


def rules_in_force(manager: PermissionManager, standing: Standing) -> list[RuleInForce]:
    """Returns the rules an agent is under now."""
    rules = manager.effective_rules(standing)
    by_effect: list[tuple[Effect, tuple[RuleText, ...]]] = [
        ("deny", rules.deny),
        ("ask", rules.ask),
        ("allow", rules.allow),
        ("only", standing.rules.allow),
    ]
    return [
        RuleInForce(effect=effect, rule=rule.text, source=rule.source)
        for effect, texts in by_effect
        for rule in texts
    ]
