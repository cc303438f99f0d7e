"""One agent's conversation, kept in its journal; the journal is the truth, the list its fold.

The fold keeps calls and outputs in pairs, also where a line in between can't be read. A compaction
is a record too: what the conversation is from there on. What was before stays in the journal.

What is kept is in the file at once, in the order it came, and survives this process. A thread waits
for the disk; `keep` returns once it has been waited for, so a message that was acted on survives a
power cut too. Cancelling whoever waits takes nothing back.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from modules.context.compaction import memory_message
from modules.context.pairing import paired
from modules.context.token_count import history_tokens
from modules.records.messages import Message, ToolSpec, Usage
from modules.records.session_records import (
    AnySessionRecord,
    Compacted,
    Memory,
    MessageKept,
    PromptSet,
    RequestPaid,
    SessionOpened,
)
from modules.store.journal import Journal
from modules.store.shared_sync import SharedSync


class Session:
    """A conversation that survives its process."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._messages: list[Message] = []
        self._prompt: PromptSet | None = None
        self._is_open = False
        self._memory: Memory | None = None
        self._facts = ""
        self._told_tokens = 0
        """Of the last request and its answer, by the provider's count; 0: none is known."""
        self._added_tokens = 0
        """An estimate of the messages that count does not hold."""
        self._journal: Journal[AnySessionRecord] = Journal(
            path, AnySessionRecord, apply=self._apply
        )
        self._journal.catch_up()
        self._disk = SharedSync(self._journal.sync)

    @property
    def session_id(self) -> str:
        """The journal's name."""
        return self._journal.path.stem

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, oldest first."""
        return tuple(self._messages)

    @property
    def memory(self) -> Memory | None:
        """What the first message tells in place of earlier ones; None: it is the first itself."""
        return self._memory

    @property
    def facts(self) -> str:
        """What the first message tells of the crew, where it is a memory."""
        return self._facts

    def tokens(self, head: Callable[[], int]) -> int:
        """Returns how many tokens a request takes now; `head` counts what precedes messages."""
        return (self._told_tokens or head()) + self._added_tokens

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

    async def keep(self, message: Message) -> None:
        """Adds a message, on disk when this returns; open calls are answered first."""
        self._add(message)
        await self._disk.synced()

    async def keep_answer(self, message: Message, usage: Usage, cost_usd: float | None) -> None:
        """Adds a model's answer and notes what it took, on disk when this returns."""
        self._add(message)
        self.pay(usage, cost_usd)
        await self._disk.synced()

    def _add(self, message: Message) -> None:
        self._journal.append(
            lambda: [
                MessageKept(at=self._clock(), message=added)
                for added in paired(self._messages, message)
            ],
            sync=False,
        )

    def pay(self, usage: Usage, cost_usd: float | None, *, is_summary: bool = False) -> None:
        """Notes what an answer took; a summary is no part of the conversation."""
        self.record(
            RequestPaid(at=self._clock(), usage=usage, cost_usd=cost_usd, is_summary=is_summary)
        )

    async def compact(self, compacted: Compacted) -> None:
        """Replaces the conversation by what is left of it, on disk when this returns."""
        self.record(compacted)
        await self._disk.synced()

    def record(self, record: AnySessionRecord) -> None:
        """Appends one record that is no message; not synced, since the next message syncs it."""
        self._journal.append(lambda: [record], sync=False)

    def close(self) -> None:
        """Closes the journal."""
        self._disk.close()
        self._journal.close()

    def _apply(self, record: AnySessionRecord) -> None:
        match record:
            case SessionOpened():
                self._is_open = True
            case PromptSet():
                self._prompt = record
            case MessageKept(message=message):
                added = paired(self._messages, message)
                self._messages.extend(added)
                self._added_tokens += history_tokens(added)
            case RequestPaid(usage=usage, is_summary=False) if usage.input_tokens:
                self._told_tokens = usage.input_tokens + usage.output_tokens
                self._added_tokens = 0
            case Compacted(memory=memory, facts=facts, messages=messages):
                begin = [] if memory is None else [memory_message(memory, facts)]
                self._messages = [*begin, *messages]
                self._memory, self._facts = memory, facts
                self._told_tokens, self._added_tokens = 0, history_tokens(self._messages)
            case _:
                pass
