"""Decides whether a call may run. The order, a guard before a rule before a mode:

1. The guards judge what the call would touch. What they deny is denied in every mode; what they
   say a person must see is asked about in every mode. So is a command that asks for the network.
2. A deny rule denies. An ask rule asks, in every mode.
3. The mode: what is no more than it lets pass is allowed; in plan mode the rest is denied. Inside
   a healthy jail a worker's own edits and commands pass from auto on: the jail contains them.
4. Allow rules: each part of the call must be covered; they lift no question of 1 or 2.
5. Whatever is left is asked about.

A worker's rules are the lead's, with its role's deny and ask rules added; where its role has allow
rules, only what the lead's allow and those of each source of the role do is allowed. A mode
lowered in the lead lowers every agent's at once. A mode raised there raises the lead and the
workers that begin from then on; those at work keep what they began in, but where it is for all.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from msgspec.structs import replace

from modules.records.decisions import (
    Assessment,
    Behavior,
    Decision,
    Mode,
    PathSubject,
    Risk,
    ShellSubject,
    Subject,
    ToolSubject,
    UrlSubject,
)
from modules.records.record import Record
from modules.records.settings import Rules, RuleText
from modules.safety.ground import Ground
from modules.safety.path_risk import assess_folder, assess_path
from modules.safety.rule_match import Call, covering_rule, restricting_rule
from modules.safety.rule_offer import narrowest_rule
from modules.safety.rules import canonical_tool, parse_rule
from modules.safety.shell_risk import read_shell
from modules.safety.url_risk import assess_url

_PASSES = {
    Mode.PLAN: Risk.SAFE,
    Mode.DEFAULT: Risk.SAFE,
    Mode.AUTO: Risk.SAFE,
    Mode.ACCEPT_EDITS: Risk.WRITE,
    Mode.YOLO: Risk.DANGEROUS,
}
"""The riskiest that each mode lets pass."""
_CONTAINED = frozenset(
    {
        *("bash:write", "bash:run", "bash:rm", "bash:env", "bash:git-history", "bash:kill"),
        *("bash:search", "file:write", "file:delete"),
    }
)
"""What can't get out of a jail: it writes only the lane, and has no network."""
_FOLDER_TOOLS = frozenset({"Grep", "Glob", "LS"})


class Standing(Record):
    """Who makes a call, and how much that agent may do."""

    agent: str
    role: str = ""
    is_worker: bool = False
    is_jailed: bool = False
    """True where the agent's commands run inside a sandbox that passed its probe."""
    mode: Mode = Mode.DEFAULT
    is_explorer: bool = False
    """True for one that was made to read only; it stands in plan mode and has no plan."""
    rules: Rules = Rules()
    """The role's own rules: its deny and ask rules add, its allow rules narrow."""
    ground: Ground


def decide(
    standing: Standing, tool: str, given: Mapping[str, Any], subject: Subject, rules: Rules
) -> Decision:
    """Returns what happens to a call; `rules` are all in force but for what the role narrows."""
    call = assess_call(standing, tool, given, subject)
    found = call.assessment
    if found.risk is Risk.DENY:
        return _decision(Behavior.DENY, found, source="guard")
    denied = restricting_rule(call, rules.deny)
    if denied is not None:
        why = f"the rule {denied.text} in {denied.source} denies it"
        return _decision(Behavior.DENY, found, rule=denied, why=why)
    asked = restricting_rule(call, rules.ask)
    must_ask = found.must_ask or found.risk is Risk.CRITICAL or asked is not None
    if standing.mode is Mode.PLAN and found.risk is not Risk.SAFE:
        why = f"plan mode only reads, and this {found.why}; describe it in your plan instead"
        if standing.is_explorer:
            why = f"you were made to read only, and this {found.why}; leave it to your caller"
        return _decision(Behavior.DENY, found, source="mode", why=why)
    if asked is not None:
        why = f"the rule {asked.text} in {asked.source} asks about it"
        return _decision(Behavior.ASK, found, rule=asked, why=why, must_ask=True)
    if must_ask:
        return _decision(Behavior.ASK, found, source="guard", must_ask=True)
    return _by_mode(standing, call) or _by_rules(standing, call, rules.allow)


def _by_mode(standing: Standing, call: Call) -> Decision | None:
    found = call.assessment
    if found.risk.rank <= _PASSES[standing.mode].rank:
        return _decision(Behavior.ALLOW, found, source="mode")
    if _is_contained(standing, call):
        return _decision(Behavior.ALLOW, found, source="mode", why="the sandbox contains it")
    return None


def _by_rules(standing: Standing, call: Call, allow: Sequence[RuleText]) -> Decision:
    found = call.assessment
    rule = covering_rule(call, allow)
    if rule is not None and all(covering_rule(call, own) for own in _narrowing(standing.rules)):
        return _decision(Behavior.ALLOW, found, rule=rule, why=f"the rule {rule.text} allows it")
    why = f"{found.why or 'it is not known to be safe'}; {standing.mode} mode asks about that"
    return _decision(Behavior.ASK, found, source="mode", why=why)


def _narrowing(rules: Rules) -> list[list[RuleText]]:
    """Returns a role's allow rules, those of each source by themselves."""
    sources = dict.fromkeys(rule.source for rule in rules.allow)
    return [[rule for rule in rules.allow if rule.source == source] for source in sources]


def _is_contained(standing: Standing, call: Call) -> bool:
    return (
        standing.is_worker
        and standing.is_jailed
        and standing.mode in (Mode.AUTO, Mode.ACCEPT_EDITS)
        and isinstance(call.subject, ShellSubject | PathSubject)
        and call.assessment.risk.rank <= Risk.DANGEROUS.rank
        and set(call.assessment.categories) <= _CONTAINED
    )


