"""Whether somebody has to hear that nobody described a task's role; pure.

1. Where no settings describe any role, roles are labels: nothing is told.
2. Where they describe some, a role they don't describe may be a typo: it is told, with those there
   are. The task stays on the board, and who takes it has the settings of a worker without a role.
"""

from collections.abc import Collection


def undescribed_role(role: str, described: Collection[str]) -> str:
    """Returns what to tell of a task's role; empty for nothing."""
    if not role or not described or role in described:
        return ""
    return (
        f"No settings describe the role {role!r}; they describe: {', '.join(sorted(described))}. "
        "Who takes a task of that role has default settings."
    )
