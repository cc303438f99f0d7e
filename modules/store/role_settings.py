"""Roles that several sources describe, joined; pure.

1. Prompt and model: the stronger source's, where it sets them.
2. Tools: only those that every source allows which names any.
3. A plan comes first where any source says so.
4. Rules of all sources hold together; allow rules of a role narrow, so those of each source do.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from modules.records.settings import Role, Rules, RuleText, tools_of_both

Table = Mapping[str, Any]
"""A role's table as one file has it: only the keys it sets."""


def joined_roles(
    weaker: Mapping[str, Role], given: Mapping[str, Table], *, source: str
) -> dict[str, Role]:
    """Returns the roles of weaker sources with those of a stronger one."""
    stronger = {
        name: _joined(weaker.get(name, Role()), table, source=f"{source}, role {name}")
        for name, table in given.items()
    }
    return {**weaker, **stronger}


def rules_of(table: Table, *, source: str) -> Rules:
    """Returns the rules of one table of permissions."""

    def texts(name: str) -> tuple[RuleText, ...]:
        return tuple(RuleText(text=text, source=source) for text in table.get(name, ()))

    return Rules(allow=texts("allow"), ask=texts("ask"), deny=texts("deny"))


def _joined(weaker: Role, table: Table, *, source: str) -> Role:
    return replace(
        weaker,
        prompt=table.get("prompt", weaker.prompt),
        model=table.get("model", weaker.model),
        plan=weaker.plan or table.get("plan", False),
        tools=tools_of_both(weaker.tools, tuple(table.get("tools", ())) or None),
        rules=weaker.rules + rules_of(table, source=source),
    )
