"""Checks a syntax tree against bash's own rules for words, quotes and lines; pure.

The parser sometimes joins what bash parts, without reporting an error. Where every leaf is one
token by bash's rules, nothing but blanks lies between the leaves, and no line ends inside a
command, the two have read the same.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_BLANK = re.compile(rb"(?:[ \t\n]|\\\n)*")
_LINE_END = re.compile(rb"(?<!\\)\n")
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_SUBSTITUTED = rb"`|\$[A-Za-z0-9_({!@*#?$-]"
_ODD = {
    "word": re.compile(rb"[\s;|&<>()'\"]|" + _SUBSTITUTED),
    "extglob_pattern": re.compile(rb"[\s;&<>'\"]|" + _SUBSTITUTED),
    "regex": re.compile(rb"[\s;&<>'\"]|" + _SUBSTITUTED),
    "quoted": re.compile(rb"[\n;|&<>()'\"]|" + _SUBSTITUTED),
    "replaced": re.compile(rb"['\"\n]|" + _SUBSTITUTED),
    "string_content": re.compile(rb"\"|`|\$[({]"),
}
"""What must not stand in a leaf of a kind once its escapes are taken out."""
_WHOLE = {
    "raw_string": re.compile(rb"'[^']*'"),
    "ansi_c_string": re.compile(rb"\$'(?:[^'\\]|\\.)*'", re.DOTALL),
    "comment": re.compile(rb"#[^\n]*"),
    "variable_name": re.compile(rb"\s*\w+"),
    "special_variable_name": re.compile(rb"\s*[*@?!#$0_-]"),
    "file_descriptor": re.compile(rb"\s*[0-9]+"),
    "test_operator": re.compile(rb"\s*-\w+"),
    "number": re.compile(rb"\s*-?[\w#]+"),
}
"""What a leaf of a kind must be."""
_BEFORE_COMMENT = b" \t\n;&|()"
_ONE_LINE = frozenset(
    {
        *("command", "declaration_command", "unset_command", "file_redirect", "concatenation"),
        *("herestring_redirect", "redirected_statement", "variable_assignment"),
        *("variable_assignments", "negated_command"),
    }
)


def is_blank(gap: bytes) -> bool:
    """True for text between two leaves that means nothing."""
    return _BLANK.fullmatch(gap) is not None


def leaf_doubt(leaf: "Node", source: bytes) -> str:
    """Returns why a leaf is no token as bash reads it; empty where it is one."""
    text = source[leaf.start_byte : leaf.end_byte]
    odd = _ODD.get(_role(leaf))
    if odd is not None and odd.search(_ESCAPE.sub(b"", text)):
        return "a word holds signs that end words"
    whole = _WHOLE.get(leaf.type)
    if whole is not None and not whole.fullmatch(text):
        return f"a {leaf.type} is not understood"
    starts = leaf.start_byte == 0 or source[leaf.start_byte - 1] in _BEFORE_COMMENT
    if leaf.type == "comment" and not starts:
        return "a comment begins inside a word"
    if leaf.type == "word" and text.startswith(b"#") and starts:
        return "a comment is read as words"
    return ""


def _role(leaf: "Node") -> str:
    """Returns the kind of a leaf; a pattern outside of tests and expansions is a word to bash."""
    parent = leaf.parent.type if leaf.parent is not None else ""
    if leaf.type in ("regex", "extglob_pattern"):
        if parent in ("command", "redirected_statement", "concatenation"):
            return "word"
        if parent == "expansion":
            return "replaced"
    if leaf.type == "word" and _is_quoted(leaf):
        return "quoted"
    return leaf.type


def _is_quoted(leaf: "Node") -> bool:
    """True inside an expansion in double quotes, where blanks part no words."""
    node = leaf.parent
    if node is not None and node.type == "concatenation":
        node = node.parent
    around = node.parent if node is not None and node.type == "expansion" else None
    return around is not None and around.type == "string"


def line_doubt(node: "Node", source: bytes) -> str:
    """Returns why the lines of a node are not those bash sees; empty where they are."""
    if node.type == "heredoc_redirect":
        return _heredoc_doubt(node, source)
    is_short_test = node.type == "test_command" and node.children[0].type == "["
    if node.type not in _ONE_LINE and not is_short_test:
        return ""
    end = node.start_byte
    for child in node.children:
        if _LINE_END.search(source[end : child.start_byte]):
            return "a command goes on after its line ended"
        end = child.end_byte
    return ""


def _heredoc_doubt(node: "Node", source: bytes) -> str:
    parts = {child.type: child for child in node.children}
    start, body, end = (parts.get(f"heredoc_{name}") for name in ("start", "body", "end"))
    if start is None or end is None:
        return "a here-document is not understood"
    delimiter = re.sub(rb"['\"\\]", b"", source[start.start_byte : start.end_byte])
    begins = body.start_byte if body is not None else end.start_byte
    line, newline, above = source[start.end_byte : begins].partition(b"\n")
    if not newline or line.endswith(b"\\") or above.strip(b" \n\t") or not delimiter:
        return "a here-document does not begin where it seems to"
    ended = source[end.start_byte : end.end_byte].strip(b"\t\n") == delimiter
    if not ended or source[end.end_byte : end.end_byte + 1] not in (b"", b"\n"):
        return "a here-document does not end where it seems to"
    is_stripped = node.children[0].type == "<<-"
    lines = source[begins : end.start_byte].split(b"\n")
    if any((line.lstrip(b"\t") if is_stripped else line) == delimiter for line in lines[:-1]):
        return "a here-document ends before it seems to"
    return ""
