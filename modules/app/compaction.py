"""What a compaction asks of an agent's surroundings: hooks, files, how the crew stands, who hears.

Outputs that give way are kept where their agent can read them, in a folder of the agent's own.
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from modules.app.beside import write_beside
from modules.app.house import House
from modules.records.errors import ModelFault
from modules.records.events import ConversationCompacted
from modules.records.session_records import Compacted, CompactionTrigger
from modules.safety.hook_matching import HookEvent
from modules.safety.hooks import Caller

STANDING_TOOLS = frozenset({"todo"})
"""Tools whose newest result is how things stand."""
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class AgentCompaction:
    """The surroundings of one agent; see modules.agent.compactor.CompactionNeeds."""

    standing = STANDING_TOOLS

    def __init__(
        self,
        house: House,
        *,
        agent: str,
        task: int | None,
        outputs: Path,
        caller: Callable[[], Caller],
        facts: Callable[[], str],
    ) -> None:
        self._house = house
        self._agent = agent
        self._task = task
        self._outputs = outputs
        """Where the agent can read what it once had in its conversation."""
        self._caller = caller
        self._facts = facts

    async def objection(self, trigger: CompactionTrigger, focus: str) -> tuple[str, str]:
        """Returns why PreCompact hooks say no, and what they want to be kept."""
        outcome = await self._house.run_hooks.ask(
            HookEvent.PRE_COMPACT,
            {
                "trigger": "manual" if trigger == "manual" else "auto",
                "custom_instructions": focus,
            },
            self._caller(),
        )
        if outcome.behavior == "deny":
            return f"a PreCompact hook objects: {outcome.why or 'it says no'}", ""
        return "", outcome.context

    def lay_by(self, name: str, text: str) -> str:
        """Keeps a text in a file of the agent's and says where."""
        data = text.encode(errors="replace")
        stem = _UNSAFE_IN_NAME.sub("_", name)[:60]
        file_name = f"{stem}-{hashlib.sha256(data).hexdigest()[:8]}.txt"
        try:
            path = write_beside(self._outputs, file_name, data)
        except ModelFault as error:
            return f"it could not be kept in a file: {error}"
        return f"the whole text is in {path}"

    def facts(self) -> str:
        """Returns how the crew stands now."""
        return self._facts()

    def told(self, compacted: Compacted) -> None:
        """Tells whoever watches the run."""
        self._house.events.emit(
            ConversationCompacted(
                at=compacted.at,
                agent=self._agent,
                task=self._task,
                trigger=compacted.trigger,
                step=compacted.step,
                tokens_before=compacted.tokens_before,
                tokens_after=compacted.tokens_after,
            )
        )

    def warn(self, text: str) -> None:
        """Tells the person."""
        self._house.events.notice(f"{self._agent}: {text}")
