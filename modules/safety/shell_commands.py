"""Reads one simple command of a syntax tree: its words, variables and redirects; pure."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from modules.safety.shell_names import is_plain_name, is_steering_variable
from modules.safety.shell_notes import Draft, Notes
from modules.safety.shell_script import Assignment, Direction, Redirect
from modules.safety.shell_values import WORD_KINDS, ValueReader
from modules.safety.shell_words import UNKNOWN, Word, escaped, unescaped

if TYPE_CHECKING:
    from tree_sitter import Node

REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_DUPLICATED = re.compile(r"[0-9]*-?")
_DEVICES = ("/dev/tcp/", "/dev/udp/")
_EXPANDED = re.compile(r"`|\$\(|\$\[|\$\{(?![A-Za-z_][A-Za-z0-9_]*\})")
_KEPT_COMMANDS = ("$(", "`", "${")


class CommandReader:
    """Reads commands into the notes; `walk` takes in statements found on the way."""

    def __init__(self, notes: Notes, values: ValueReader, walk: "Callable[[Node], None]") -> None:
        self._notes = notes
        self._values = values
        self._walk = walk
        self._text = values.text

    def command(self, node: "Node") -> None:
        """Takes in a simple command."""
        notes = self._notes
        draft = Draft(raw=" ".join(self._text(node).split()), folders=notes.where.folders)
        first = len(notes.calls)
        redirects: list[Node] = []
        for position, child in enumerate(node.children):
            if child.type == "variable_assignment":
                name, value = self.assignment(child)
                draft.assignments.append(Assignment(name=name, value=value))
            elif child.type == "command_name":
                draft.words.extend(self._values.words(child.children[0]))
            elif child.type in REDIRECTS:
                redirects.append(child)
            elif child.type in WORD_KINDS:
                draft.words.extend(self._values.words(child))
            else:
                self._stray(child, node.children[position + 1 :], draft)
        draft.inside.extend(range(first, len(notes.calls)))
        notes.calls.append(draft)
        notes.names.called(draft.name)
        for redirect in redirects:
            self.redirect(redirect, len(notes.calls) - 1)
        notes.where.move(draft.texts)

    def assignment(self, node: "Node") -> tuple[str, str | None]:
        """Takes in an assignment; returns the name, and the value where it is known."""
        target = node.children[0]
        if target.type == "subscript":
            self._values.subscript(target)
        name = self._text(target)
        parts = node.children[2:]
        if parts and parts[0].type == "array":
            parts = [part for part in parts[0].children if part.is_named]
        words = [word for part in parts for word in self._values.words(part)]
        values = [pattern for word in words for pattern in (word.pattern, *word.others)]
        if any(sign in value for value in values for sign in _KEPT_COMMANDS):
            self._notes.runs(f"keeps a command in {name!r}, to be run later")
        self._notes.names.learn(name, values)
        whole = unescaped(values[0]) if values else ""
        return name, None if UNKNOWN in whole or node.children[1].type != "=" else whole

    def standing_assignment(self, node: "Node") -> None:
        """Takes in an assignment that is a statement of its own."""
        self._notes.has_effect = True
        name, value = self.assignment(node)
        self._notes.names.assigned(name, is_known=value is not None)
        self.steering(name)
        if not is_plain_name(name) and "[" not in name:
            self._notes.doubt("an assignment is not understood")

    def steering(self, name: str) -> None:
        """Reports a name whose value decides what runs."""
        if is_steering_variable(name):
            self._notes.dangerous("bash:env", f"sets {name}, which decides what runs later")

    def redirect(self, node: "Node", first: int) -> None:
        """Takes in a redirect of the calls from place `first` on."""
        self._notes.has_effect = True
        if node.type == "heredoc_redirect":
            self._heredoc(node, first)
        elif node.type == "herestring_redirect":
            self._here_string(node, first)
        else:
            self._file(node, first)

    def _here_string(self, node: "Node", first: int) -> None:
        before = len(self._notes.calls)
        words = [w for c in node.children if c.type in WORD_KINDS for w in self._values.words(c)]
        for draft in self._notes.calls[first:before]:
            draft.inside.extend(range(before, len(self._notes.calls)))
            draft.input_text = " ".join(word.text for word in words)

    def _stray(self, child: "Node", following: "list[Node]", draft: Draft) -> None:
        if child.type == "$" and following and following[0].start_byte == child.end_byte:
            self._notes.doubt("a translated string is not understood")
        elif child.type in ("==", "=~", "=", "$"):
            draft.words.append(Word(raw=child.type, pattern=escaped(child.type)))
        elif child.type == "subshell":
            self._notes.doubt("a group stands where a word should")
            self._walk(child)
        else:
            self._notes.doubt(f"{child.type!r} is not expected in a command")

    def _file(self, node: "Node", first: int) -> None:
        operator = next((c.type for c in node.children if not c.is_named), "")
        before = len(self._notes.calls)
        parts = [c for c in node.children if c.type in WORD_KINDS and not self._is_descriptor(c)]
        words = [word for part in parts for word in self._values.words(part)]
        inside = range(before, len(self._notes.calls))
        for draft in self._notes.calls[first:before]:
            draft.inside.extend(inside)
        if words:
            self._append(words[1:], first, before)
            self._target(operator, words[0], first)

    def _is_descriptor(self, node: "Node") -> bool:
        """True for a number that belongs to the redirect right after it."""
        return node.type == "number" and self._values.following(node) in ("<", ">")

    def _append(self, words: list[Word], first: int, end: int) -> None:
        """Gives words after a redirect's target to the command they belong to."""
        if words and first < end:
            self._notes.calls[end - 1].words.extend(words)
        elif words:
            self._notes.doubt("a redirect is not understood")

    def _target(self, operator: str, target: Word, first: int) -> None:
        notes = self._notes
        if operator == "<" and target.raw in notes.bodies:
            notes.markers.add(target.raw)
            notes.heredocs += 1
            self._feed(first, notes.bodies[target.raw])
        elif operator.strip("-") in (">&", "<&") and _DUPLICATED.fullmatch(target.text):
            return
        elif target.text.startswith(_DEVICES):
            notes.dangerous("bash:net", f"opens the network device {target.text!r}")
            for draft in notes.calls[first:]:
                draft.is_network_fed = True
        else:
            direction = Direction.READ if operator.startswith("<") else Direction.WRITE
            folders = notes.where.folders
            notes.redirects.append(
                Redirect(
                    direction=direction,
                    target=target,
                    folders=folders,
                    calls=tuple(range(first, len(notes.calls))),
                )
            )

    def _heredoc(self, node: "Node", first: int) -> None:
        notes = self._notes
        notes.heredocs += 1
        start = next((self._text(c) for c in node.children if c.type == "heredoc_start"), "")
        body = "".join(self._text(c) for c in node.children if c.type == "heredoc_body")
        is_literal = any(sign in start for sign in "'\"\\")
        if not is_literal and _EXPANDED.search(re.sub(r"\\.", "", body, flags=re.DOTALL)):
            notes.doubt("a here-document runs commands while it is read")
        self._feed(first, body if is_literal or "$" not in body else UNKNOWN)
        upstream = range(first, len(notes.calls))
        for child in node.children:
            if child.type in REDIRECTS:
                self.redirect(child, first)
            elif child.type in WORD_KINDS:
                self._append(self._values.words(child), first, len(notes.calls))
            elif child.is_named and not child.type.startswith("heredoc_"):
                later = len(notes.calls)
                self._walk(child)
                for draft in notes.calls[later:]:
                    draft.upstream.extend(upstream if child.type == "pipeline" else ())

    def _feed(self, first: int, text: str) -> None:
        for draft in self._notes.calls[first:]:
            draft.input_text = text
