"""The narrowest rule that would have allowed a call; pure but for links.

1. For a command line: only where one part of it isn't safe, that part is a command without a
   redirect, and nothing of it is hidden. The rule names the program and its sub-command; where an
   option or a script decides what runs, where it deletes or uses the network, the whole command.
2. For a file: that file. For an address: its host. For any other tool: the tool.
"""

from typing import assert_never

from modules.records.decisions import (
    PathSubject,
    Risk,
    ShellSubject,
    Subject,
    ToolSubject,
    UrlSubject,
)
from modules.safety.ground import Ground
from modules.safety.path_risk import is_within, locate
from modules.safety.rules import canonical_tool
from modules.safety.shell_risk import Unit, read_shell
from modules.safety.shell_tables import INTERPRETERS, SHELLS
from modules.safety.url_risk import read_url

_LONGEST = 200
_WIDE = frozenset({"bash:run", "bash:write", "bash:pkg", "bash:git-history"})
_SUB_COMMANDS = {
    **dict.fromkeys(("git", "cargo", "go", "pip", "pip3", "make", "docker", "bundle"), 2),
    **dict.fromkeys(("poetry", "dotnet", "gradle", "mvn", "composer", "tox", "nox", "yarn"), 2),
    **dict.fromkeys(("npm", "pnpm", "bun", "uv", "npx", "bunx", "uvx"), 2),
}
_SCRIPTS = frozenset(
    {("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("uv", "run")}
)


def narrowest_rule(tool: str, subject: Subject, ground: Ground) -> str:
    """Returns the rule that `always` would keep; empty where none is narrow enough."""
    match subject:
        case ShellSubject(command=command):
            return _command_rule(command, ground)
        case PathSubject(path=path, op=op):
            return _path_rule(tool, locate(path, ground, follows_last=op != "delete").given, ground)
        case UrlSubject(url=url):
            target = read_url(url)
            return "" if isinstance(target, str) else f"WebFetch(domain:{target.host})"
        case ToolSubject():
            return canonical_tool(tool)
        case _:
            assert_never(subject)


def _command_rule(command: str, ground: Ground) -> str:
    reading = read_shell(command, ground)
    units = [unit for unit in reading.units if unit.assessment.risk is not Risk.SAFE]
    if not reading.is_parsed or len(units) != 1 or reading.assessment.must_ask:
        return ""
    unit = units[0]
    if unit.is_redirect or not unit.plain_forms or "\n" in unit.plain_forms[0]:
        return ""
    text = unit.plain_forms[0]
    is_wide = not unit.needs_exact and set(unit.assessment.categories) <= _WIDE
    pattern = f"{_escaped(_prefix(unit))}:*" if is_wide and _prefix(unit) else _escaped(text)
    return f"Bash({pattern})" if len(pattern) <= _LONGEST else ""


def _prefix(unit: Unit) -> str:
    """Returns the words that say what runs; empty where only the whole command does."""
    words = unit.plain_forms[0].split(" ")
    program = words[0].rsplit("/", 1)[-1].rstrip("0123456789.")
    if program in SHELLS or program in INTERPRETERS:
        return _interpreted(words)
    count = 3 if tuple(words[:2]) in _SCRIPTS else _SUB_COMMANDS.get(words[0], 1)
    prefix = words[:count]
    if len(prefix) < count or any(word.startswith("-") for word in prefix):
        return ""
    return " ".join(prefix)


def _interpreted(words: list[str]) -> str:
    if len(words) > 2 and words[1] == "-m":
        return " ".join(words[:3])
    if len(words) > 1 and not words[1].startswith("-"):
        return " ".join(words[:2])
    return ""


def _path_rule(tool: str, path: str, ground: Ground) -> str:
    name = canonical_tool(tool)
    root = str(ground.root)
    pattern = f"/{path[len(root) + 1 :]}" if is_within(path, root) and path != root else f"/{path}"
    return f"{name}({_escaped_path(pattern)})"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")


def _escaped_path(pattern: str) -> str:
    return "".join(f"\\{sign}" if sign in "*?[]\\" else sign for sign in pattern)
