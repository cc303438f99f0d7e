"""An agent that no run has: as whom the gate is asked without one.

1. Without a word it is a worker where the folder lies in a worktree of the crew, else the lead.
2. A role makes it a worker. Outside of a worktree it stands in one that is yet to be made.
3. Its rules are what a run would begin with: the settings', what was granted with `always`, the
   role's. A role that plans first begins in plan mode, but where another mode is asked for.
"""

from dataclasses import dataclass
from pathlib import Path

from modules.app.opening import open_repository_at, settings_for
from modules.records.decisions import Mode
from modules.records.errors import PersonFault
from modules.records.settings import Role, Settings
from modules.safety.gate_report import judge
from modules.safety.grants import Grants
from modules.safety.ground import Ground
from modules.safety.permissions import PermissionManager, Standing
from modules.safety.rules_in_force import RuleInForce, rules_in_force
from modules.safety.sandbox import probe

_LEAD, _WORKER = "lead", "worker"
_TO_COME = "to-come"
"""Name of the worktree of a worker that has none."""


@dataclass(frozen=True, slots=True)
class AskingAgent:
    """Whom the gate is asked for, under which rules."""

    standing: Standing
    manager: PermissionManager
    tools: tuple[str, ...] | None
    """The tools its role leaves it of a worker's; None: all."""

    def judge(self, kind: str, text: str, op: str) -> dict[str, object]:
        """Returns how the gate would decide on one command, path or address."""
        return judge(kind, text, op, self.standing, self.manager, tools=self.tools)

    def rules(self) -> list[RuleInForce]:
        """Returns the rules the agent is under."""
        return rules_in_force(self.manager, self.standing)


def asking_agent(
    folder: Path, *, agent: str | None, role_name: str | None, mode: str | None
) -> AskingAgent:
    """Returns whom the gate is asked for; raises PersonFault when there is no such agent."""
    opened = open_repository_at(folder)
    settings, _ = settings_for(opened, {"mode": mode})
    lane = _lane_root(folder, opened.paths.lanes)
    if agent not in (None, _LEAD, _WORKER):
        raise PersonFault(
            f"There is no agent {agent!r} to ask for.", hint="Say --as lead or --as worker."
        )
    if agent == _LEAD and role_name is not None:
        raise PersonFault("The lead has no role.", hint="Leave out --role, or say --as worker.")
    is_worker = agent == _WORKER or role_name is not None or (agent is None and lane is not None)
    root = (lane or opened.paths.lanes / _TO_COME) if is_worker else opened.paths.root
    role = _role(settings, role_name)
    standing = Standing(
        agent=lane.name if is_worker and lane else (_WORKER if is_worker else _LEAD),
        role=role_name or "",
        is_worker=is_worker,
        is_jailed=probe(opened.environment).is_jail,
        mode=Mode.PLAN if role.plan and mode is None else settings.mode,
        rules=role.rules,
        ground=Ground(
            root=root,
            main_checkout=opened.paths.root,
            home=opened.environment.home,
            user_folder=opened.environment.user_folder,
            is_worker=is_worker,
            allowed_hosts=settings.web_allow,
        ),
    )
    granted = Grants(opened.environment.user_folder, opened.paths.root).rules()
    manager = PermissionManager(settings.rules + granted, mode=settings.mode)
    return AskingAgent(standing=standing, manager=manager, tools=role.tools)


def _role(settings: Settings, name: str | None) -> Role:
    if name is None:
        return Role()
    if name not in settings.roles:
        known = ", ".join(settings.roles) or "none"
        raise PersonFault(
            f"There is no role {name!r}.", hint=f"Roles are in the settings; there are: {known}."
        )
    return settings.roles[name]


def _lane_root(folder: Path, lanes: Path) -> Path | None:
    here = folder.resolve()
    if not here.is_relative_to(lanes) or here == lanes:
        return None
    return lanes / here.relative_to(lanes).parts[0]
