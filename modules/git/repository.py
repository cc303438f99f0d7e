"""The one repository a run works on, found from wherever its person stands.

1. Any folder of the main checkout, of a lane or of another worktree leads to the main checkout.
2. What can't be worked on is refused with the command that mends it: no repository, a bare one, no
   commit yet, a detached HEAD without a target branch, a target that doesn't exist, a repository
   that git doesn't trust because somebody else owns it.
3. Nothing is written but `info/exclude`, and that once, before anything is made.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modules.git.run_git import FALLBACK_IDENTITY, Git, GitFault, Identity, Place
from modules.git.signing import GitSetting, Signing, read_signing
from modules.records.errors import PersonFault
from modules.store.files import write_atomically
from modules.store.paths import EXCLUDED, Paths

OLDEST_GIT = (2, 39)
_KEYS = r"^(filter|merge)\..*\.|^commit\.gpgsign$|^gpg\.|^user\.(name|email)$"
_DRIVERS = ("filter.", "merge.")
_NO_FILTER = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that can be worked on."""

    root: Path
    """The main checkout."""
    common_dir: Path
    target: str
    """The branch work lands on."""
    git: Git
    """git in the main checkout."""
    filters: tuple[str, ...]
    """Names of the filter drivers in the repository's own configuration; they are off."""
    signing: Signing | None = None
    """How landings are signed; None when they aren't."""

    @property
    def paths(self) -> Paths:
        """Our own files and folders in it."""
        return Paths(self.root)

    @property
    def target_ref(self) -> str:
        """Full name of the target branch."""
        return f"refs/heads/{self.target}"

    def place(self, git_dir: Path, work_tree: Path) -> Git:
        """Returns git in another worktree, without following anything in it."""
        return self.git.at(Place(git_dir=git_dir, common_dir=self.common_dir, work_tree=work_tree))


def open_repository(folder: Path, *, variables: Mapping[str, str], target: str = "") -> Repository:
    """Returns the repository that `folder` lies in.

    `target` is a branch name; empty means the branch checked out in the main checkout. Raises
    PersonFault for whatever can't be worked on.
    """
    finder = Git(_above_git_dir(folder), variables)
    _check_version(finder)
    root, common_dir = _find(finder)
    place = Place(git_dir=common_dir, common_dir=common_dir, work_tree=root)
    git = Git(root, variables, place=place)
    settings = _configured(git)
    filters, overrides = _own_drivers(settings)
    git = replace(git, identity=_identity(settings, variables), overrides=overrides)
    signing = read_signing(settings, variables)
    return Repository(root, common_dir, _target(git, root, target), git, filters, signing)


def exclude_own_folders(repository: Repository) -> None:
    """Keeps our folders out of `git status`, in the main checkout and in every lane."""
    path = (repository.common_dir / "info" / "exclude").resolve()
    old = path.read_bytes() if path.exists() else b""
    missing = [p for p in EXCLUDED if p.encode() not in old.splitlines()]
    if missing:
        line_break = b"" if not old or old.endswith(b"\n") else b"\n"
        write_atomically(path, old + line_break + "".join(f"{p}\n" for p in missing).encode())


def _above_git_dir(folder: Path) -> Path:
    # git refuses to find a repository from inside of `.git`: it takes it for a planted bare one.
    inside = [parent for parent in (folder, *folder.parents) if parent.name == ".git"]
    return inside[-1].parent if inside else folder


def _check_version(git: Git) -> None:
    words = git.text("version")
    found = re.search(r"(\d+)\.(\d+)", words)
    if found is None or (int(found[1]), int(found[2])) < OLDEST_GIT:
        raise PersonFault(f"This is {words!r}.", hint="Install git 2.39 or newer.")


def _find(git: Git) -> tuple[Path, Path]:
    """Returns the main checkout and the folder git keeps the repository in."""
    try:
        answer = git.text(
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--is-inside-work-tree",
            "--absolute-git-dir",
            "--git-common-dir",
        )
    except GitFault as error:
        raise _unusable(git.folder, error) from error
    is_bare, is_inside, git_dir, common_dir = answer.split("\n")
    if is_bare == "true":
        raise _bare(Path(common_dir))
    if git_dir == common_dir and is_inside == "true":
        root = Path(git.text("rev-parse", "--path-format=absolute", "--show-toplevel"))
        return root.resolve(), Path(common_dir).resolve()
    return _main_checkout(git, Path(common_dir)), Path(common_dir).resolve()


def _main_checkout(git: Git, common_dir: Path) -> Path:
    """Returns the main checkout of a linked worktree, or of the folder `.git` itself."""
    fields = git.fields("worktree", "list", "--porcelain", "-z")
    first = fields[: fields.index("")]
    if "bare" in first:
        raise _bare(common_dir)
    root = Path(first[0].removeprefix("worktree ")).resolve()
    if not _belongs(Git(root, git.variables), common_dir):
        raise PersonFault(
            f"The main checkout of {str(common_dir)!r} is not where git says ({str(root)!r}).",
            hint="Start in the main checkout itself.",
        )
    return root


