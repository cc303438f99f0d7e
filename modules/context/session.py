"""One agent's conversation, kept in its journal; the journal is the truth, the list its fold.

The fold keeps calls and outputs in pairs, also where a line in between can't be read.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from modules.context.pairing import paired
from modules.records.messages import Message, ToolSpec, Usage
from modules.records.session_records import (
    AnySessionRecord,
    MessageKept,
    PromptSet,
    RequestPaid,
    SessionOpened,
)
from modules.store.journal import Journal


class Session:
    """A conversation that survives its process."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._messages: list[Message] = []
        self._prompt: PromptSet | None = None
        self._is_open = False
        self._journal: Journal[AnySessionRecord] = Journal(
            path, AnySessionRecord, apply=self._apply
        )
        self._journal.catch_up()

    @property
    def session_id(self) -> str:
        """The journal's name."""
        return self._journal.path.stem

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, oldest first."""
        return tuple(self._messages)

    @property
    def skipped_lines(self) -> int:
        """Lines of the journal that could not be read."""
        return self._journal.skipped_lines

    def open(
        self, *, agent: str, role: str = "", task: int | None = None, attempt: int = 0
    ) -> None:
        """Begins the conversation; does nothing when it goes on."""
        if not self._is_open:
            self.record(
                SessionOpened(at=self._clock(), agent=agent, role=role, task=task, attempt=attempt)
            )

    def set_prompt(self, *, model: str, system: str, tools: tuple[ToolSpec, ...]) -> None:
        """Notes the head of the requests to come, when it differs from the last."""
        new = PromptSet(at=self._clock(), model=model, system=system, tools=tools)
        old = self._prompt
        if old is None or (old.model, old.system, old.tools) != (model, system, tools):
            self.record(new)

    def keep(self, message: Message) -> None:
        """Adds a message, on disk when this returns; open calls are answered first."""
        self._journal.append(
            lambda: [
                MessageKept(at=self._clock(), message=added)
                for added in paired(self._messages, message)
            ]
        )

    def pay(self, usage: Usage, cost_usd: float | None) -> None:
        """Notes what an answer took."""
        self.record(RequestPaid(at=self._clock(), usage=usage, cost_usd=cost_usd))

    def record(self, record: AnySessionRecord) -> None:
        """Appends one record that is no message; not synced, since the next message syncs it."""
        self._journal.append(lambda: [record], sync=False)

    def close(self) -> None:
        """Closes the journal."""
        self._journal.close()

    def _apply(self, record: AnySessionRecord) -> None:
        match record:
            case SessionOpened():
                self._is_open = True
            case PromptSet():
                self._prompt = record
            case MessageKept(message=message):
                self._messages.extend(paired(self._messages, message))
            case _:
                pass
