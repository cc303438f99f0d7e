"""Turns the word nodes of a syntax tree into words; pure.

What only running would tell becomes UNKNOWN; what evaluates data on the way is reported.
"""

import re
from collections.abc import Callable
from itertools import islice, product
from typing import TYPE_CHECKING

from modules.records.record import Record
from modules.safety.shell_names import is_secret_variable
from modules.safety.shell_notes import Notes
from modules.safety.shell_words import (
    UNKNOWN,
    Word,
    ansi_pattern,
    brace_values,
    double_quoted_pattern,
    escaped,
    has_braces,
    unescaped,
    unquoted_pattern,
)

if TYPE_CHECKING:
    from tree_sitter import Node

WORD_KINDS = frozenset(
    {
        *("word", "number", "string", "raw_string", "ansi_c_string", "translated_string"),
        *("concatenation", "simple_expansion", "expansion", "command_substitution", "regex"),
        *("process_substitution", "arithmetic_expansion", "brace_expression", "extglob_pattern"),
        *("variable_name", "special_variable_name"),
    }
)
_EVALUATED = "evaluates names in arithmetic, which can run commands"
_TEXT_OPERATORS = frozenset(
    {
        *(":-", "-", ":+", "+", ":?", "?", "#", "##", "%", "%%", "/", "//", "/#", "/%", ","),
        *(",,", "^", "^^", "}", "${", "~", "~~"),
    }
)
_DIGITS = re.compile(rb"[0-9]+|[@*]|-[0-9]+")
_SOME_PROCESS = "99999"
_NUMBERS = frozenset({"?", "#", "$", "!"})
_HIDDEN_RUN = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$\()")
_SPLITS = re.compile(r"[\s\0]|\\[*?\[]")
_MOST_VALUES = 16


class Value(Record):
    """What a node stands for inside a word."""

    pattern: str
    is_split: bool = False
    others: tuple[str, ...] = ()


