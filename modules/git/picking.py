"""Places the commits of a branch one by one on top of something else, in memory.

1. A branch whose commits partly landed in another shape, and which therefore can't be merged, is
   replayed: what changes nothing any more is left out.
2. A rebased commit keeps its author, its date and its words.
"""

import re
from datetime import datetime

from modules.git.merging import Attributes, commit_tree, join, merge_trees
from modules.git.refs import tree_of
from modules.git.repository import Repository
from modules.git.run_git import Git, Identity

_MOST_REPLAYED = 50
_TRAILER = re.compile(r"[\w-]+: ")


def replay(
    repository: Repository, *, onto: str, head: str, when: datetime, attributes: Attributes
) -> str:
    """Returns the tree of `onto` with the commits of `head` that it lacks; empty when one clashes.

    It is empty as well when there are merges among them, or too many.
    """
    git, tree = repository.git, tree_of(repository.git, onto)
    commits = _line_of_commits(git, onto, head)
    for commit, parent in commits:
        tree = _pick(repository, commit, parent, tree=tree, when=when, attributes=attributes)
        if not tree:
            return ""
    return tree if commits else ""


def rebase(
    repository: Repository,
    *,
    onto: str,
    head: str,
    when: datetime,
    trailers: str,
    attributes: Attributes,
) -> str:
    """Returns `onto` with the commits of `head` that it lacks on top, by their own authors.

    It is empty when one clashes, when there are merges among them, or too many.
    """
    git, tip, tip_tree = repository.git, onto, tree_of(repository.git, onto)
    for commit, parent in _line_of_commits(git, onto, head):
        tree = _pick(repository, commit, parent, tree=tip_tree, when=when, attributes=attributes)
        if not tree:
            return ""
        if tree != tip_tree:
            name, email, date, message = git.fields(
                "log", "--no-walk", "-z", "--date=raw", "--format=%an%x00%ae%x00%ad%x00%B", commit
            )
            author = Identity(name, email) if name and email else git.identity
            tip = commit_tree(
                git,
                tree,
                (tip,),
                _with_trailers(message, trailers),
                when,
                author=author,
                authored=f"@{date}",
                signing=repository.signing,
            )
            tip_tree = tree
    return tip if tip != onto else ""


def _line_of_commits(git: Git, onto: str, head: str) -> list[tuple[str, str]]:
    """Returns the commits of `head` that `onto` lacks, each with its parent, oldest first.

    There are none when merges are among them, or too many.
    """
    limit = f"--max-count={_MOST_REPLAYED + 1}"
    argv = ("rev-list", "--reverse", "--topo-order", "--parents", limit, f"{onto}..{head}")
    lines = [line.split() for line in git.text(*argv).splitlines()]
    if len(lines) > _MOST_REPLAYED or any(len(line) != 2 for line in lines):
        return []
    return [(commit, parent) for commit, parent in lines]


def _pick(
    repository: Repository,
    commit: str,
    parent: str,
    *,
    tree: str,
    when: datetime,
    attributes: Attributes,
) -> str:
    """Returns `tree` with what a commit changed; empty when that clashes."""
    # Its parent is the commit's own, so that is what the merge takes for the base.
    stand_in = join(repository.git, tree=tree, parents=(parent,), message="stand-in", when=when)
    merged = merge_trees(repository, stand_in, commit, attributes=attributes)
    return "" if merged.clashes else merged.tree


def _with_trailers(message: str, trailers: str) -> str:
    text = message.rstrip()
    if not trailers:
        return f"{text}\n"
    last = text.rpartition("\n\n")[2] if "\n\n" in text else ""
    has_some = bool(last) and all(_TRAILER.match(line) for line in last.split("\n"))
    return f"{text}\n{trailers}" if has_some else f"{text}\n\n{trailers}"
