"""A command line's syntax tree, and every reason not to trust that tree; pure.

1. Too long, control or invisible characters, or blanks that push text out of sight: not trusted.
2. An error in the tree, or text that no leaf of it covers: not trusted.
3. A line broken inside a word: bash joins it, the parser doesn't.
"""

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LONGEST_CHARACTERS = 10_000
_PADDING = re.compile(rb"[ \t]{40,}")
_BLANK = re.compile(rb"(?:[ \t\n]|\\\n)*")
_DOUBTFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|[^\x00-\x7f]")
_WHOLE = frozenset({"heredoc_body"})
_OPERATORS = frozenset(
    {"&&", "||", "|", "|&", "&", ";", ";;", "(", ")", "{", "}", ">", ">>", "<", "then", "do"}
)


@cache
def parser() -> "Parser":
    """Returns the process's one bash parser, loading it on first use."""
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


def tree_doubts(root: "Node", source: bytes) -> list[str]:
    """Returns why the tree can't be trusted; empty where it can."""
    if root.has_error:
        return ["bash and this parser may read it differently"]
    doubts = []
    end = 0
    before: Node | None = None
    for leaf in _leaves(root):
        gap = source[end : leaf.start_byte]
        if not _BLANK.fullmatch(gap):
            doubts.append("parts of it were not understood")
        if _joins(before, gap, leaf):
            doubts.append("a word is broken across lines")
        shown = source[end : leaf.start_byte if leaf.type in _WHOLE else leaf.end_byte]
        if _PADDING.search(shown):
            doubts.append("blanks push a part of it out of sight")
        end, before = leaf.end_byte, leaf
    if not _BLANK.fullmatch(source[end:]):
        doubts.append("parts of it were not understood")
    return list(dict.fromkeys(doubts))


def _joins(before: "Node | None", gap: bytes, leaf: "Node") -> bool:
    if before is None or not gap.startswith(b"\\\n") or gap.strip(b"\\\n"):
        return False
    return before.type not in _OPERATORS and leaf.type not in _OPERATORS


def _leaves(root: "Node") -> "list[Node]":
    leaves = []
    pending = [root]
    while pending:
        node = pending.pop()
        if node.child_count == 0 or node.type in _WHOLE:
            if node.end_byte > node.start_byte:
                leaves.append(node)
        else:
            pending.extend(reversed(node.children))
    return leaves
