"""Groups commands joined by `|`, `&&` and `||` as bash does; pure.

The parser hangs some of them under the wrong parent (`a | b | c && d` becomes a pipe into
`b | c && d`), and a redirect after the last one around all. Their order is right, so it is
flattened and grouped anew: a pipe binds closer, the others are equal and go from left to right.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_CHAINS = frozenset({"list", "pipeline"})
_PIPES = frozenset({"|", "|&"})
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a chain."""

    operator: str
    """What stands before it; empty for the first."""
    node: "Node"
    redirects: "tuple[Node, ...]" = ()


def chain_of(node: "Node") -> list[Step]:
    """Returns the commands of a list, a pipeline or a redirected statement, in order."""
    if node.type == "redirected_statement":
        return _redirected(node)
    steps: list[Step] = []
    operator = ""
    for child in node.children:
        if not child.is_named:
            operator = child.type.strip()
            continue
        if child.type == "comment":
            continue
        inner = (
            chain_of(child) if child.type in _CHAINS or _wraps_chain(child) else [Step("", child)]
        )
        steps.append(Step(operator, inner[0].node, inner[0].redirects))
        steps.extend(inner[1:])
        operator = ""
    return steps


def pipelines_of(chain: list[Step]) -> list[tuple[str, list[Step]]]:
    """Returns the chain's pipelines, each with the operator before it."""
    pipelines: list[tuple[str, list[Step]]] = []
    for step in chain:
        if step.operator in _PIPES and pipelines:
            pipelines[-1][1].append(step)
        else:
            pipelines.append((step.operator, [step]))
    return pipelines


def _redirected(node: "Node") -> list[Step]:
    redirects = tuple(child for child in node.children if child.type in _REDIRECTS)
    bodies = [child for child in node.children if child.type not in _REDIRECTS]
    if not bodies:
        return [Step("", node.children[0], redirects)]
    body = bodies[0]
    steps = chain_of(body) if body.type in _CHAINS or _wraps_chain(body) else [Step("", body)]
    last = steps[-1]
    return [*steps[:-1], Step(last.operator, last.node, (*last.redirects, *redirects))]


def _wraps_chain(node: "Node") -> bool:
    return node.type == "redirected_statement" and any(
        child.type in _CHAINS or _wraps_chain(child) for child in node.children
    )
