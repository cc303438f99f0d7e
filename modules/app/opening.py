"""Opens the repository a command is about, and its settings."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from modules.git.repository import Repository, exclude_own_folders, open_repository
from modules.git.state import restore_state
from modules.records.errors import PersonFault
from modules.records.settings import Environment, Settings
from modules.safety.trust import TrustStatus, TrustStore
from modules.store.config import read_environment, read_settings
from modules.store.paths import TEAM_FOLDER, Paths


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository with what a command needs of it."""

    repository: Repository
    environment: Environment
    clock: Callable[[], datetime]

    @property
    def paths(self) -> Paths:
        """Our own files in it."""
        return self.repository.paths


def now() -> datetime:
    """Returns the time, aware, in UTC."""
    return datetime.now(UTC)


def open_repository_at(folder: Path, *, target: str = "") -> Opened:
    """Returns the repository `folder` lies in; raises PersonFault for one that can't be used."""
    environment = read_environment(os.environ)
    repository = open_repository(folder, variables=environment.variables, target=target)
    exclude_own_folders(repository)
    restore_state(repository)
    return Opened(repository=repository, environment=environment, clock=now)


def refuse_tracked_state(opened: Opened) -> None:
    """Raises PersonFault where the repository itself brings a board: its tasks run commands."""
    tracked = opened.repository.git.text("ls-files", "--", TEAM_FOLDER)
    if tracked:
        raise PersonFault(
            f"The repository tracks files below {TEAM_FOLDER!r}, which is this program's own.",
            hint=f"Look at them, then run `git rm -r --cached {TEAM_FOLDER}` and commit.",
        )


def settings_for(opened: Opened, flags: Mapping[str, object]) -> tuple[Settings, TrustStatus]:
    """Returns the settings of a run, and whether the folder's own files were taken in."""
    status = TrustStore(opened.environment.user_folder).status(opened.paths.root)
    settings = read_settings(
        opened.environment,
        team_file=opened.paths.team_settings,
        is_trusted=status is TrustStatus.TRUSTED,
        flags=flags,
    )
    return settings, status
