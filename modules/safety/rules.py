"""Permission rules: `Tool` or `Tool(pattern)`, and what they match; pure.

1. `Bash(text)` is that very command, `Bash(text:*)` and `Bash(text *)` whatever begins with it, a
   `*` elsewhere spans anything; `\\*` is a star. Runs of blanks count as one.
2. A rule that allows must cover every part of a command line that isn't safe in itself, and knows
   a command only by its name; a redirect to a file needs an `Edit` rule. What isn't understood is
   covered by none. A program's option that runs or deletes something needs the exact command.
3. A rule that denies or asks matches any part, past variables and wrappers, and files a command
   reads or writes.
4. `Read(path)` and `Edit(path)` take gitignore patterns: `//x` from the root of the file system,
   `~/x` from the home, `/x` from the checkout or lane, anything else from there at any depth.
   Allowing needs the path as given and as resolved to match, denying one of them.
5. `WebFetch(domain:x)`, `*.x` for what lies below x. `mcp__server`, `mcp__server__tool`.
   `Agent(name)`, of sub-agents `Agent(kind)`. `Tool(parameter:value)` denies or asks only.
6. `bash:run` and the like grant, deny or ask by category.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from modules.records.errors import PersonFault
from modules.records.record import Record
from modules.records.settings import RuleText

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_RULE = re.compile(r"([A-Za-z_*][\w*:-]*)(?:\((.*)\))?", re.DOTALL)
_CANONICAL = {
    **dict.fromkeys(("bash", "background_run", "bash_with_network"), "Bash"),
    **dict.fromkeys(("read", "read_file"), "Read"),
    **dict.fromkeys(("write", "write_file"), "Write"),
    **dict.fromkeys(("edit", "edit_file", "multi_edit", "multiedit"), "Edit"),
    **dict.fromkeys(("delete", "delete_file"), "Delete"),
    **dict.fromkeys(("list_dir", "ls"), "LS"),
    **dict.fromkeys(("web_fetch", "webfetch"), "WebFetch"),
    **dict.fromkeys(("agent", "task", "subagent", "spawn_teammate", "assign_task"), "Agent"),
    "grep": "Grep",
    "glob": "Glob",
}
CATEGORY = re.compile(r"(?:bash|file|net):[a-z-]+")
PATH_TOOLS = frozenset({"Read", "Write", "Edit", "Delete", "Grep", "Glob", "LS"})
READING = frozenset({"Read", "Grep", "Glob", "LS"})
CHANGING = frozenset({"Write", "Edit"})
_LOOKUP = {
    **dict.fromkeys(READING, frozenset({"Read"})),
    **dict.fromkeys(CHANGING, CHANGING),
    "Delete": frozenset(),
}


class Rule(Record):
    """One rule, taken apart."""

    tool: str
    """The canonical name, a category, or the name of an MCP tool or server."""
    pattern: str | None
    text: str
    source: str

    @property
    def is_category(self) -> bool:
        """True for a rule about a category, `bash:run` say."""
        return CATEGORY.fullmatch(self.tool) is not None


def canonical_tool(name: str) -> str:
    """Returns the name rules know a tool by."""
    return _CANONICAL.get(name.lower(), name)


@lru_cache(maxsize=1024)
def parse_rule(rule: RuleText) -> Rule:
    """Returns the rule taken apart; raises PersonFault when it is malformed."""
    match = _RULE.fullmatch(rule.text.strip())
    if match is None:
        raise _malformed(rule, "it is neither a tool's name nor Tool(pattern)")
    parsed = Rule(
        tool=canonical_tool(match.group(1)),
        pattern=match.group(2),
        text=rule.text.strip(),
        source=rule.source,
    )
    if parsed.pattern is not None:
        _check_pattern(rule, parsed.tool, parsed.pattern)
    return parsed


def _check_pattern(rule: RuleText, tool: str, pattern: str) -> None:
    if not pattern.strip():
        raise _malformed(rule, "its pattern is empty")
    if tool == "Bash" and ":*" in pattern.removesuffix(":*").replace("\\*", ""):
        raise _malformed(rule, "':*' stands at the end of a pattern only")
    if tool in PATH_TOOLS:
        if pattern[0] in "!#":
            raise _malformed(rule, "a path pattern begins with a path")
        try:
            _spec(pattern)
        except ValueError as error:
            raise _malformed(rule, "its path pattern can't be read") from error


def _malformed(rule: RuleText, why: str) -> PersonFault:
    return PersonFault(
        f"The rule {rule.text!r} in {rule.source!r} is malformed: {why}.",
        hint="Write it like Bash(npm test *), Read(secrets/**) or WebFetch(domain:example.com).",
    )


def matches_tool(rule: Rule, tool: str, *, restricts: bool) -> bool:
    """True when the rule speaks of the tool, its pattern apart."""
    name = canonical_tool(tool)
    if rule.tool == name or (rule.tool == "*" and restricts):
        return True
    if name in PATH_TOOLS:
        if restricts and name == "Delete":
            return rule.tool in CHANGING
        return rule.tool in _LOOKUP[name]
    return tool.startswith("mcp__") and _matches_server(rule.tool, tool, restricts=restricts)


def _matches_server(pattern: str, tool: str, *, restricts: bool) -> bool:
    if not pattern.startswith("mcp__"):
        return False
    server = pattern.split("__")[1]
    if "*" in server and not restricts:
        return False
    if "*" in pattern:
        return _wildcard(pattern, word_end=False).fullmatch(tool) is not None
    return tool == pattern or tool.startswith(f"{pattern}__")


def matches_command(pattern: str | None, form: str, *, is_exact: bool = False) -> bool:
    """True when a command, written on one line, fits the pattern of a `Bash` rule."""
    if pattern is None:
        return not is_exact
    if is_exact and _has_star(pattern):
        return False
    return _command_pattern(" ".join(pattern.split())).fullmatch(" ".join(form.split())) is not None


def _has_star(pattern: str) -> bool:
    return "*" in re.sub(r"\\.", "", pattern)


@lru_cache(maxsize=1024)
def _command_pattern(pattern: str) -> "re.Pattern[str]":
    if pattern.endswith(":*"):
        return _wildcard(pattern[:-2], word_end=True)
    if pattern.endswith(" *") and not pattern.endswith("\\ *"):
        return _wildcard(pattern[:-2], word_end=True)
    return _wildcard(pattern, word_end=False)


def _wildcard(pattern: str, *, word_end: bool) -> "re.Pattern[str]":
    parts = re.findall(r"\\.|\*|[^\\*]+|\\", pattern)
    text = "".join(
        ".*" if part == "*" else re.escape(part[1:] if len(part) > 1 and part[0] == "\\" else part)
        for part in parts
    )
    return re.compile(f"{text}(?: .*)?" if word_end else text, re.DOTALL)


def matches_path(pattern: str | None, path: str, *, roots: Sequence[str], home: str) -> bool:
    """True when an absolute path fits the gitignore pattern of a rule."""
    if pattern is None:
        return True
    spec = _spec(pattern)
    for base in _bases(pattern, roots, home):
        inside = _below(path, base)
        if inside is not None and spec.match_file(inside):
            return True
    return False


def _bases(pattern: str, roots: Sequence[str], home: str) -> Iterable[str]:
    if pattern.startswith("//"):
        return ("/",)
    if pattern.startswith("~/"):
        return (home,)
    is_anywhere = "/" not in pattern.rstrip("/")
    return (*roots, "/") if is_anywhere else roots


def _below(path: str, base: str) -> str | None:
    start = base.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) and path != start else None


@lru_cache(maxsize=1024)
def _spec(pattern: str) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # a worker without rules needn't load it

    if pattern.startswith("~/"):
        pattern = pattern[1:]
    pattern = pattern.removeprefix("/") if pattern.startswith("//") else pattern
    return GitIgnoreSpec.from_lines([pattern.removeprefix("./")])


def matches_domain(pattern: str | None, host: str) -> bool:
    """True when a host fits `domain:…`."""
    if pattern is None:
        return True
    kind, _, domain = pattern.partition(":")
    if kind != "domain":
        return False
    domain = domain.strip().lower().rstrip(".")
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    labels = "[^.]*".join(re.escape(part) for part in domain.split("*"))
    return re.fullmatch(labels, host) is not None


def matches_parameter(pattern: str, given: dict[str, object]) -> bool:
    """True when the input has the parameter with that value, `*` spanning anything."""
    name, colon, value = pattern.partition(":")
    if not colon or name not in given:
        return False
    return _wildcard(value, word_end=False).fullmatch(str(given[name])) is not None


def matches_agent(pattern: str, tool: str, given: dict[str, object]) -> bool:
    """True when a call starts or tasks the agent of that name, or a sub-agent of that kind."""
    if tool == "subagent":
        return given.get("kind", "explore") == pattern
    return any(given.get(key) == pattern for key in ("name", "teammate", "to", "agent"))