class ValueReader:
    """Reads words, given what the notes know of variables."""

    def __init__(self, source: bytes, notes: Notes, substitute: "Callable[[Node], str]") -> None:
        self._source = source
        self._notes = notes
        self._substitute = substitute
        """Walks the commands of a substitution; returns the pattern of what it prints."""

    def text(self, node: "Node") -> str:
        """Returns a node's source."""
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def following(self, node: "Node") -> str:
        """Returns the character right after a node; empty at the end."""
        return self._source[node.end_byte : node.end_byte + 1].decode("utf-8", "replace")

    def words(self, node: "Node") -> list[Word]:
        """Returns the words a node makes: one, or one for each choice of a brace list."""
        value = self.value(node, is_quoted=False)
        raw = self.text(node)
        pattern = self._with_home(value.pattern, raw)
        others = value.others
        if "=~" in raw:
            others = (*others, self._after_equals(pattern))
        if not has_braces(pattern):
            return [Word(raw=raw, pattern=pattern, is_split=value.is_split, others=others)]
        return [
            Word(raw=raw, pattern=choice, is_split=value.is_split, others=others)
            for choice in brace_values(pattern)
        ]

    def value(self, node: "Node", *, is_quoted: bool) -> Value:
        """Returns what a node stands for."""
        match node.type:
            case "string" | "translated_string":
                return self._joined(node, is_quoted=True)
            case "concatenation":
                return self._joined(node, is_quoted=is_quoted)
            case "simple_expansion":
                name = self.text(node.children[-1])
                return self._variable(name, is_quoted=is_quoted)
            case "expansion":
                return self._expansion(node, is_quoted=is_quoted)
            case "command_substitution" | "process_substitution":
                pattern = self._substitute(node)
                return Value(pattern=pattern, is_split=UNKNOWN in pattern and not is_quoted)
            case "arithmetic_expansion":
                self.arithmetic(node)
                return Value(pattern=UNKNOWN)
            case _ if node.child_count:
                return self._joined(node, is_quoted=is_quoted)
            case _:
                return self._written(node, is_quoted=is_quoted)

    def _written(self, node: "Node", *, is_quoted: bool) -> Value:
        match node.type:
            case "string_content":
                return self._quoted(node)
            case "raw_string":
                return Value(pattern=escaped(self.text(node)[1:-1]))
            case "ansi_c_string":
                return Value(pattern=ansi_pattern(self.text(node)[2:-1]))
            case kind if kind in WORD_KINDS:
                return self._bare(node)
            case _:
                return self._token(node, is_quoted=is_quoted)

    def arithmetic(self, node: "Node") -> None:
        """Reports an arithmetic expression that looks names up, and walks what it substitutes."""
        for child in node.children:
            if child.type in ("variable_name", "word", "subscript", "variable_assignment"):
                self._notes.runs(_EVALUATED)
            elif child.type in ("simple_expansion", "expansion", "string", "concatenation"):
                if self.text(child)[1:] not in _NUMBERS and not self.text(child).startswith("${#"):
                    self._notes.runs(_EVALUATED)
                self.value(child, is_quoted=True)
            elif child.type == "command_substitution":
                self._notes.runs(_EVALUATED)
                self._substitute(child)
            elif child.is_named:
                self.arithmetic(child)

    def _bare(self, node: "Node") -> Value:
        raw = self.text(node)
        if "`" in raw or "$(" in raw:
            self._notes.doubt("a substitution stands where it can't be read")
        return Value(pattern=unquoted_pattern(raw))

    def _quoted(self, node: "Node") -> Value:
        raw = self.text(node)
        if _HIDDEN_RUN.search(raw):
            self._notes.doubt("a substitution stands where it can't be read")
        return Value(pattern=double_quoted_pattern(raw))

    def _token(self, node: "Node", *, is_quoted: bool) -> Value:
        if node.type in ("$", "{", "}", ",", "..", "[", "]", "=", "!"):
            return Value(pattern=escaped("$") if node.type == "$" else node.type)
        if node.type == '"':
            return Value(pattern="")
        self._notes.doubt(f"{node.type!r} is not expected in a word")
        return Value(pattern=UNKNOWN, is_split=not is_quoted)

    def _joined(self, node: "Node", *, is_quoted: bool) -> Value:
        parts: list[Value] = []
        end = node.start_byte
        for child in node.children:
            gap = self._source[end : child.start_byte].decode("utf-8", "replace")
            if gap:
                parts.append(Value(pattern=escaped(gap)))
            if child.type in ("simple_expansion", "expansion", "command_substitution"):
                blank = self.text(child)
                parts.append(Value(pattern=blank[: len(blank) - len(blank.lstrip())]))
            parts.append(self.value(child, is_quoted=is_quoted))
            end = child.end_byte
        return _concatenated(parts)

    def _variable(self, name: str, *, is_quoted: bool) -> Value:
        if is_secret_variable(name):
            self._notes.dangerous("bash:env", f"shows the value of {name}")
        known = self._notes.where.known
        if name in known:
            return Value(pattern=escaped(known[name]))
        if name in _NUMBERS:
            return Value(pattern=_SOME_PROCESS if name == "!" else "1")
        certain = self._notes.names.certain.get(name)
        if certain is not None:
            first, *others = certain
            is_split = not is_quoted and any(_SPLITS.search(v) for v in (first, *others))
            return Value(pattern=first, is_split=is_split, others=tuple(others)[:_MOST_VALUES])
        return Value(
            pattern=UNKNOWN,
            is_split=not is_quoted,
            others=self._notes.names.possible.get(name, ())[:_MOST_VALUES],
        )

    def _expansion(self, node: "Node", *, is_quoted: bool) -> Value:
        name = ""
        nested: list[Value] = []
        for child in node.children:
            match child.type:
                case "variable_name" | "special_variable_name":
                    name = name or self.text(child)
                case "subscript":
                    self.subscript(child)
                case "!" | "@" | "=" | ":=":
                    self._notes.runs("expands a variable in a way that can run commands")
                case ":":
                    self._slice(node)
                case kind if kind in WORD_KINDS:
                    nested.append(self.value(child, is_quoted=is_quoted))
                case kind if kind.strip() not in _TEXT_OPERATORS and len(kind) > 1:
                    self._notes.doubt(f"{kind!r} is not expected in an expansion")
        own = self._variable(name, is_quoted=is_quoted)
        if len(node.children) <= 3:
            return own
        nested.insert(0, own)
        spread = tuple(other for value in nested for other in (value.pattern, *value.others))
        spread = tuple(pattern for pattern in spread if pattern != UNKNOWN)
        return Value(pattern=UNKNOWN, is_split=not is_quoted, others=spread[:_MOST_VALUES])

    def subscript(self, node: "Node") -> None:
        """Reports an index that bash would evaluate."""
        start = self._source.index(b"[", node.start_byte)
        index = self._source[start + 1 : node.end_byte - 1]
        if not _DIGITS.fullmatch(index):
            self._notes.runs("evaluates an index, which can run commands")
        for child in node.children[1:]:
            if child.is_named:
                self.value(child, is_quoted=True)

    def _slice(self, node: "Node") -> None:
        numbers = self.text(node).partition(":")[2].rstrip("}")
        if not re.fullmatch(r"[ 0-9:-]*", numbers):
            self._notes.runs(_EVALUATED)

    def _with_home(self, pattern: str, raw: str) -> str:
        if not raw.startswith("~"):
            return pattern
        name, slash, rest = pattern.partition("/")
        if name == "~":
            start = escaped(self._notes.where.known["HOME"])
        elif name == "~+":
            start = escaped(self._notes.where.known["PWD"])
        elif re.fullmatch(r"~[\w.-]+", name) and name != "~-":
            start = "/root" if name == "~root" else f"/home/{name[1:]}"
        else:
            start = UNKNOWN
        return f"{start}{slash}{rest}"

    def _after_equals(self, pattern: str) -> str:
        head, _, tail = pattern.partition("=~")
        if tail[:1] not in ("", "/"):
            return pattern
        return f"{head}={escaped(self._notes.where.known['HOME'])}{tail}"


def _concatenated(parts: list[Value]) -> Value:
    choices = [(part.pattern, *part.others) for part in parts if part.pattern or part.others]
    patterns = ["".join(choice) for choice in islice(product(*choices), _MOST_VALUES)]
    return Value(
        pattern="".join(part.pattern for part in parts),
        is_split=any(part.is_split for part in parts),
        others=tuple(pattern for pattern in patterns[1:] if unescaped(pattern)),
    )
