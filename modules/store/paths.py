"""Where things lie in a repository; the only file that spells these names."""

from dataclasses import dataclass
from pathlib import Path

TEAM_FOLDER = ".team"
LANES_FOLDER = ".worktrees"
UNFINISHED_PREFIX = ".crewyard-"
"""How the name of a file begins that is being written beside the one it will replace."""
UNFINISHED_DIGITS = 16
EXCLUDED = (
    f"/{TEAM_FOLDER}/",
    f"/{LANES_FOLDER}/",
    UNFINISHED_PREFIX + "[0-9a-f]" * UNFINISHED_DIGITS,
)
"""Patterns for the repository's `info/exclude`."""


def lane_objects(common_dir: Path) -> Path:
    """Returns where, in the repository's git folder, jailed lanes have the objects they make."""
    return common_dir / "crewyard-objects"


def seen_packed_refs(common_dir: Path) -> Path:
    """Returns the file that jails see in the place of the repository's packed refs."""
    return common_dir / "crewyard-packed-refs"


@dataclass(frozen=True, slots=True)
class Paths:
    """The files and folders of one repository; `root` is the main checkout."""

    root: Path

    @property
    def team(self) -> Path:
        return self.root / TEAM_FOLDER

    @property
    def board(self) -> Path:
        return self.team / "board.jsonl"

    @property
    def results(self) -> Path:
        return self.team / "results"

    @property
    def mail(self) -> Path:
        return self.team / "mail.jsonl"

    @property
    def queue(self) -> Path:
        return self.team / "queue.jsonl"

    @property
    def audit(self) -> Path:
        return self.team / "audit.jsonl"

    @property
    def sessions(self) -> Path:
        return self.team / "sessions"

    @property
    def outputs(self) -> Path:
        return self.team / "outputs"

    @property
    def checks(self) -> Path:
        return self.team / "checks"

    @property
    def crew(self) -> Path:
        """What the lead last knew of its workers, for another shell to read."""
        return self.team / "crew.json"

    @property
    def temporary(self) -> Path:
        """Parent of the workers' own temporary folders."""
        return self.team / "tmp"

    @property
    def lead_lock(self) -> Path:
        return self.team / "lead.lock"

    @property
    def queue_lock(self) -> Path:
        return self.team / "queue.lock"

    @property
    def lanes_lock(self) -> Path:
        return self.team / "lanes.lock"

    @property
    def lanes(self) -> Path:
        return self.root / LANES_FOLDER

    @property
    def team_settings(self) -> Path:
        return self.root / "team.toml"

    @property
    def mcp_settings(self) -> Path:
        return self.root / ".mcp.json"

    @property
    def hook_settings(self) -> Path:
        return self.root / ".hooks.json"

    def result(self, task: int, attempt: int) -> Path:
        """Returns where the result of one attempt is kept."""
        return self.results / f"{task}-{attempt}.md"
