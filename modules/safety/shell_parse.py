"""What a command line says: its simple commands, redirects, and what can't be understood; pure.

1. The tree is walked over an allow-list of node kinds; any other kind is a doubt.
2. Every command counts, however deep: in substitutions, groups, loops, functions, here-documents.
3. Syntax that runs what it is given as data (subscripts, arithmetic with names, `${!x}`, `${x@P}`,
   `[[ -v`, declarations) is dangerous in itself.
4. A substitution in backticks and a here-document that expands commands are doubts: the parser
   misses some of what they run.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from modules.safety.ground import Ground
from modules.safety.shell_chains import Step, chain_of, pipelines_of
from modules.safety.shell_commands import REDIRECTS, CommandReader
from modules.safety.shell_heredocs import without_heredocs
from modules.safety.shell_notes import Notes
from modules.safety.shell_script import Script
from modules.safety.shell_tree import read_chunks, readable, text_doubts
from modules.safety.shell_values import WORD_KINDS, ValueReader
from modules.safety.shell_words import UNKNOWN, escaped

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_CALLS = 50
_MOST_WALKED = 200
"""Commands after which no more are looked at; such a script is doubted long before."""
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
        *(";;&", "$(", ")", "<(", ">(", "select", "`"),
    }
)
_INDEXED = frozenset({"-v", "-R"})
_COMPARED = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_COUNT = re.compile(r"-?[0-9]+|\$[#?]|\$\{#\w+\}")
_GIVES_UP = frozenset({"exit", "return", "false", "break", "continue"})
_ARITHMETIC = "evaluates names in arithmetic, which can run commands"


def parse_shell(text: str, ground: Ground) -> Script:
    """Returns what a command line says, as far as it can be understood."""
    doubts = text_doubts(text)
    shown = readable(text)
    notes = _walked(shown, ground, {})
    if notes.doubts and not doubts and "<<" in shown:
        marked, bodies = without_heredocs(shown)
        second = _walked(marked, ground, bodies)
        notes = second if bodies and not second.doubts else notes
    return Script(
        calls=tuple(call.done() for call in notes.calls),
        redirects=tuple(notes.redirects),
        findings=tuple(notes.findings),
        doubts=tuple(dict.fromkeys([*doubts, *notes.doubts])),
        text=text,
    )


def _walked(text: str, ground: Ground, bodies: Mapping[str, str]) -> Notes:
    notes = Notes(ground, bodies)
    chunks = read_chunks(text)
    notes.doubts.extend(chunks[0].doubts)
    try:
        for chunk in chunks:
            _Walk(chunk.source, notes).statement(chunk.root)
    except RecursionError:
        notes.doubt("it is nested too deeply")
    if len(notes.calls) > _MOST_CALLS:
        notes.doubt(f"it has more than {_MOST_CALLS} commands")
    if not (notes.calls or notes.redirects or notes.findings or notes.has_effect):
        notes.doubt("it has no command")
    if notes.markers != set(bodies):
        notes.doubt("a here-document stands where it can't be read")
    return notes


def _is_single(substitution: "Node") -> bool:
    """True for one plain statement; bash 5.2 loses a `;` after a here-document in it."""
    inside = [c for c in substitution.children if c.is_named and c.type != "comment"]
    kinds = ("redirected_statement", "pipeline", "command", "list")
    return len(inside) == 1 and inside[0].type in kinds


class _Walk:
    """Goes through the statements of one tree, in order."""

    def __init__(self, source: bytes, notes: Notes) -> None:
        self._notes = notes
        self._where = notes.where
        self._names = notes.names
        self._values = ValueReader(source, notes, self._substitute)
        self._commands = CommandReader(notes, self._values, self.statement)
        self._text = self._values.text

    def statement(self, node: "Node") -> None:
        """Walks one statement; the notes then stand where the shell would after it."""
        if len(self._notes.calls) > _MOST_WALKED:
            return
        match node.type:
            case "command":
                self._commands.command(node)
            case "pipeline" | "list" | "redirected_statement":
                self._chain(chain_of(node))
            case "subshell":
                self._apart(node)
            case "variable_assignment":
                self._commands.standing_assignment(node)
            case "test_command":
                self._test(node, is_double=node.children[0].type == "[[")
            case kind if kind in _GROUPS and node.children and node.children[0].type != "((":
                self._sequence(node.children)
            case _:
                self._rarer(node)

    def _rarer(self, node: "Node") -> None:
        match node.type:
            case "comment" | "program":
                return
            case "for_statement":
                self._for(node)
            case kind if kind in _BRANCHES:
                self._branch(node.children)
            case "function_definition":
                self._function(node)
            case "declaration_command" | "unset_command":
                self._declaration(node)
            case "compound_statement":
                self._notes.runs(_ARITHMETIC)
                self._values.arithmetic(node)
            case "c_style_for_statement":
                self._notes.runs(_ARITHMETIC)
                self._branch([child for child in node.children if child.type == "do_group"])
            case kind if kind in REDIRECTS:
                self._commands.redirect(node, len(self._notes.calls))
            case kind:
                self._notes.doubt(f"{kind!r} is not understood")
                self._sequence(node.children)

    def _substitute(self, node: "Node") -> str:
        """Walks the commands of a substitution; returns the pattern of what it prints."""
        if node.children[0].type.strip() in ("`", "$`"):
            self._notes.doubt("it has a command in backticks, which runs")
        first = len(self._notes.calls)
        heredocs = self._notes.heredocs
        self._apart(node)
        if self._notes.heredocs > heredocs and not _is_single(node):
            self._notes.doubt("bash joins commands after a here-document in a substitution")
        if node.type == "process_substitution":
            self._notes.runs("runs a command as if it were a file")
            return escaped("/dev/fd/63")
        calls = self._notes.calls[first:]
        return self._where.printed_by(calls[0].texts) if len(calls) == 1 else UNKNOWN

    def _sequence(self, children: "Iterable[Node]") -> None:
        """Walks statements that follow each other; a `cd` among them may have failed."""
        for child in children:
            if child.type in WORD_KINDS:
                self._values.words(child)
            elif child.is_named:
                before = self._where.folders
                self._where.is_certain = False
                self.statement(child)
                self._where.follow(before)
            elif child.type not in _PUNCTUATION:
                self._notes.doubt(f"{child.type!r} is not understood")

    def _apart(self, node: "Node") -> None:
        """Walks statements that can't move the shell around them."""
        before = self._where.folders
        self._branch(node.children)
        self._where.stand(before)

    def _branch(self, children: "list[Node]") -> None:
        self._names.enter_branch(" ".join(self._text(child) for child in children))
        self._sequence(children)
        self._names.leave_branch()

    def _chain(self, chain: list[Step]) -> None:
        """Walks pipelines joined by `&&` and `||`."""
        start = self._where.folders
        for operator, pipeline in pipelines_of(chain):
            if operator == "||":
                self._otherwise(start, pipeline)
            elif operator == "&&":
                self._names.enter_branch(" ".join(self._text(step.node) for step in pipeline))
                self._pipeline(pipeline)
                self._names.leave_branch()
            else:
                self._pipeline(pipeline)

    def _otherwise(self, start: tuple[str, ...], pipeline: list[Step]) -> None:
        """Walks what runs only where what came before it failed."""
        after = self._where.folders
        first = len(self._notes.calls)
        self._where.stand(start)
        self._names.enter_branch(" ".join(self._text(step.node) for step in pipeline))
        self._pipeline(pipeline)
        self._names.leave_branch()
        ran = self._notes.calls[first:]
        gives_up = bool(ran) and ran[-1].name in _GIVES_UP
        self._where.stand(after, () if gives_up else self._where.folders)
        self._where.is_certain = gives_up

    def _pipeline(self, pipeline: list[Step]) -> None:
        if len(pipeline) == 1:
            self._step(pipeline[0])
            return
        upstream: list[int] = []
        for step in pipeline:
            before = self._where.folders
            first = len(self._notes.calls)
            self._names.enter_branch(self._text(step.node))
            self._step(step)
            self._names.leave_branch()
            self._where.stand(before)
            for draft in self._notes.calls[first:]:
                draft.upstream.extend(upstream)
            upstream.extend(range(first, len(self._notes.calls)))

    def _step(self, step: Step) -> None:
        first = len(self._notes.calls)
        if step.node.type not in REDIRECTS:
            self.statement(step.node)
        for redirect in step.redirects:
            self._commands.redirect(redirect, first)

    def _declaration(self, node: "Node") -> None:
        self._names.distrust()
        self._notes.dangerous("bash:env", "changes what the shell knows of its variables")
        for child in node.children:
            if child.type == "variable_assignment":
                self._commands.assignment(child)
            elif child.type in WORD_KINDS:
                self._values.words(child)

    def _for(self, node: "Node") -> None:
        name = ""
        values: list[str] = []
        if node.children[0].type == "select":
            self._notes.runs("asks for a choice")
        for child in node.children:
            if child.type == "variable_name" and not name:
                name = self._text(child)
                self._commands.steering(name)
            elif child.type == "do_group":
                self._loop(name, values, child)
            elif child.type in WORD_KINDS:
                for word in self._values.words(child):
                    values.extend((word.pattern, *word.others))

    def _loop(self, name: str, values: list[str], body: "Node") -> None:
        before = self._where.folders
        self._names.enter_loop(name, values, self._text(body))
        self._sequence(body.children)
        self._names.leave_loop(name)
        self._where.stand(before, self._where.folders)

    def _function(self, node: "Node") -> None:
        name = next((self._text(c) for c in node.children if c.type == "word"), "")
        self._notes.runs(f"defines the function {name!r}")
        self._names.distrust()
        first = len(self._notes.calls)
        before = self._where.folders
        self._branch([c for c in node.children if c.is_named and c.type != "word"])
        self._where.stand(before)
        own = [draft for draft in self._notes.calls[first:] if draft.name == name]
        if len(own) > 1 or any(draft.upstream for draft in own):
            self._notes.critical("bash:system", "starts copies of itself without end")

    def _test(self, node: "Node", *, is_double: bool) -> None:
        self._notes.has_effect = True
        for part in node.children:
            operator = next((c for c in part.children if c.type == "test_operator"), None)
            sign = self._text(operator).strip() if operator else ""
            if sign in _INDEXED:
                self._notes.runs("evaluates an index, which can run commands")
            if is_double and sign in _COMPARED:
                operands = [c for c in part.children if c.is_named and c.type != "test_operator"]
                if not all(_COUNT.fullmatch(self._text(c).strip('"')) for c in operands):
                    self._notes.runs(_ARITHMETIC)
            if part.type in WORD_KINDS:
                self._values.words(part)
            elif part.is_named and part.type != "test_operator":
                self._test(part, is_double=is_double)
