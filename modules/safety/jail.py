"""What a jail holds: where a process inside may write, what it can't see, and its network."""

import os
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from modules.records.record import Record
from modules.records.settings import Network
from modules.store.paths import lane_objects, seen_packed_refs

BRANCH_LOGS = "logs/refs/heads"
"""Where git keeps the logs of branches; unlike the folders in it, git never removes it."""


class SandboxKind(StrEnum):
    """What keeps a process in."""

    BWRAP = "bwrap"
    LANDLOCK = "landlock"
    SEATBELT = "seatbelt"
    """macOS' own."""
    OFF = "off"
    """Nothing, because the person said so."""
    UNAVAILABLE = "unavailable"
    """Nothing, because the machine can't; no process is started."""


class GitGround(Record):
    """The parts of a repository a linked worktree needs in order to commit."""

    common_dir: Path
    """The repository's own git folder, `<main>/.git` as a rule."""
    admin_dir: Path
    """The worktree's folder in it, `<common_dir>/worktrees/<name>`."""
    branch_ref: str
    """The worktree's branch, `refs/heads/wt/<lane>`; refs beside it can be moved, others not."""

    @property
    def branch_folder(self) -> str:
        """The folder of refs that can be moved; git makes its lock files in it."""
        folder = self.branch_ref.rpartition("/")[0]
        if not folder.startswith("refs/heads/"):
            raise ValueError(f"The branch {self.branch_ref!r} has no folder of its own.")
        return folder

    @property
    def own_objects(self) -> Path:
        """The folder of objects that git in the worktree makes, where a jail can lay it."""
        return lane_objects(self.common_dir) / self.admin_dir.name

    @property
    def seen_packed_refs(self) -> Path:
        """The file such a jail sees as the repository's packed refs."""
        return seen_packed_refs(self.common_dir)

    @property
    def seen_objects(self) -> Path:
        """Where, in such a jail alone, the repository's own objects are seen."""
        return self.common_dir / "repository-objects"


class JailSpec(Record):
    """One jail: everything is readable but what is hidden, nothing writable but what is named."""

    folder: Path
    """The working folder; writable."""
    temporary: Path
    """The jail's own folder for temporary files; writable, and `/tmp` itself under bubblewrap."""
    writable: tuple[Path, ...] = ()
    git: GitGround | None = None
    hidden: tuple[Path, ...] = ()
    """Files and folders with secrets; those that don't exist are passed over.

    Hide no file that git tracks: git would take it for changed.
    """
    readable: tuple[Path, ...] = ()
    """Folders to be seen even where they lie in `/tmp` or below something hidden."""
    shown: tuple[tuple[Path, Path], ...] = ()
    """Folders that are seen, read-only, in another place: (what, where); bubblewrap alone does it.

    The place is a folder in one of the writable ones.
    """
    network: Network = "off"
    """`proxy` is the way through `egress` alone; Landlock has no such way, so there it is off."""
    egress: Path | None = None
    """The socket file of the proxy."""
    processes: int = 4096
    """How many processes and threads, all of the jail counted."""
    file_bytes: int = 10 * 1024**3
    """How large one file may become."""
    open_files: int = 65_536
    """How many files one process may hold open."""
    memory_bytes: int = 0
    """How much memory of its own one process may hold, and each folder in memory; 0: any amount."""

    def resolved(self) -> "JailSpec":
        """Returns the same jail with all links in its paths followed."""
        git = self.git and GitGround(
            common_dir=self.git.common_dir.resolve(),
            admin_dir=self.git.admin_dir.resolve(),
            branch_ref=self.git.branch_ref,
        )
        return replace(
            self,
            folder=self.folder.resolve(),
            temporary=self.temporary.resolve(),
            writable=tuple(path.resolve() for path in self.writable),
            git=git,
            # What this user can't even reach needs no hiding.
            hidden=tuple(path.resolve() for path in self.hidden if os.access(path, os.F_OK)),
            readable=tuple(path.resolve() for path in self.readable),
            shown=tuple((what.resolve(), where.resolve()) for what, where in self.shown),
            egress=self.egress and self.egress.resolve(),
        )


def private_home(temporary: Path) -> Path:
    """Returns the home folder of processes that have `temporary` for their own."""
    return temporary / "home"


def private_programs(temporary: Path) -> Path:
    """Returns the folder whose programs come before all others on their PATH."""
    return temporary / "bin"
