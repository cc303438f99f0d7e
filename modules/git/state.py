"""A copy of the crew's journals in the repository itself, at `refs/crewyard/state`.

1. It is a chain of commits apart from every branch; each holds the journals and results whole.
2. It is made after each landing and at the end of a run, so cleaning the work tree loses no board.
3. A state folder that has no board is filled from the copy before anything is read.
"""

from datetime import datetime
from pathlib import Path

from modules.git.merging import join
from modules.git.refs import read_ref, set_ref, tree_of
from modules.git.repository import Repository
from modules.store.files import write_atomically
from modules.store.paths import Paths

STATE_REF = "refs/crewyard/state"
_RESULTS = "results"


def save_state(repository: Repository, *, when: datetime) -> bool:
    """Commits the journals as they are now; returns whether anything was new."""
    git, paths = repository.git, repository.paths
    results = {path.name: path for path in sorted(paths.results.glob("*.md"))}
    journals = {path.name: path for path in _journals(paths) if path.exists()}
    lines = [f"100644 blob {_blob(repository, path)}\t{name}" for name, path in journals.items()]
    if results:
        inner = [f"100644 blob {_blob(repository, path)}\t{name}" for name, path in results.items()]
        lines.append(f"040000 tree {_tree(repository, inner)}\t{_RESULTS}")
    tree = _tree(repository, lines)
    last = read_ref(git, STATE_REF)
    if last and tree_of(git, last) == tree:
        return False
    parents = [last] if last else []
    set_ref(git, STATE_REF, join(git, tree=tree, parents=parents, message="state", when=when))
    return True


def restore_state(repository: Repository) -> bool:
    """Writes the copy back where there is no board; returns whether it did."""
    git, paths = repository.git, repository.paths
    last = read_ref(git, STATE_REF)
    if paths.board.exists() or not last:
        return False
    for field in git.fields("ls-tree", "-r", "-z", "--full-tree", last):
        if not field:
            continue
        facts, _, name = field.partition("\t")
        content = git.run("cat-file", "blob", facts.split()[2]).stdout
        write_atomically(paths.team / name, content)
    return True


def _journals(paths: Paths) -> tuple[Path, ...]:
    return (paths.board, paths.mail, paths.queue)


def _blob(repository: Repository, path: Path) -> str:
    return repository.git.run(
        "hash-object", "-w", "--no-filters", "--stdin", input=path.read_bytes()
    ).text


def _tree(repository: Repository, lines: list[str]) -> str:
    content = "".join(f"{line}\0" for line in lines).encode()
    return repository.git.run("mktree", "-z", input=content).text
