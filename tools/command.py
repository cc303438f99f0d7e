"""What a model is shown of a command: its output in plain text, bounded, and notes on its end."""

import signal
from collections.abc import Callable
from pathlib import Path

from modules.context.plain_text import PlainText
from modules.context.spill import BoundedText
from tools.child import Ended

OUTPUT_LIMIT = 30_000  # characters
SILENCE = "(no output)"


class CommandOutput:
    """A command's output, both streams as one, on its way to the model."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        where: Callable[[Path], str] = str,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self._plain = PlainText()
        self._folder = folder
        self._name = name
        self._where = where
        self._on_progress = on_progress
        self._unread = self._nothing()
        self.unread_characters = 0

    def take(self, data: bytes) -> None:
        """Takes the next bytes."""
        self._add(self._plain.feed(data))

    def read(self) -> str:
        """Returns what came since the last look, bounded; the whole of a long text is in a file."""
        self._add(self._plain.finish())
        return self._read()

    def read_so_far(self) -> str:
        """The same of a command that may say more."""
        self._add(self._plain.so_far())
        return self._read()

    def _read(self) -> str:
        text, self._unread = self._unread.finish(self._where).rstrip(), self._nothing()
        self.unread_characters = 0
        return text

    @property
    def notes(self) -> list[str]:
        """What was done to the text to make it plain."""
        notes = []
        if self._plain.invalid_bytes:
            notes.append(
                f"the output was not valid UTF-8; bytes shown as �: {self._plain.invalid_bytes}"
            )
        if self._plain.overwritten:
            notes.append(
                f"left out, as a carriage return took it back: {self._plain.overwritten} times text"
            )
        return notes

    def _nothing(self) -> BoundedText:
        return BoundedText(limit=OUTPUT_LIMIT, spill_folder=self._folder, name=self._name)

    def _add(self, text: str) -> None:
        if text:
            self._unread.add(text)
            self.unread_characters += len(text)
            if self._on_progress is not None:
                self._on_progress(text)


def notes_on_end(ended: Ended, limit_seconds: float) -> list[str]:
    """Returns what is worth telling of how a command ended, the exit code last."""
    if ended.timed_out:
        return [f"timed out after {limit_seconds:g} s; the command and its children were ended"]
    notes = []
    if ended.left_behind:
        notes.append(
            f"processes still running when the command was over, now ended: {ended.left_behind}"
        )
    if ended.exit_code < 0:
        notes.append(f"ended by signal {signal.Signals(-ended.exit_code).name}")
    elif ended.exit_code > 0:
        notes.append(f"exit code {ended.exit_code}")
    return notes