def assess_call(standing: Standing, tool: str, given: Mapping[str, Any], subject: Subject) -> Call:
    """Returns a call with what the guards found about it."""
    ground = standing.ground
    reading = None
    match subject:
        case ShellSubject(command=command, reason=reason):
            reading = read_shell(command, ground)
            found = _escalated(reading.assessment) if reason else reading.assessment
        case PathSubject(path=path, op=op):
            is_folder = canonical_tool(tool) in _FOLDER_TOOLS and op == "read"
            found = assess_folder(path, ground) if is_folder else assess_path(path, op, ground)
        case UrlSubject(url=url):
            found = assess_url(url, ground)
        case ToolSubject(risk=risk, text=text):
            found = Assessment(
                risk=risk,
                must_ask=risk is Risk.CRITICAL,
                why=f"{tool} is {risk}" + (f": {text}" if text else ""),
            )
        case _:
            assert_never(subject)
    return Call(
        tool=tool,
        given=dict(given),
        subject=subject,
        assessment=found,
        units=reading.units if reading is not None else (),
        is_parsed=reading is None or reading.is_parsed,
        ground=ground,
    )


def _escalated(found: Assessment) -> Assessment:
    """Returns what is found of a command that asks for the network, which a person must see."""
    risk = max(found.risk, Risk.DANGEROUS, key=lambda one: one.rank)
    return Assessment(
        risk=risk,
        categories=(*found.categories, "bash:escalated"),
        must_ask=True,
        why=found.why if risk is Risk.DENY else "it asks for the network, for this one command",
    )


def _decision(
    behavior: Behavior,
    found: Assessment,
    *,
    rule: RuleText | None = None,
    source: str = "",
    why: str = "",
    must_ask: bool = False,
) -> Decision:
    return Decision(
        behavior=behavior,
        risk=found.risk,
        categories=found.categories,
        rule=rule.text if rule is not None else "",
        source=rule.source if rule is not None else source,
        why=why or found.why,
        must_ask=must_ask,
    )


def with_hook(decision: Decision, behavior: str, why: str) -> Decision:
    """Returns the decision after hooks spoke: no beats ask beats yes, and yes lifts no floor."""
    if behavior == Behavior.DENY and decision.behavior is not Behavior.DENY:
        return replace(decision, behavior=Behavior.DENY, source="hook", rule="", why=why)
    if behavior == Behavior.ASK and decision.behavior is Behavior.ALLOW:
        return replace(
            decision, behavior=Behavior.ASK, source="hook", rule="", why=why, must_ask=True
        )
    is_plain = decision.behavior is Behavior.ASK and not decision.must_ask
    if behavior == Behavior.ALLOW and is_plain:
        return replace(decision, behavior=Behavior.ALLOW, source="hook", rule="", why=why)
    return decision


def is_of_use(least_risk: Risk, mode: Mode) -> bool:
    """Returns whether a tool whose calls all risk so much could run at all in a mode."""
    return mode is not Mode.PLAN or least_risk.rank <= _PASSES[mode].rank


def meets_rule(
    standing: Standing, rule: str, tool: str, given: Mapping[str, Any], subject: Subject
) -> bool:
    """Returns whether any part of a call is what a rule speaks of."""
    call = assess_call(standing, tool, given, subject)
    return restricting_rule(call, (RuleText(text=rule, source="if"),)) is not None


class PermissionManager:
    """The rules in force, what the person granted in this run, and the lead's mode."""

    def __init__(
        self, rules: Rules, *, mode: Mode, store: Callable[[str], None] | None = None
    ) -> None:
        self._rules = rules
        self._granted: tuple[RuleText, ...] = ()
        self._mode = mode
        self._raises: list[Mode] = []
        """What the person wanted for every agent, those at work included."""
        self._store = store

    @property
    def mode(self) -> Mode:
        """The lead's mode; no agent has a higher one."""
        return self._mode

    def set_mode(self, mode: Mode, *, for_all: bool = False) -> None:
        """Sets the lead's mode for calls decided from now on; `for_all` raises workers at work."""
        if for_all:
            self._raises.append(mode)
        self._mode = mode

    def mode_from_now(self) -> Callable[[], Mode]:
        """Returns what tells, at any time, the mode of a worker that begins now."""
        begun, earlier = self._mode, len(self._raises)

        def mode() -> Mode:
            reached = max([begun, *self._raises[earlier:]], key=lambda one: one.rank)
            return reached.at_most(self._mode)

        return mode

    def effective_mode(self, standing: Standing) -> Mode:
        """Returns the mode an agent's calls are decided in now."""
        return standing.mode.at_most(self._mode)

    def remember(self, rule: str) -> None:
        """Grants a rule for this run, to every agent, and hands it on to be kept."""
        granted = RuleText(text=rule, source="session")
        parse_rule(granted)
        self._granted = (*self._granted, granted)
        if self._store is not None:
            self._store(rule)

    def effective_rules(self, standing: Standing) -> Rules:
        """Returns the rules an agent is under; its role's allow rules narrow these further."""
        own = standing.rules
        granted = Rules(allow=self._granted)
        return granted + self._rules + Rules(ask=own.ask, deny=own.deny)

    def decide(
        self, standing: Standing, tool: str, given: Mapping[str, Any], subject: Subject
    ) -> Decision:
        """Returns what happens to a call now."""
        rules = self.effective_rules(standing)
        held = replace(standing, mode=self.effective_mode(standing))
        return decide(held, tool, given, subject, rules)

    def offer(self, standing: Standing, tool: str, subject: Subject, decision: Decision) -> str:
        """Returns the rule that `always` would keep; empty where the answer can't be kept."""
        if decision.must_ask or decision.behavior is not Behavior.ASK:
            return ""
        return narrowest_rule(tool, subject, standing.ground)
