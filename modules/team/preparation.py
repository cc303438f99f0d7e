"""Makes worktrees ready to run code in: files copied, caches linked, set up, ports of their own."""

import os
import shutil
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from modules.git.repository import Repository
from modules.records.settings import LaneSettings
from modules.team.check import Wrap, run_check
from modules.team.editable_installs import EditableInstall, python_path
from modules.team.file_search import FileSearch, TooMuchToSee
from modules.team.preparation_rules import (
    LOCK_FILES,
    TOO_MUCH_TO_SEE,
    CopyPlan,
    Found,
    first_block,
    plan_copy,
    setup_key,
    some,
)
from modules.team.threads import to_its_end

PORT_VARIABLE = "CREWYARD_PORT"
_LOOPBACK = "127.0.0.1"


class Preparation:
    """Prepares the worktrees of one repository; the workers' and those checks run in."""

    def __init__(
        self,
        repository: Repository,
        settings: LaneSettings,
        *,
        timeout_seconds: float = 600.0,
        wrap: Wrap = lambda argv, folder, scratch: argv,
        installs: Sequence[EditableInstall] = (),
        has_read_only_places: bool = False,
    ) -> None:
        self._repository = repository
        self._settings = settings
        self._timeout_seconds = timeout_seconds
        self._wrap = wrap
        self._installs = installs
        self._has_read_only_places = has_read_only_places
        """True where the jails of checks can keep what was set up from being written."""
        self._ports: dict[str, int] = {}
        self._set_up: dict[Path, tuple[str, list[int]]] = {}
        """What worktrees were set up for by this process, and the inodes of what they keep."""

    @property
    def keeps(self) -> tuple[str, ...]:
        """What setting up makes and a worktree that is used again may keep.

        Nothing where a run could have written to it.
        """
        is_safe = bool(self._settings.setup) and self._has_read_only_places
        return self._settings.setup_makes if is_safe else ()

    def variables(self, folder: Path) -> dict[str, str]:
        """Returns what is added to the environment of processes in a worktree."""
        port = self._port(folder.name)
        ports = {} if port is None else {PORT_VARIABLE: str(port)}
        return {**ports, **python_path(self._installs, folder)}

    def give_back(self, folder: Path) -> None:
        """Takes in that nothing runs in a worktree any more."""
        self._ports.pop(folder.name, None)

    def copy_plan(self) -> CopyPlan:
        """Returns which files of the main checkout are copied; blocks."""
        root = self._repository.root
        try:
            named = FileSearch(root).find(self._settings.copy)
        except TooMuchToSee:
            return CopyPlan(refused=(TOO_MUCH_TO_SEE,))
        if not named:
            return CopyPlan()
        ignored = self._ignored(named)
        return plan_copy(_facts(root, name, is_ignored=name in ignored) for name in named)

    def problems(self) -> list[str]:
        """Returns what of the settings does nothing, and what is doubtful, a line each; blocks."""
        refused = self.copy_plan().refused
        copied = [f"[lane] copy: not copied: {some(refused)}."] if refused else []
        return [*copied, *self._link_problems(), *map(_install_problem, self._installs)]

    def _link_problems(self) -> list[str]:
        if self._settings.link and not self._has_read_only_places:
            return ["[lane] link needs bubblewrap: without it nothing is linked into worktrees."]
        problems = []
        ignored = self._ignored(f"{name}/" for name in self._settings.link)
        for name in self._settings.link:
            if not (self._repository.root / name).is_dir():
                problems.append(f"[lane] link: there is no folder {name!r} in your checkout.")
            elif f"{name}/" not in ignored:
                problems.append(
                    f"[lane] link: git does not ignore {name!r}, so it would become part of the "
                    f"work: add `{name}/` to .gitignore."
                )
        return problems

    def furnish(self, folder: Path) -> None:
        """Copies files into a worktree nobody is at work in, and makes room for links; blocks."""
        for name in self.copy_plan().paths:
            target = folder / name
            if _makes_way(folder, target) and not os.path.lexists(target):
                shutil.copyfile(self._repository.root / name, target)
                shutil.copymode(self._repository.root / name, target)
        for source, target in self._linkable(folder):
            if _is_real_folder(source) and _makes_way(folder, target):
                target.mkdir(exist_ok=True)

    def links(self, folder: Path) -> tuple[tuple[Path, Path], ...]:
        """Returns what is shown read-only inside of a worktree, as (what, where)."""
        return tuple(pair for pair in self._linkable(folder) if all(map(_is_real_folder, pair)))

    def kept(self, folder: Path) -> tuple[tuple[Path, Path], ...]:
        """Returns what was set up in a worktree, to be shown read-only in its own place."""
        places = [folder / name for name in self.keeps]
        return tuple((place, place) for place in places if _is_real_folder(place))

    def forget(self, folder: Path) -> None:
        """Takes in that what was set up in a worktree is not as it was left."""
        self._set_up.pop(folder, None)

    def is_due(self, folder: Path) -> bool:
        """Returns whether a worktree has to be set up before code in it can run; blocks."""
        if not self._settings.setup:
            return False
        has_all = bool(self.keeps) and all(_is_real_folder(folder / name) for name in self.keeps)
        return not has_all or self._set_up.get(folder) != (self.key(folder), self._inodes(folder))

    def _inodes(self, folder: Path) -> list[int]:
        # A run can't write to what is kept, but may move a folder above it away and make another.
        return [(folder / name).lstat().st_ino for name in self.keeps]

    def key(self, folder: Path) -> str:
        """Returns what the files of a worktree would have set up; blocks."""
        patterns = self._settings.setup_key or LOCK_FILES
        # Without an end: what pins an installation and is not seen would not be installed anew.
        found = FileSearch(folder, most_seen=None).find(patterns)
        files = {
            name: path.read_bytes()
            for name in found
            if (path := folder / name).is_file() and path.resolve().is_relative_to(folder.resolve())
        }
        return setup_key(self._settings.setup, files)

    async def set_up(
        self,
        folder: Path,
        *,
        environment: Mapping[str, str],
        scratch: Path,
        log: Path,
        is_lasting: bool = False,
    ) -> str:
        """Runs the command that sets a worktree up; returns why that failed, empty when not.

        `is_lasting` where what it makes may serve other commits: it runs the worktree's own code.
        """
        command = self._settings.setup
        self.forget(folder)
        if not command:
            return ""
        run = await run_check(
            command,
            folder=folder,
            timeout_seconds=self._timeout_seconds,
            environment={**environment, **self.variables(folder)},
            log_path=log,
            scratch=scratch,
            wrap=self._wrap,
        )
        if run.exit_code == 0:
            if is_lasting:
                await to_its_end(lambda: self._note(folder))
            return ""
        how = f"exit code {run.exit_code}" if run.exit_code is not None else "it did not end"
        return f"The setup command {command!r} failed ({run.why or how})."

    def _linkable(self, folder: Path) -> list[tuple[Path, Path]]:
        names = self._settings.link if self._has_read_only_places else ()
        root = self._repository.root
        # What git does not ignore in the checkout it would take for new work in the worktree.
        ignored = self._ignored(f"{name}/" for name in names)
        return [(root / name, folder / name) for name in names if f"{name}/" in ignored]

    def _note(self, folder: Path) -> None:
        if all(_is_real_folder(folder / name) for name in self.keeps):
            self._set_up[folder] = (self.key(folder), self._inodes(folder))

    def _port(self, name: str) -> int | None:
        if name not in self._ports:
            taken = self._ports.values()
            block = first_block(str(self._repository.root), taken, _are_free)
            if block is None:
                return None
            self._ports[name] = block
        return self._ports[name]

    def _ignored(self, names: Iterable[str]) -> set[str]:
        """Returns those of `names` that git ignores and does not track; folders end with `/`."""
        given = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
        if not given:
            return set()
        # This command knows no literal paths; behind `./` nothing in a name means anything.
        found = self._repository.git.run(
            *("check-ignore", "-z", "--stdin"),
            input=given,
            env={"GIT_LITERAL_PATHSPECS": "0"},
            accept=(0, 1),
        )
        return {field.removeprefix("./") for field in found.fields}


