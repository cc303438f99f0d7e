"""Whom a message is for; pure.

1. `lead` or the name of a worker who is there: that one.
2. `role:NAME`: every worker of that role who is there, but the sender. A worker of the crew has the
   role of the task it is at.
3. An address that nobody answers to is an error that names the people and the roles there are.
"""

import re
from collections.abc import Mapping

from modules.records.errors import ModelFault

LEAD = "lead"
ROLE_PREFIX = "role:"
_CREW_NAME = re.compile(r"w[1-9][0-9]*")


def is_crew_name(name: str) -> bool:
    """Returns whether the crew's own workers are named so."""
    return _CREW_NAME.fullmatch(name) is not None


def recipients(to: str, *, sender: str, roles: Mapping[str, str]) -> list[str]:
    """Returns who gets a message; `roles` are those of the workers who are there, by name.

    Raises ModelFault when that is nobody.
    """
    if to == LEAD or to in roles:
        return [to]
    role = to.removeprefix(ROLE_PREFIX)
    if role == to:
        raise ModelFault(f"There is no agent {to!r}. {_who_is_there(roles)}")
    found = [name for name in roles if roles[name] == role and name != sender]
    if not role or not found:
        raise ModelFault(f"Nobody else has the role {role!r} now. {_who_is_there(roles)}")
    return found


def everybody(*, sender: str, roles: Mapping[str, str]) -> list[str]:
    """Returns all workers but the sender; raises ModelFault when there are none."""
    found = [name for name in roles if name != sender]
    if not found:
        raise ModelFault("No worker is there to read it; they start with the work.")
    return found


def _who_is_there(roles: Mapping[str, str]) -> str:
    people = ", ".join([LEAD, *roles])
    named = ", ".join(sorted({ROLE_PREFIX + role for role in roles.values() if role}))
    return f"There are: {people}; {named or 'no worker has a role'}."


def worker_of(agent: str) -> str:
    """Returns the worker whose sub-agent an agent is, or the agent itself where it is none."""
    return agent.partition("/")[0]
