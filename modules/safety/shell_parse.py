"""What a command line says: its simple commands, redirects, and what can't be understood; pure.

1. The tree is walked over an allow-list of node kinds; any other kind is a doubt.
2. Every command counts, however deep: in substitutions, groups, loops, functions, here-documents.
3. Syntax that runs what it is given as data (subscripts, arithmetic with names, `${!x}`, `${x@P}`,
   `[[ -v`, declarations) is dangerous in itself.
4. A substitution in backticks and a here-document that expands commands are doubts: the parser
   misses some of what they run.
5. After `cd` a command may stand in the new folder; where it isn't certain that `cd` worked, in
   the old one too.
6. A name's value counts as known only in addition to what it may be otherwise.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from modules.records.decisions import Assessment, Risk
from modules.safety.ground import Ground
from modules.safety.shell_heredocs import without_heredocs
from modules.safety.shell_names import is_plain_name, is_steering_variable
from modules.safety.shell_script import Assignment, Call, Direction, Redirect, Script
from modules.safety.shell_tree import parser, readable, text_doubts, tree_doubts
from modules.safety.shell_values import WORD_KINDS, ValueReader
from modules.safety.shell_words import UNKNOWN, Word, escaped, unescaped

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_CALLS = 50
_GROUPS = frozenset({"program", "compound_statement", "negated_command", "variable_assignments"})
_BRANCHES = frozenset(
    {
        *("do_group", "if_statement", "elif_clause", "else_clause", "while_statement"),
        *("case_statement", "case_item"),
    }
)
_PUNCTUATION = frozenset(
    {
        *(";", "&", "\n", "&&", "||", "|", "|&", "!", "(", ")", "{", "}", "do", "done", "if"),
        *("then", "elif", "else", "fi", "while", "until", "for", "in", "case", "esac", ";;", ";&"),
        *(";;&", "$(", ")", "<(", ">(", "select"),
    }
)
_INDEXED = frozenset({"-v", "-R"})
_COMPARED = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_COUNT = re.compile(r"-?[0-9]+|\$[#?]|\$\{#\w+\}")
_DESCRIPTOR = re.compile(r"[0-9]")
"""Left over where a descriptor stands right after a redirect's target."""
_DEVICES = ("/dev/tcp/", "/dev/udp/")
_EXPANDED = re.compile(r"`|\$\(|\$\[|\$\{(?![A-Za-z_][A-Za-z0-9_]*\})|\$\{(?=.*@)")
_WHERE = {"pwd": "PWD", "git rev-parse --show-toplevel": "ROOT"}
_SETS_NAMES = frozenset(
    {
        *("read", "printf", "mapfile", "readarray", "eval", "source", ".", "let", "getopts"),
        *("wait", "unset", "declare", "typeset", "local", "export", "command", "builtin", "coproc"),
    }
)
_RUNS_LATER = frozenset({"eval", "source", ".", "trap", "alias", "command", "builtin"})
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_GIVES_UP = frozenset({"exit", "return", "false", "break", "continue"})


def parse_shell(text: str, ground: Ground) -> Script:
    """Returns what a command line says, as far as it can be understood."""
    doubts = text_doubts(text)
    shown = readable(text)
    walk = _walked(shown, ground, {})
    if walk.noted and not doubts and "<<" in shown:
        marked, bodies = without_heredocs(shown)
        second = _walked(marked, ground, bodies)
        walk = second if bodies and not second.noted else walk
    return Script(
        calls=tuple(call.done() for call in walk.calls),
        redirects=tuple(walk.redirects),
        findings=tuple(walk.findings),
        doubts=tuple(dict.fromkeys([*doubts, *walk.noted])),
        text=text,
    )


def _walked(text: str, ground: Ground, bodies: Mapping[str, str]) -> "_Walk":
    source = text.encode()
    root = parser().parse(source).root_node
    walk = _Walk(source, ground, bodies)
    walk.noted.extend(tree_doubts(root, source))
    try:
        walk.statement(root)
    except RecursionError:
        walk.doubts("it is nested too deeply")
    if len(walk.calls) > _MOST_CALLS:
        walk.doubts(f"it has more than {_MOST_CALLS} commands")
    if not (walk.calls or walk.redirects or walk.findings or walk.has_effect):
        walk.doubts("it has no command")
    if walk.markers != set(bodies):
        walk.doubts("a here-document stands where it can't be read")
    return walk


