"""What an awk program does beside printing; pure (POSIX awk and gawk 5).

1. `system`, `getline`, a pipe, ENVIRON, an included or loaded file, an indirect call: it may run
   a program or show secrets.
2. `print > "file"` writes that file; a target that isn't one plain string isn't known.
3. Where a slash could begin a regular expression or divide, the program is not understood.
"""

import re
from dataclasses import dataclass, field

_HAZARD = re.compile(r"\b(?:system|getline|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|ARGV)\b|@")
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\n|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<sign>>>|\|\||&&|[<>=!]=|\+\+|--|.|\n)""",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]/\\\n]*\])+/")
_ENDS = frozenset({";", "\n", "}"})
_GOES_ON = frozenset({",", "&&", "||", "{", "do", "else"})
_PRINTS = frozenset({"print", "printf"})
_KEYWORDS = frozenset({"print", "printf", "return", "in", "else", "do", "case", "exit", "delete"})


@dataclass(slots=True)
class AwkUse:
    """What a program was found to do."""

    writes: list[str] = field(default_factory=list)
    is_understood: bool = True
    """False where it may run a program."""


def read_awk(program: str) -> AwkUse:
    """Returns what `program` does."""
    tokens = _tokens(program)
    if tokens is None or any(_HAZARD.fullmatch(token) for token in tokens):
        return AwkUse(is_understood=False)
    use = AwkUse()
    depth = 0
    printing_at: int | None = None
    for position, token in enumerate(tokens):
        depth += (token in ("(", "[")) - (token in (")", "]"))
        if token in _PRINTS:
            printing_at = depth
        elif token in (";", "}") or (token == "\n" and tokens[position - 1] not in _GOES_ON):
            printing_at = None
        elif token == "|":
            use.is_understood = False
        elif token in (">", ">>") and printing_at == depth:
            _redirect(tokens[position + 1 : position + 3], use)
    return use


def _redirect(following: list[str], use: AwkUse) -> None:
    target = following[0] if following else ""
    is_alone = len(following) < 2 or following[1] in _ENDS
    if not (target.startswith('"') and is_alone) or "\\" in target or target.startswith('"/inet'):
        use.is_understood = False
    else:
        use.writes.append(target[1:-1])


def _tokens(program: str) -> list[str] | None:
    """Returns the program's tokens, expressions between slashes left out; None: not clear."""
    tokens: list[str] = []
    at = 0
    while at < len(program):
        if program[at] == "/":
            before = tokens[-1] if tokens else ""
            if before in (")", "$"):
                return None
            if not _is_value(before):
                match = _REGEX.match(program, at)
                if match is None:
                    return None
                tokens.append('""')
                at = match.end()
                continue
        token = _TOKEN.match(program, at)
        if token is None or token.group() in ('"', "\\"):
            return None
        if token.lastgroup != "blank":
            tokens.append(token.group())
        at = token.end()
    return tokens


def _is_value(token: str) -> bool:
    if not token or token in _KEYWORDS:
        return False
    return token[0].isalnum() or token[0] in '_".' or token in ("++", "--", "]")
