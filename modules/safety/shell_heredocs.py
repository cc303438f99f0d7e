"""Takes here-documents that expand nothing out of a command line, so that it can be parsed; pure.

The parser fails on many lines with a here-document that bash reads well. One with a quoted
delimiter is only text: its operator becomes a redirect from a marker, its lines are kept aside.
Whoever parses the rest must find each marker as such a redirect; one inside quotes or a comment
never was a here-document, and then the lines taken out may have been commands.
"""

import re

_OPERATOR = re.compile(r"(?<!<)<<(-?)[ \t]*(?:(['\"])([\w.]+)\2|\\([\w.]+))", re.ASCII)
_ANY_OPERATOR = re.compile(r"(?<!<)<<(?!<)")
_UNCLEAR_REST = re.compile(r"[()`#\\]")
_MARKER = "HERE_DOCUMENT_{}_"


def without_heredocs(text: str) -> tuple[str, dict[str, str]]:
    """Returns the text with markers and the lines each stands for; no markers if it's unclear."""
    lines = text.split("\n")
    kept: list[str] = []
    bodies: dict[str, str] = {}
    while lines:
        line = lines.pop(0)
        operators = list(_OPERATOR.finditer(line))
        if len(operators) != len(_ANY_OPERATOR.findall(line)):
            return text, {}
        if operators and not _is_clear(line[operators[-1].end() :]):
            return text, {}
        for operator in operators:
            body = _body(lines, operator)
            if body is None:
                return text, {}
            bodies[_MARKER.format(len(bodies))] = body
        kept.append(_marked(line, len(bodies) - len(operators)))
    return "\n".join(kept), bodies


def _is_clear(rest: str) -> bool:
    """True where the line after the operator ends where it seems to end."""
    if _UNCLEAR_REST.search(rest):
        return False
    return rest.count("'") % 2 == 0 and rest.count('"') % 2 == 0


def _body(lines: list[str], operator: "re.Match[str]") -> str | None:
    """Takes the lines up to the delimiter off `lines`."""
    delimiter = operator.group(3) or operator.group(4)
    body: list[str] = []
    while lines:
        line = lines.pop(0)
        if operator.group(1):
            line = line.lstrip("\t")
        if line == delimiter:
            return "".join(f"{taken}\n" for taken in body)
        body.append(line)
    return None


def _marked(line: str, first: int) -> str:
    numbers = iter(range(first, first + line.count("<<")))
    return _OPERATOR.sub(lambda _: f"< {_MARKER.format(next(numbers))} ", line)