def _belongs(git: Git, common_dir: Path) -> bool:
    try:
        found = git.text("rev-parse", "--path-format=absolute", "--git-common-dir")
    except GitFault:
        return False
    return Path(found).resolve() == common_dir.resolve()


def _bare(folder: Path) -> PersonFault:
    return PersonFault(
        f"The repository {str(folder)!r} is bare: it has no main checkout to work beside.",
        hint=f"Clone it (git clone {folder}) and start in the clone.",
    )


def _unusable(folder: Path, error: GitFault) -> PersonFault:
    words = error.stderr
    if "dubious ownership" in words:
        where = re.search(r"dubious ownership in repository at '(.*)'", words)
        path = where[1] if where else str(folder)
        return PersonFault(
            f"git does not trust {path!r}: another user owns it.",
            hint=f"If you trust it: git config --global --add safe.directory {path}",
        )
    if "bare repository" in words:
        return _bare(folder)
    if "not a git repository" in words:
        return PersonFault(
            f"{str(folder)!r} is not a git repository.",
            hint='Make one there: git init && git add -A && git commit -m "first commit"',
        )
    return PersonFault(
        f"git can't read the repository at {str(folder)!r}: {words.strip()}",
        hint="Mend it until `git status` works there, then start again.",
    )


def _configured(git: Git) -> list[GitSetting]:
    """Returns what of git's configuration concerns us, what counts less first."""
    fields = git.run("config", "--show-scope", "-z", "--get-regexp", _KEYS, accept=(0, 1)).fields
    found = []
    for scope, line in zip(fields[0::2], fields[1::2], strict=True):
        key, has_value, value = line.partition("\n")
        # A key alone means true.
        found.append(GitSetting(scope, key, value if has_value else "true"))
    return found


def _identity(settings: Sequence[GitSetting], variables: Mapping[str, str]) -> Identity:
    """Returns the person's own identity, or a stated one when they have none."""
    values = {setting.key: setting.value for setting in settings}
    name = variables.get("GIT_AUTHOR_NAME") or values.get("user.name", "")
    email = variables.get("GIT_AUTHOR_EMAIL") or values.get("user.email", "")
    return Identity(name, email) if name and email else FALLBACK_IDENTITY


def _own_drivers(
    settings: Sequence[GitSetting],
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Returns the filter drivers the repository itself configures, and settings that stop them.

    A merge driver becomes one that always conflicts: a silent one would drop a side.
    """
    own = [s.key for s in settings if s.is_repositorys_own and s.key.startswith(_DRIVERS)]
    drivers = sorted({key.rpartition(".")[0] for key in own})
    filters = tuple(d.removeprefix("filter.") for d in drivers if d.startswith("filter."))
    merges = tuple(d for d in drivers if d.startswith("merge."))
    stops = [(f"filter.{name}.{option}", value) for name in filters for option, value in _NO_FILTER]
    stops += [(f"{driver}.driver", "false") for driver in merges]
    return filters, tuple(stops)


def _target(git: Git, root: Path, asked: str) -> str:
    head = git.run("symbolic-ref", "--quiet", "HEAD", accept=(0, 1)).text
    target = asked or head.removeprefix("refs/heads/")
    if not target:
        raise PersonFault(
            f"No branch is checked out in {str(root)!r} (detached HEAD).",
            hint=f"Say where work should land: --target {_some_branch(git)}",
        )
    if _has_branch(git, target):
        return target
    if not git.text("for-each-ref", "--count=1", "refs/heads/"):
        raise PersonFault(
            f"The repository {str(root)!r} has no commit yet.",
            hint=f'Make the first one: git -C {root} commit --allow-empty -m "first commit"',
        )
    close = difflib.get_close_matches(target, _branches(git), n=1)
    meant = f" Or did you mean {close[0]!r}?" if close else ""
    raise PersonFault(
        f"The branch {target!r} does not exist in {str(root)!r}.",
        hint=f"Make it first: git -C {root} branch {target}{meant}",
    )


def _has_branch(git: Git, name: str) -> bool:
    # A name git can't even parse, `a..b` say, is refused with 128 and names no branch either.
    command = ("show-ref", "--verify", "--quiet", f"refs/heads/{name}")
    return git.run(*command, accept=(0, 1, 128)).code == 0


def _branches(git: Git) -> list[str]:
    return git.text("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/").split("\n")


def _some_branch(git: Git) -> str:
    branches = _branches(git)
    return next((b for b in ("main", "master") if b in branches), branches[0] or "NAME")