def _install_problem(install: EditableInstall) -> str:
    folders = ", ".join(repr(str(folder)) for folder in install.folders)
    return (
        f"The Python environment {str(install.environment)!r} imports the code of your checkout "
        f"({folders}). In worktrees PYTHONPATH puts their own first; safer is an environment for "
        "each: [lane] setup."
    )


def _facts(root: Path, name: str, *, is_ignored: bool) -> Found:
    path = root / name
    is_plain = path.is_file() and path.resolve() == root.resolve() / name
    return Found(name, path.lstat().st_size, is_plain=is_plain, is_ignored=is_ignored)


def _makes_way(folder: Path, target: Path) -> bool:
    """Makes the folders above `target`; False where something in the way leads elsewhere."""
    inside = folder.resolve()
    for parent in reversed(target.parents):
        if parent == folder or folder not in parent.parents:
            continue
        if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
            return False
        parent.mkdir(exist_ok=True)
    return target.parent.resolve().is_relative_to(inside) and not target.is_symlink()


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and path.resolve() == path.parent.resolve() / path.name


def _are_free(ports: Sequence[int]) -> bool:
    """True when nobody listens on these ports."""
    for port in ports:
        with socket.socket() as probe:
            # A port that was just left counts as free, as it does for servers.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                return False
    return True
