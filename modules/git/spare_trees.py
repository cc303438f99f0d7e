"""Checkouts made ahead of need, so that a lane of a large repository is ready at once.

1. A spare is filled from a commit and lies in git's own folder until a lane takes it. No worker was
   ever in it, so it holds what a new checkout holds, and nothing else.
2. git alone brings it from one commit to another. Where `.gitattributes` differ between them it
   can't: they say how files are written, those that are the same included.
3. Whoever takes one that turns out not to be fit throws it away and fills the lane like any other.
4. Repositories of few files get none, nor do sparse checkouts.
5. It is filled in steps, for whoever has to end must not wait for a whole checkout.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from modules.git.merging import ATTRIBUTES
from modules.git.refs import changed_paths
from modules.git.repository import Repository
from modules.git.run_git import Git, GitFault
from modules.git.worktrees import POINTERS, admin_folder
from modules.store.removal import remove_tree

MANY_FILES = 5_000
"""From how many files on a lane is worth a spare."""
SETTLING_SECONDS = 1.1
"""When a spare may be settled: git's index tells whole seconds apart."""
_STEP = 500
_FILL_SECONDS = 600.0
_INDEX_SIGNATURE = b"DIRC"


@dataclass(frozen=True, slots=True)
class SpareTree:
    """A checkout nobody has worked in."""

    folder: Path
    commit: str

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def index(self) -> Path:
        return self.folder / "index"


def are_worth_it(repository: Repository, *, many_files: int = MANY_FILES) -> bool:
    """True in a repository of `many_files` or more; goes by the index of the main checkout."""
    command = ("config", "--bool", "--get", "core.sparseCheckout")
    if repository.git.run(*command, accept=(0, 1)).text == "true":
        return False
    try:
        with (repository.common_dir / "index").open("rb") as index:
            head = index.read(12)
    except FileNotFoundError:
        return False
    return head[:4] == _INDEX_SIGNATURE and int.from_bytes(head[8:], "big") >= many_files


def begin_spare(
    repository: Repository, commit: str, *, name: str
) -> tuple[SpareTree, Iterator[Sequence[str]]]:
    """Makes an empty spare; returns it with the paths to fill it with, step by step."""
    spare = SpareTree(_folder(repository) / name, commit)
    spare.tree.mkdir(parents=True)
    _run(repository, spare, "read-tree", commit)
    paths = _run(repository, spare, "ls-files", "-z").split(b"\0")[:-1]
    names = [path.decode("utf-8", "surrogateescape") for path in paths]
    return spare, (names[start : start + _STEP] for start in range(0, len(names), _STEP))


def fill_spare(repository: Repository, spare: SpareTree, paths: Sequence[str]) -> None:
    """Writes some of a spare's files."""
    given = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    _run(repository, spare, "checkout-index", "--index", "-z", "--stdin", input=given)


def settle_spare(spare: SpareTree) -> None:
    """Ends the filling of a spare, SETTLING_SECONDS after the last step.

    git reads again what was written in the second its index was; so that is made younger.
    """
    spare.index.touch()


def follow(repository: Repository, spare: SpareTree, commit: str) -> SpareTree:
    """Brings a spare to another commit; raises GitFault when it is not fit for that."""
    if spare.commit == commit:
        return spare
    changed = changed_paths(repository.git, spare.commit, commit)
    if any(PurePosixPath(path).name == ATTRIBUTES for path in changed):
        raise GitFault(("read-tree", commit), code=None, stderr=f"{ATTRIBUTES} differ")
    _run(repository, spare, "read-tree", "-m", "-u", spare.commit, commit)
    return replace(spare, commit=commit)


def give_to_lane(repository: Repository, spare: SpareTree, path: Path, commit: str) -> None:
    """Makes a spare, at `commit`, the tree of the registered and empty worktree at `path`.

    Raises GitFault or OSError with the worktree as it was when the spare is not fit.
    """
    admin = admin_folder(repository, path)
    if admin is None or _kind_of(path) != _kind_of(spare.tree):
        raise GitFault(("worktree", "add"), code=None, stderr="the folder is of another kind")
    spare = follow(repository, spare, commit)
    # From here on nothing can be refused that the first of these was not refused for.
    (path / ".git").rename(spare.tree / ".git")
    spare.index.rename(admin / "index")
    path.rmdir()
    spare.tree.rename(path)
    spare.folder.rmdir()


def discard(spare: SpareTree) -> None:
    """Removes a spare, whatever is left of it."""
    remove_tree(spare.folder)


def remove_spares(repository: Repository) -> None:
    """Removes all spares; only the lead may, for it is who makes them."""
    remove_tree(_folder(repository))


def _folder(repository: Repository) -> Path:
    return repository.common_dir / "crewyard-trees"


def _kind_of(folder: Path) -> tuple[int, int, int]:
    facts = folder.stat()
    return facts.st_mode, facts.st_uid, facts.st_gid


def _run(repository: Repository, spare: SpareTree, *args: str, input: bytes | None = None) -> bytes:
    git: Git = repository.place(repository.common_dir, spare.tree)
    # These would tie an index to the place it lies in.
    tied = (("core.splitIndex", "false"), ("core.untrackedCache", "false"))
    return (
        git.configured(*POINTERS, *tied)
        .run(
            *args,
            input=input,
            env={"GIT_INDEX_FILE": str(spare.index)},
            timeout_seconds=_FILL_SECONDS,
        )
        .stdout
    )
