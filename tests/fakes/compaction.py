"""The surroundings of a compaction, kept in memory."""

from modules.records.session_records import Compacted, CompactionTrigger


class FakeNeeds:
    """Lets everything be compacted, unless the test objects, and keeps what it was told."""

    standing = frozenset({"todo"})

    def __init__(self, *, facts: str = "") -> None:
        self.no = ""
        self.wanted = ""
        self.asked: list[tuple[CompactionTrigger, str]] = []
        self.files: dict[str, str] = {}
        self.compactions: list[Compacted] = []
        self.warnings: list[str] = []
        self._facts = facts

    async def objection(self, trigger: CompactionTrigger, focus: str) -> tuple[str, str]:
        """Says what the test set."""
        self.asked.append((trigger, focus))
        return self.no, self.wanted

    def lay_by(self, name: str, text: str) -> str:
        """Keeps the text."""
        self.files[f"{name}-{len(self.files)}"] = text
        return f"the whole text is in /f/{name}"

    def facts(self) -> str:
        """Returns what the test set."""
        return self._facts

    def told(self, compacted: Compacted) -> None:
        """Keeps it."""
        self.compactions.append(compacted)

    def warn(self, text: str) -> None:
        """Keeps it."""
        self.warnings.append(text)
