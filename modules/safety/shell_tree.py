"""A command line's syntax tree, and every reason not to trust that tree; pure.

1. Too long, control or invisible characters, or blanks that push text out of sight: not trusted.
2. An error in the tree, or text that no leaf of it covers: not trusted.
3. A line broken inside a word: bash joins it, the parser doesn't.

A script that can't be trusted as a whole is read piece by piece where each piece of whole lines is
a complete script: bash reads it so, too.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from modules.safety.shell_lexing import is_blank, leaf_doubt, line_doubt

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_LONGEST_CHARACTERS = 10_000
_MOST_LINES = 200
_PADDING = re.compile(rb"[ \t]{40,}")
_DOUBTFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|[^\x00-\x7f]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_WHOLE = frozenset({"heredoc_body"})
_OPERATORS = frozenset(
    {"&&", "||", "|", "|&", "&", ";", ";;", "(", ")", "{", "}", ">", ">>", "<", "then", "do"}
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some whole lines of a script, parsed."""

    source: bytes
    root: "Node"
    doubts: tuple[str, ...] = ()
    """Why the tree can't be trusted."""


def read_chunks(text: str) -> list[Chunk]:
    """Returns the script's trees in order: one, or more where only its pieces can be trusted."""
    whole = _chunk(text)
    if not whole.doubts or "\n" not in text:
        return [whole]
    chunks: list[Chunk] = []
    lines = text.split("\n")
    start = 0
    for end in range(1, min(len(lines), _MOST_LINES) + 1):
        chunk = _chunk("\n".join(lines[start:end]))
        if not chunk.doubts:
            chunks.append(chunk)
            start = end
    return chunks if start == len(lines) else [whole]


def _chunk(text: str) -> Chunk:
    source = text.encode()
    root = _parsed(source).root_node
    return Chunk(source=source, root=root, doubts=tuple(_tree_doubts(root, source)))


def _parsed(source: bytes) -> "Tree":
    """Returns the syntax tree of a command line.

    The parser's scanner looks characters up in a table for bytes and reads past it for large code
    points, which can end the process (tree-sitter-bash 0.25). Bytes that are not ASCII are letters
    to bash, so each is parsed as one; places in the tree are places in `source`.
    """
    return _parser().parse(_NOT_ASCII.sub(b"Q", source))


@cache
def _parser() -> "Parser":
    import tree_sitter  # a worker that runs no command needn't load it
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def text_doubts(text: str) -> list[str]:
    """Returns why the text itself can't be trusted; empty where it can."""
    doubts = []
    if len(text) > _LONGEST_CHARACTERS:
        doubts.append(f"it is longer than {_LONGEST_CHARACTERS} characters")
    if any(_is_hidden(match.group()) for match in _DOUBTFUL.finditer(text)):
        doubts.append("it has control or invisible characters")
    return doubts


def readable(text: str) -> str:
    """Returns the text without what hides, so that the rest can still be looked at."""
    shown = _DOUBTFUL.sub(lambda match: _shown(match.group()), text[:_LONGEST_CHARACTERS])
    return shown.encode("utf-8", "replace").decode()


def _is_hidden(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cs")


def _shown(sign: str) -> str:
    category = unicodedata.category(sign)
    if category == "Cf":
        return ""
    return " " if _is_hidden(sign) else sign


def _tree_doubts(root: "Node", source: bytes) -> list[str]:
    """Returns why the tree can't be trusted; empty where it can."""
    if root.has_error:
        return ["bash and this parser may read it differently"]
    doubts: list[str] = []
    end = 0
    before: Node | None = None
    for leaf in _leaves(root, source, doubts):
        gap = source[end : leaf.start_byte]
        if not is_blank(gap):
            doubts.append("parts of it were not understood")
        doubts.append(leaf_doubt(leaf, source))
        if _joins(before, gap, leaf):
            doubts.append("a word is broken across lines")
        shown = source[end : leaf.start_byte if leaf.type in _WHOLE else leaf.end_byte]
        if _PADDING.search(shown):
            doubts.append("blanks push a part of it out of sight")
        end, before = leaf.end_byte, leaf
    if not is_blank(source[end:]):
        doubts.append("parts of it were not understood")
    return [doubt for doubt in dict.fromkeys(doubts) if doubt]


def _joins(before: "Node | None", gap: bytes, leaf: "Node") -> bool:
    if before is None or not gap.startswith(b"\\\n") or gap.strip(b"\\\n"):
        return False
    return before.type not in _OPERATORS and leaf.type not in _OPERATORS


def _leaves(root: "Node", source: bytes, doubts: list[str]) -> "list[Node]":
    leaves = []
    pending = [root]
    while pending:
        node = pending.pop()
        doubts.append(line_doubt(node, source))
        if node.child_count == 0 or node.type in _WHOLE:
            if node.end_byte > node.start_byte:
                leaves.append(node)
        else:
            pending.extend(reversed(node.children))
    return leaves
