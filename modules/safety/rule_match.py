"""Whether a rule speaks of a call: what restricts is read widely, what allows narrowly; pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, assert_never

from modules.records.decisions import (
    Assessment,
    PathSubject,
    Risk,
    ShellSubject,
    Subject,
    ToolSubject,
    UrlSubject,
)
from modules.records.record import Record
from modules.records.settings import RuleText
from modules.safety.ground import Ground
from modules.safety.path_risk import locate
from modules.safety.rules import (
    CHANGING,
    READING,
    Rule,
    matches_agent,
    matches_command,
    matches_domain,
    matches_parameter,
    matches_path,
    matches_tool,
    parse_rule,
)
from modules.safety.shell_risk import Unit
from modules.safety.url_risk import read_url


class Call(Record):
    """A call and what the guards found about it."""

    tool: str
    given: dict[str, Any]
    subject: Subject
    assessment: Assessment
    units: tuple[Unit, ...] = ()
    """The parts of a command line."""
    is_parsed: bool = True
    ground: Ground


def restricting_rule(call: Call, rules: Sequence[RuleText]) -> RuleText | None:
    """Returns the first rule that matches any part of the call."""
    return next((text for text in rules if _restricts(parse_rule(text), call)), None)


def covering_rule(call: Call, rules: Sequence[RuleText]) -> RuleText | None:
    """Returns a rule that, with others of them, covers the whole call."""
    parsed = [(text, parse_rule(text)) for text in rules]
    if isinstance(call.subject, ShellSubject):
        return _covers_units(call, parsed)
    return next((text for text, rule in parsed if _allows(rule, call)), None)


def _covers_units(call: Call, parsed: list[tuple[RuleText, Rule]]) -> RuleText | None:
    if not call.is_parsed:
        return None
    granted = {rule.tool for _, rule in parsed if rule.is_category and rule.pattern is None}
    first: RuleText | None = None
    for unit in call.units:
        if unit.assessment.risk is Risk.SAFE:
            continue
        covering = next((text for text, rule in parsed if _covers(rule, unit, call.ground)), None)
        categories = unit.assessment.categories
        if covering is None and categories and set(categories) <= granted:
            covering = next(text for text, rule in parsed if rule.tool == categories[0])
        if covering is None:
            return None
        first = first or covering
    return first


def _covers(rule: Rule, unit: Unit, ground: Ground) -> bool:
    if unit.is_redirect:
        return (
            rule.tool in CHANGING
            and bool(unit.writes)
            and all(_fits(rule, path, ground) for path in unit.writes)
        )
    if rule.tool != "Bash":
        return False
    return any(
        matches_command(rule.pattern, form, is_exact=unit.needs_exact) for form in unit.plain_forms
    )


def _allows(rule: Rule, call: Call) -> bool:
    if rule.is_category:
        return rule.pattern is None and call.assessment.categories == (rule.tool,)
    if not matches_tool(rule, call.tool, restricts=False):
        return False
    match call.subject:
        case PathSubject():
            return all(_fits(rule, path, call.ground) for path in _paths(call))
        case UrlSubject(url=url):
            return _fits_url(rule, url)
        case ToolSubject():
            if rule.pattern is None:
                return True
            return rule.tool == "Agent" and matches_agent(rule.pattern, call.tool, call.given)
        case ShellSubject():
            return False
        case _:
            assert_never(call.subject)


def _restricts(rule: Rule, call: Call) -> bool:
    if rule.is_category:
        return rule.tool in call.assessment.categories
    if isinstance(call.subject, ShellSubject) and _restricts_units(rule, call):
        return True
    if not matches_tool(rule, call.tool, restricts=True):
        return False
    match call.subject:
        case PathSubject():
            return any(_fits(rule, path, call.ground) for path in _wide_paths(_paths(call)))
        case UrlSubject(url=url):
            return _fits_url(rule, url)
        case ShellSubject():
            return rule.tool == "*" or rule.pattern in (None, "*", ":*")
        case ToolSubject():
            return _restricts_tool(rule, call)
        case _:
            assert_never(call.subject)


def _restricts_tool(rule: Rule, call: Call) -> bool:
    if rule.pattern is None:
        return True
    if rule.tool == "Agent":
        return matches_agent(rule.pattern, call.tool, call.given)
    return matches_parameter(rule.pattern, call.given)


def _restricts_units(rule: Rule, call: Call) -> bool:
    for unit in call.units:
        if rule.tool == "Bash" and any(matches_command(rule.pattern, f) for f in unit.forms):
            return True
        touched = _touched(rule, unit)
        if any(_fits(rule, path, call.ground) for path in _wide_paths(touched)):
            return True
    return False


def _touched(rule: Rule, unit: Unit) -> Sequence[str]:
    """Returns the files of a command that a rule about file tools speaks of."""
    if rule.pattern is None:
        return ()
    if rule.tool in CHANGING:
        return unit.writes
    return unit.reads if rule.tool in READING else ()


def _paths(call: Call) -> list[str]:
    if not isinstance(call.subject, PathSubject):
        return []
    spot = locate(call.subject.path, call.ground, follows_last=call.subject.op != "delete")
    return [spot.given, spot.resolved]


def _wide_paths(paths: Iterable[str]) -> Iterator[str]:
    """Yields the paths, and what lies right below: a rule may speak of a folder's inside."""
    for path in paths:
        yield path
        yield f"{path}/_"


def _fits(rule: Rule, path: str, ground: Ground) -> bool:
    roots = (str(ground.root), str(ground.main_checkout))
    return matches_path(rule.pattern, path, roots=roots, home=str(ground.home))


def _fits_url(rule: Rule, url: str) -> bool:
    target = read_url(url)
    return not isinstance(target, str) and matches_domain(rule.pattern, target.host)
