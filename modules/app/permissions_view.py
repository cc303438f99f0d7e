"""The permissions of the lead, a worker or a role, for people to read."""

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from modules.app.run import Run
from modules.app.visible_text import visible_line
from modules.records.decisions import Mode
from modules.records.settings import Role, tools_of_both
from modules.safety.ground import Ground
from modules.safety.permissions import Standing
from modules.safety.rules_in_force import EFFECT_WORDS, NO_RULES, RuleInForce, rules_in_force
from modules.team.addresses import LEAD


def permission_lines(run: Run, name: str) -> Iterator[str | Table]:
    """Yields the mode, tools and rules of the lead, a worker or a role."""
    found = _standing(run, name or LEAD)
    if found is None:
        known = [LEAD, *(worker.name for worker in run.crew.workers()), *run.house.settings.roles]
        yield f"There is no agent and no role {name!r}; there are {', '.join(known)}."
        return
    standing, tools = found
    manager = run.house.permissions
    who = f"{standing.agent}, {standing.role}" if standing.role else standing.agent
    jail = "in the sandbox" if standing.is_jailed else "without a sandbox"
    yield visible_line(f"{who}: {manager.effective_mode(standing)} mode, {jail}")
    if tools is not None:
        yield visible_line(f"only these tools beside the crew's: {', '.join(tools) or 'none'}")
    rules = rules_in_force(manager, standing)
    yield _table(rules) if rules else NO_RULES


def _standing(run: Run, name: str) -> tuple[Standing, tuple[str, ...] | None] | None:
    """Returns how an agent stands now, or how a worker of a role would, and its tools."""
    house = run.house
    if name == LEAD:
        return _lead(run), None
    worker = next((one for one in run.crew.workers() if one.name == name), None)
    at_work = house.standings.get(name)
    if worker is not None and worker.task is not None and at_work is not None:
        standing = at_work()
        role = house.settings.roles.get(standing.role, Role())
        return standing, tools_of_both(role.tools, worker.tools)
    if worker is not None:
        role = house.settings.roles.get(worker.role, Role())
        mode = house.permissions.mode if worker.mode is None else worker.mode
        tools = tools_of_both(role.tools, worker.tools)
        return _to_come(run, name, worker.role, role, mode), tools
    if name in house.settings.roles:
        role = house.settings.roles[name]
        return _to_come(run, "a worker to come", name, role, house.permissions.mode), role.tools
    return None


def _lead(run: Run) -> Standing:
    known = run.house.standings.get(LEAD)
    if known is not None:
        return known()
    return _to_come(run, LEAD, "", Role(), run.house.permissions.mode)


def _to_come(run: Run, agent: str, role_name: str, role: Role, mode: Mode) -> Standing:
    """Returns how an agent that is not at work would begin."""
    house = run.house
    return Standing(
        agent=agent,
        role=role_name,
        is_worker=agent != LEAD,
        is_jailed=house.sandbox.is_jail,
        mode=Mode.PLAN if role.plan else mode,
        rules=role.rules,
        ground=Ground(
            root=house.paths.root,
            main_checkout=house.paths.root,
            home=house.environment.home,
            user_folder=house.environment.user_folder,
        ),
    )


def _table(rules: Iterable[RuleInForce]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("", "rule", "from"):
        table.add_column(column, overflow="fold")
    for rule in rules:
        cells = (EFFECT_WORDS[rule.effect], rule.rule, rule.source)
        table.add_row(*(Text(visible_line(cell)) for cell in cells))
    return table