@dataclass(slots=True)
class _Draft:
    """A call that may still get words, redirects and inputs."""

    raw: str
    folders: tuple[str, ...]
    words: list[Word] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    upstream: list[int] = field(default_factory=list)
    inside: list[int] = field(default_factory=list)
    is_network_fed: bool = False
    input_text: str | None = None

    def done(self) -> Call:
        return Call(
            words=tuple(self.words),
            raw=self.raw,
            assignments=tuple(self.assignments),
            folders=self.folders,
            upstream=tuple(self.upstream),
            inside=tuple(self.inside),
            is_network_fed=self.is_network_fed,
            input_text=self.input_text,
        )


class _Walk:
    """Goes through the statements of one tree, in order."""

    def __init__(self, source: bytes, ground: Ground, bodies: Mapping[str, str]) -> None:
        self.calls: list[_Draft] = []
        self.redirects: list[Redirect] = []
        self.findings: list[Assessment] = []
        self.noted: list[str] = []
        self.has_effect = False
        self.markers: set[str] = set()
        """Markers of here-documents that were met as redirects."""
        self._bodies = bodies
        self._root = str(ground.root)
        self._home = str(ground.home)
        self._folders: tuple[str, ...] = (self._root,)
        self._known = {"HOME": self._home, "PWD": self._root}
        self._names: dict[str, tuple[str, ...]] = {}
        self._is_certain = False
        """True after `cd … || exit`: what follows runs in the new folder only."""
        self._stops = False
        """True after `set -e`: a failed `cd` ends the script."""
        self._certain: dict[str, tuple[str, ...]] = {}
        self._trusts_names = True
        """False once later code may set names unseen."""
        self._branches = 0
        """How many branches, loops and subshells are around the statement being walked."""
        self._values = ValueReader(source, self._known, self._names, self._certain)
        self._text = self._values.text

    def doubts(self, why: str) -> None:
        self.noted.append(why)

    def runs(self, why: str) -> None:
        self._certain.clear()
        self._found("bash:run", why)

    def leaks(self, why: str) -> None:
        self._found("bash:env", why)

    def substitute(self, node: "Node") -> str:
        if node.children[0].type.strip() in ("`", "$`"):
            self.doubts("it has a command in backticks, which runs")
        first = len(self.calls)
        self._apart(node.children)
        if node.type == "process_substitution":
            self.runs("runs a command as if it were a file")
            return escaped("/dev/fd/63")
        return self._printed(first)

    def statement(self, node: "Node") -> None:
        """Walks one statement; `_Walk` then stands where the shell would after it."""
        match node.type:
            case "command":
                self._command(node)
            case "pipeline":
                self._pipeline(node.children, [])
            case "list":
                self._list(node)
            case "redirected_statement":
                self._redirected(node)
            case "subshell":
                self._apart(node.children)
            case "variable_assignment":
                self._standing_assignment(node)
            case "test_command":
                self._test(node, is_double=node.children[0].type == "[[")
            case "for_statement":
                self._for(node)
            case _:
                self._rarer(node)

    def _rarer(self, node: "Node") -> None:
        kind = node.type
        if kind == "compound_statement" and node.children[0].type == "((":
            self.runs("evaluates arithmetic with names, which can run commands")
            self._values.arithmetic(node, self)
        elif kind == "comment":
            return
        elif kind in _BRANCHES:
            self._branch(node.children)
        elif kind in _GROUPS:
            self._sequence(node.children)
        elif kind == "function_definition":
            self._function(node)
        elif kind in ("declaration_command", "unset_command"):
            self._certain.clear()
            self._found("bash:env", "changes what the shell knows of its variables")
            self._declared(node.children)
        elif kind == "c_style_for_statement":
            self.runs("evaluates arithmetic with names, which can run commands")
            self._sequence(child for child in node.children if child.type == "do_group")
        elif kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
            self._redirect(node, len(self.calls))
        else:
            self.doubts(f"{kind!r} is not understood")
            self._sequence(node.children)

    def _found(self, category: str, why: str) -> None:
        self.findings.append(Assessment(risk=Risk.DANGEROUS, categories=(category,), why=why))

    def _sequence(self, children: "Iterable[Node]") -> None:
        """Walks statements that follow each other; a `cd` among them may have failed."""
        for child in children:
            if child.type in WORD_KINDS:
                self._word(child)
            elif child.is_named:
                before = self._folders
                self._is_certain = False
                self.statement(child)
                self._stand(() if self._is_certain or self._stops else before, self._folders)
            elif child.type not in _PUNCTUATION:
                self.doubts(f"{child.type!r} is not understood")

    def _stand(self, *choices: tuple[str, ...]) -> None:
        self._folders = tuple(dict.fromkeys(folder for choice in choices for folder in choice))
        if self._folders == (self._root,):
            self._known["PWD"] = self._root
        else:
            self._known["PWD"] = UNKNOWN

    def _apart(self, children: "Iterable[Node]") -> None:
        """Walks statements that can't move the shell around them."""
        before = self._folders
        self._branch(children)
        self._stand(before)

    def _branch(
        self, children: "Iterable[Node]", certain: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        """Walks statements that may not run, run more than once, or not in this shell."""
        children = list(children)
        for child in children:
            for match in _ASSIGNED.finditer(self._text(child)):
                self._certain.pop(match.group(1), None)
        for name, values in (certain or {}).items():
            if self._trusts_names and not any(UNKNOWN in value for value in values):
                self._certain[name] = values
        self._branches += 1
        self._sequence(children)
        self._branches -= 1

    def _list(self, node: "Node") -> None:
        left, operator, right = node.children[0], node.children[1], node.children[-1]
        before = self._folders
        self.statement(left)
        if operator.type == "||":
            after = self._folders
            first = len(self.calls)
            self._stand(before)
            self._branch([right])
            gives_up = len(self.calls) > first and _name(self.calls[-1]) in _GIVES_UP
            self._stand(after, () if gives_up else self._folders)
            self._is_certain = gives_up
        elif operator.type == "&&":
            self._branches += 1
            self.statement(right)
            self._branches -= 1
        else:
            self._stand(before, self._folders)
            self.statement(right)

    def _pipeline(self, stages: "Iterable[Node]", upstream: list[int]) -> None:
        for stage in stages:
            if not stage.is_named:
                continue
            before = self._folders
            first = len(self.calls)
            self._branches += 1
            self.statement(stage)
            self._branches -= 1
            self._stand(before)
            for draft in self.calls[first:]:
                draft.upstream.extend(upstream)
            upstream = [*upstream, *range(first, len(self.calls))]

    def _command(self, node: "Node") -> None:
        draft = _Draft(raw=" ".join(self._text(node).split()), folders=self._folders)
        first = len(self.calls)
        late: list[Node] = []
        for position, child in enumerate(node.children):
            if child.type == "variable_assignment":
                draft.assignments.append(self._assignment(child))
            elif child.type == "command_name":
                draft.words.extend(self._values.words(child.children[0], self))
            elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                late.append(child)
            elif child.type in WORD_KINDS:
                draft.words.extend(self._values.words(child, self))
            else:
                self._stray(child, node.children[position + 1 :], draft)
        draft.inside.extend(range(first, len(self.calls)))
        self.calls.append(draft)
        if _name(draft) in _SETS_NAMES:
            self._certain.clear()
        if _name(draft) in _RUNS_LATER:
            self._trusts_names = False
        for redirect in late:
            self._redirect(redirect, len(self.calls) - 1)
        self._move(draft)

    def _stray(self, child: "Node", following: "list[Node]", draft: _Draft) -> None:
        if child.type == "$" and following and following[0].start_byte == child.end_byte:
            self.doubts("a translated string is not understood")
        elif child.type in ("==", "=~", "=", "$"):
            draft.words.append(Word(raw=child.type, pattern=escaped(child.type)))
        elif child.type == "subshell":
            self.doubts("a group stands where a word should")
            self._apart(child.children)
        else:
            self.doubts(f"{child.type!r} is not expected in a command")

    def _word(self, node: "Node") -> list[Word]:
        return self._values.words(node, self)

    def _assignment(self, node: "Node") -> Assignment:
        name, value = self._named_value(node)
        return Assignment(name=name, value=value)

    def _named_value(self, node: "Node") -> tuple[str, str | None]:
        target = node.children[0]
        if target.type == "subscript":
            self._values.subscript(target, self)
        name = self._text(target)
        values: list[str] = []
        parts = node.children[2:]
        if parts and parts[0].type == "array":
            parts = [part for part in parts[0].children if part.is_named]
        for part in parts:
            for word in self._word(part):
                values.extend((word.pattern, *word.others))
        if any(sign in value for value in values for sign in ("$(", "`", "${")):
            self.runs(f"keeps a command in {name!r}, to be run later")
        self._names[name] = (*self._names.get(name, ()), *(v for v in values if v != UNKNOWN))
        whole = unescaped(values[0]) if values else ""
        return name, None if UNKNOWN in whole or node.children[1].type != "=" else whole

    def _standing_assignment(self, node: "Node") -> None:
        self.has_effect = True
        self._certain.pop(self._text(node.children[0]), None)
        name, value = self._named_value(node)
        is_sure = self._trusts_names and not self._branches
        if value is not None and is_sure and len(self._names[name]) == 1:
            self._certain[name] = self._names[name]
        if is_steering_variable(name) and (name, value) != ("IFS", None):
            self._found("bash:env", f"sets {name}, which decides what runs later")
        elif not is_plain_name(name) and "[" not in name:
            self.doubts("an assignment is not understood")

    def _declared(self, children: "Iterable[Node]") -> None:
        for child in children:
            if child.type == "variable_assignment":
                self._named_value(child)
            elif child.type in WORD_KINDS:
                self._word(child)

    def _for(self, node: "Node") -> None:
        name = ""
        values: list[str] = []
        for child in node.children:
            if child.type == "variable_name" and not name:
                name = self._text(child)
            elif child.type == "do_group":
                self._loop(name, values, child)
            elif child.type in WORD_KINDS:
                for word in self._word(child):
                    values.extend((word.pattern, *word.others))
        if is_steering_variable(name):
            self._found("bash:env", f"sets {name}, which decides what runs later")
        if node.children[0].type == "select":
            self.runs("asks for a choice")

    def _loop(self, name: str, values: list[str], body: "Node") -> None:
        before = self._folders
        self._names[name] = (*self._names.get(name, ()), *values)
        self._branch(body.children, {name: tuple(dict.fromkeys(values))} if values else {})
        self._certain.pop(name, None)
        self._stand(before, self._folders)

    def _function(self, node: "Node") -> None:
        name = next((self._text(c) for c in node.children if c.type == "word"), "")
        self.runs(f"defines the function {name!r}")
        self._trusts_names = False
        first = len(self.calls)
        body = [child for child in node.children if child.is_named and child.type != "word"]
        self._apart(body)
        own = [draft for draft in self.calls[first:] if _name(draft) == name]
        if own and any(draft.upstream for draft in own):
            why = "starts copies of itself without end"
            self.findings.append(_critical("bash:system", why))

    def _test(self, node: "Node", *, is_double: bool) -> None:
        self.has_effect = True
        for part in node.children:
            operator = next((c for c in part.children if c.type == "test_operator"), None)
            sign = self._text(operator).strip() if operator else ""
            if sign in _INDEXED:
                self.runs("evaluates an index, which can run commands")
            if is_double and sign in _COMPARED:
                operands = [c for c in part.children if c.is_named and c.type != "test_operator"]
                if not all(_COUNT.fullmatch(self._text(c).strip('"')) for c in operands):
                    self.runs("evaluates names in arithmetic, which can run commands")
            if part.type in WORD_KINDS:
                self._word(part)
            elif part.is_named and part.type != "test_operator":
                self._test(part, is_double=is_double)

    def _redirected(self, node: "Node") -> None:
        first = len(self.calls)
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                self._redirect(child, first)
            else:
                self.statement(child)

    def _redirect(self, node: "Node", first: int) -> None:
        """Takes in a redirect of the calls from place `first` on."""
        self.has_effect = True
        if node.type == "heredoc_redirect":
            self._heredoc(node, first)
        elif node.type == "herestring_redirect":
            for child in node.children:
                if child.type in WORD_KINDS:
                    for word in self._word(child):
                        self._input(first, word.text)
        else:
            self._file(node, first)

    def _file(self, node: "Node", first: int) -> None:
        operator = next((c.type for c in node.children if not c.is_named), "")
        before = len(self.calls)
        words = [w for c in node.children if c.type in WORD_KINDS for w in self._word(c)]
        inside = range(before, len(self.calls))
        for draft in self.calls[first:before]:
            draft.inside.extend(inside)
        if not words:
            return
        target = words[0]
        rest = [word for word in words[1:] if not _DESCRIPTOR.fullmatch(word.raw)]
        if rest and first < before:
            self.calls[before - 1].words.extend(rest)
        elif rest:
            self.doubts("a redirect is not understood")
        if operator == "<" and target.raw in self._bodies:
            self.markers.add(target.raw)
            self._input(first, self._bodies[target.raw])
            return
        if operator in (">&", "<&", ">&-", "<&-") and re.fullmatch(r"[0-9]*-?", target.text):
            return
        if any(target.text.startswith(device) for device in _DEVICES):
            self._found("bash:net", f"opens the network device {target.text!r}")
            for draft in self.calls[first:]:
                draft.is_network_fed = True
            return
        direction = Direction.READ if operator.startswith("<") else Direction.WRITE
        self.redirects.append(Redirect(direction=direction, target=target, folders=self._folders))

    def _heredoc(self, node: "Node", first: int) -> None:
        start = next((self._text(c) for c in node.children if c.type == "heredoc_start"), "")
        bodies = [self._text(c) for c in node.children if c.type == "heredoc_body"]
        body = "".join(bodies)
        is_literal = any(sign in start for sign in "'\"\\")
        if not is_literal and _EXPANDED.search(re.sub(r"\\.", "", body, flags=re.DOTALL)):
            self.doubts("a here-document runs commands while it is read")
        self._input(first, body if is_literal or "$" not in body else UNKNOWN)
        upstream = list(range(first, len(self.calls)))
        for child in node.children:
            if child.type == "pipeline" or (child.is_named and child.type in WORD_KINDS):
                self._after_heredoc(child, upstream)
            elif child.is_named and not child.type.startswith("heredoc_"):
                self.statement(child) if "redirect" not in child.type else self._redirect(
                    child, first
                )

    def _after_heredoc(self, node: "Node", upstream: list[int]) -> None:
        if node.type == "pipeline":
            self._pipeline(node.children, upstream)
        elif self.calls:
            self.calls[-1].words.extend(self._word(node))

    def _input(self, first: int, text: str) -> None:
        for draft in self.calls[first:]:
            draft.input_text = text

    def _move(self, draft: _Draft) -> None:
        """Stands where `cd` and its kind lead."""
        words = [word.text for word in draft.words]
        while words[:1] in (["command"], ["builtin"]):
            words = words[1:]
        if words[:1] == ["set"] and any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in words):
            self._stops = True
        if words[:1] == ["popd"]:
            self._stand((UNKNOWN,))
        if words[:1] not in (["cd"], ["pushd"]):
            return
        targets = [word for word in words[1:] if word == "-" or not word.startswith("-")]
        target = targets[0] if targets else self._home
        if target == "-" or UNKNOWN in target:
            self._stand((UNKNOWN,))
        else:
            self._stand(tuple(_joined(folder, target) for folder in self._folders))

    def _printed(self, first: int) -> str:
        """Returns the pattern of what a substitution prints, where that is certain."""
        if len(self.calls) != first + 1:
            return UNKNOWN
        where = _WHERE.get(" ".join(word.text for word in self.calls[first].words))
        if where is None or self._known["PWD"] == UNKNOWN:
            return UNKNOWN
        return escaped(self._root)


def _joined(folder: str, target: str) -> str:
    if folder == UNKNOWN and not target.startswith("/"):
        return UNKNOWN
    return os.path.normpath(f"{folder}/{target}" if not target.startswith("/") else target)


def _name(draft: _Draft) -> str:
    return draft.words[0].text if draft.words else ""


def _critical(category: str, why: str) -> Assessment:
    return Assessment(risk=Risk.CRITICAL, categories=(category,), must_ask=True, why=why)
