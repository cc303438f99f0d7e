"""What the tools that run in an agent's own folder are given."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.safety.fence import Fence, FileStat
from modules.safety.path_names import (
    folded,
    is_secret_below_home,
    is_secret_name,
    is_system_secret,
)
from tools.background_commands import BackgroundCommands


class TodoItem(Record):
    """One line of an agent's own plan."""

    content: Annotated[str, msgspec.Meta(description="What is to be done.")]
    status: Literal["pending", "in_progress", "completed"]
    active_form: Annotated[
        str, msgspec.Meta(description="The same in progress form: `Writing the tests`.")
    ] = msgspec.field(name="activeForm", default="")


@dataclass(slots=True, kw_only=True)
class LaneContext:
    """One agent's folder, and what the agent's tools remember between calls."""

    root: Path
    """The agent's folder; relative paths start here."""
    environment: Mapping[str, str]
    """The complete environment of child processes."""
    temporary: Path
    """The agent's own folder for what need not last."""
    fence: Fence
    """The way to the files under `root`."""
    wrap: Callable[[list[str]], list[str]]
    """Puts a command into the OS sandbox; returns it as it is where the agent is inside already."""
    on_progress: Callable[[str], None] | None = None
    """Is told a command's output as it comes."""
    kept_in: Path | None = None
    """Where the whole of a long output is written; None: in the agent's temporary folder."""
    where: Callable[[Path], str] = str
    """Takes a file of those, and returns where the agent finds it."""
    background: BackgroundCommands = field(default_factory=BackgroundCommands)
    todos: tuple[TodoItem, ...] = ()
    read_files: dict[Path, FileStat] = field(default_factory=dict)
    """The files the agent has read or written, by real path, as they were then."""

    @property
    def outputs(self) -> Path:
        """Where the whole of a long output is kept."""
        return self.kept_in or self.temporary / "outputs"

    def afresh(self) -> "LaneContext":
        """Returns the same folder for another agent, which remembers nothing of this one's."""
        return replace(self, background=BackgroundCommands(), todos=(), read_files={})

    def check_root(self) -> None:
        """Raises ModelFault when the agent's folder is gone."""
        if not self.root.is_dir():
            raise ModelFault(
                f"Your folder {str(self.root)!r} is gone, so no tool can work in it. "
                "Say so and stop; it takes the lead to make it again."
            )

    def hides(self, path: Path) -> bool:
        """Whether a file found on the way, by its real path, is left out because of its name.

        The gate judges the path a call names; this is for what a search finds below it.
        """
        names = [folded(name) for name in path.parts[1:]]
        if any(is_secret_name(name) for name in names[-2:]):
            return True
        own = (self.fence.root, os.path.realpath(self.temporary))
        if any(path.is_relative_to(folder) for folder in own):
            return False
        below_some_home = (names[start:] for start in range(len(names)))
        return is_system_secret(names) or any(map(is_secret_below_home, below_some_home))

    def real_path(self, path: str) -> Path:
        """Returns where `path` leads, links resolved.

        Raises ModelFault for what can't be a path, for a path that goes up again from a link (the
        system and the fence would take it for different places), and when the agent's folder is
        gone.
        """
        self.check_root()
        full = str(self.root / path)
        try:
            real = os.path.realpath(full)
            plain = os.path.realpath(os.path.normpath(full))
        except ValueError as error:
            raise ModelFault(f"{path!r} can't be the name of a file: {error}.") from error
        if real != plain:
            raise ModelFault(f"{path!r} goes up from a link. Give the path without `..`.")
        return Path(real)
