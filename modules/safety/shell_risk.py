"""What a command line would touch, and how risky that is; pure but for looking at links.

1. Its risk is the worst of its commands, redirects and syntax; categories add up.
2. What isn't understood is dangerous and is asked about, whatever the mode or the rules; what can
   still be seen in it counts all the same.
3. Scripts written out inside it (`bash -c '…'`, a here-document for a shell) are judged too.
4. For rules it is a list of units: one for each command, redirect and dangerous piece of syntax.
   A rule that allows must cover every unit; one that denies needs only one.
"""

import re
from collections.abc import Iterable

from modules.records.decisions import Assessment, Risk
from modules.records.record import Record
from modules.safety.ground import Ground
from modules.safety.shell_case import Case, Findings
from modules.safety.shell_names import is_free_prefix
from modules.safety.shell_parse import parse_shell
from modules.safety.shell_programs import judge_command
from modules.safety.shell_script import Call, Direction, Redirect, Script
from modules.safety.shell_words import UNKNOWN

_DEEPEST = 4
_SEPARATORS = re.compile(r"[;&|\n(){}`]+")


class Unit(Record):
    """One part of a command line, as rules see it."""

    assessment: Assessment
    forms: tuple[str, ...] = ()
    """The command under each name a deny or ask rule may know it by."""
    plain_forms: tuple[str, ...] = ()
    """The command as an allow rule may know it; none for redirects and syntax."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    is_redirect: bool = False
    needs_exact: bool = False
    """True where an allow rule must name the whole command."""


class ShellReading(Record):
    """A command line as judged."""

    assessment: Assessment
    units: tuple[Unit, ...]
    is_parsed: bool
    """False where parts of it are not understood; no allow rule covers it then."""


def assess_shell(command: str, ground: Ground) -> Assessment:
    """Returns how risky it is to run `command` in the ground's root."""
    return read_shell(command, ground).assessment


def read_shell(command: str, ground: Ground) -> ShellReading:
    """Returns the parts of `command` and how risky they are."""
    units = _units(command, ground, depth=0)
    is_parsed = not any("bash:unparsed" in unit.assessment.categories for unit in units)
    return ShellReading(
        assessment=worst(unit.assessment for unit in units),
        units=tuple(units),
        is_parsed=is_parsed,
    )


def worst(found: Iterable[Assessment]) -> Assessment:
    """Returns one assessment as risky as the riskiest, with the categories of all."""
    every = list(found)
    top = max(every, key=lambda one: one.risk.rank, default=Assessment(risk=Risk.SAFE))
    categories = dict.fromkeys(category for one in every for category in one.categories)
    return Assessment(
        risk=top.risk,
        categories=tuple(categories),
        must_ask=any(one.must_ask for one in every),
        why=top.why,
    )


def _units(command: str, ground: Ground, *, depth: int) -> list[Unit]:
    script = parse_shell(command, ground)
    units: list[Unit] = []
    for call in script.calls:
        units.extend(_call_units(call, script, ground, depth))
    units.extend(_redirect_unit(redirect, script, ground) for redirect in script.redirects)
    units.extend(Unit(assessment=finding) for finding in script.findings)
    if script.doubts:
        units.extend(_doubtful_units(command, script, ground, depth))
    return units


def _call_units(call: Call, script: Script, ground: Ground, depth: int) -> list[Unit]:
    findings = Findings()
    is_free = _judge_prefixes(call, findings)
    if call.words:
        first = call.words[0]
        case = Case(
            name=first.text,
            args=call.words[1:],
            call=call,
            script=script,
            ground=ground,
            findings=findings,
            judge=judge_command,
        )
        judge_command(case)
        if not _is_readable_name(first.raw, first.pattern):
            findings.opaque("its program's name is written in a way that hides it")
    plain = " ".join(word.raw for word in call.words)
    unit = Unit(
        assessment=worst(findings.found),
        forms=tuple(dict.fromkeys((call.raw, *findings.forms))),
        plain_forms=(plain, *findings.plain_forms) if is_free else (),
        reads=tuple(findings.reads),
        writes=tuple(findings.writes),
        needs_exact=findings.needs_exact,
    )
    return [unit, *_nested_units(findings.nested, ground, depth)]


def _nested_units(texts: list[str], ground: Ground, depth: int) -> list[Unit]:
    if depth >= _DEEPEST:
        why = "it has scripts within scripts"
        return [Unit(assessment=_unparsed(why))] if texts else []
    units = []
    for text in texts:
        shown = text.replace(UNKNOWN, '"$UNKNOWN"')
        if shown.strip():
            units.extend(_units(shown, ground, depth=depth + 1))
    return units


def _is_readable_name(raw: str, pattern: str) -> bool:
    if raw.startswith("~/"):
        return re.fullmatch(r"~/[\w./+-]+", raw, re.ASCII) is not None
    return raw == pattern and re.fullmatch(r"[\w./+:@%^,-]+|\[", raw, re.ASCII) is not None


def _judge_prefixes(call: Call, findings: Findings) -> bool:
    """Notes variables set before the command; True where none of them matters."""
    is_free = True
    is_reading = bool(call.words) and call.words[0].text == "read"
    for assignment in call.assignments:
        if assignment.name == "IFS" and is_reading and assignment.value is not None:
            continue
        if not is_free_prefix(assignment.name, assignment.value):
            is_free = False
            findings.needs_exact = True
            why = f"sets {assignment.name}, which may decide what runs"
            findings.add(Risk.DANGEROUS, "bash:env", why)
    return is_free


def _redirect_unit(redirect: Redirect, script: Script, ground: Ground) -> Unit:
    findings = Findings()
    call = Call(words=(), raw="", folders=redirect.folders)
    case = Case(
        name="",
        args=(),
        call=call,
        script=script,
        ground=ground,
        findings=findings,
        judge=judge_command,
    )
    if redirect.direction is Direction.READ:
        case.reads(redirect.target)
    elif not redirect.target.is_known:
        case.runs(f"writes to {redirect.target.raw!r}, which isn't known before it runs")
        for text in redirect.target.values()[1:]:
            case.writes_text(text)
    else:
        case.writes(redirect.target)
    return Unit(
        assessment=worst(findings.found),
        reads=tuple(findings.reads),
        writes=tuple(findings.writes),
        is_redirect=True,
    )


def _doubtful_units(command: str, script: Script, ground: Ground, depth: int) -> list[Unit]:
    """Returns units for what isn't understood: the doubt, and whatever can be seen in pieces."""
    why = f"can't be understood for certain: {script.doubts[0]}"
    shown = command[:10_000]
    # The parser doesn't know `<>`, which opens for writing too.
    whole = shown.replace("<>", ">")
    pieces = [piece.strip() for piece in (whole, *shown.split("\n"), *_SEPARATORS.split(shown))]
    pieces = [piece for piece in dict.fromkeys(pieces) if piece and piece != command.strip()]
    units = [Unit(assessment=_unparsed(why), forms=tuple(_tails(command)))]
    if depth < _DEEPEST:
        for piece in pieces[:100]:
            units.extend(_units(piece, ground, depth=_DEEPEST))
    return units


def _tails(command: str) -> list[str]:
    """Returns the text from each word on: what a rule could match if a command began there."""
    text = " ".join(re.split(r"[\s;&|(){}`$<>'\"\\]+", command[:4_000])).strip()
    words = text.split(" ")[:400]
    return [" ".join(words[start:])[:400] for start in range(len(words))]


def _unparsed(why: str) -> Assessment:
    return Assessment(risk=Risk.DANGEROUS, categories=("bash:unparsed",), must_ask=True, why=why)
