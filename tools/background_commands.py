"""The commands one agent has in the background, from their start to their end.

1. At most MOST_RUNNING run at once, each as long as its life limit lasts.
2. Output is taken as it comes, whoever looks: what nobody has looked at yet is bounded in memory
   and in its file.
3. An end is told once: by a look that meets it, or by `endings`, whichever comes first.
4. Whoever ends the agent calls `stop_all`; no command outlives it.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from modules.records.errors import ModelFault
from tools.child import Child, Ended
from tools.command import CommandOutput, notes_on_end

MOST_RUNNING = 8
_SHOWN_CHARACTERS = 100  # of a command line
Until = Literal["output", "end"]


class BackgroundCommand:
    """One command that was started in the background."""

    def __init__(
        self,
        name: str,
        command: str,
        begin: Callable[[CommandOutput], Child],
        *,
        folder: Path,
        life_seconds: float,
    ) -> None:
        self.name = name
        self.command = command
        self._life_seconds = life_seconds
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self._has_new_output = asyncio.Event()
        self._output = CommandOutput(
            folder, f"background-{name}", on_progress=lambda text: self._has_new_output.set()
        )
        self._ended: Ended | None = None
        self.task = self._loop.create_task(self._run(begin(self._output)))
        """Done once the command and its children are gone."""
        self.is_told = False
        """True once the agent knows that it has ended."""

    @property
    def is_running(self) -> bool:
        """True until the command and its children are gone."""
        return not self.task.done()

    @property
    def is_well(self) -> bool:
        """True for a command that has ended by itself, with exit code 0."""
        return self._ended is not None and self._ended.exit_code == 0

    @property
    def line(self) -> str:
        """The command and how it stands, on one line."""
        unread = self._output.unread_characters
        new = f", {unread} characters of new output" if unread else ""
        return f"{self.name} {self._state()}{new}: {self._shown}"

    @property
    def _shown(self) -> str:
        shown = " ".join(self.command.split())
        if len(shown) > _SHOWN_CHARACTERS:
            shown = shown[: _SHOWN_CHARACTERS - 1] + "…"
        return shown

    def look(self) -> str:
        """Returns how the command stands and its output since the last look."""
        self.is_told = self.is_told or not self.is_running
        head = f"{self.name} {self._state()}: {self._shown}"
        output = self._output.read_so_far() if self.is_running else self._output.read()
        self._has_new_output.clear()
        return "\n".join([head, output or "(no new output)", *self._notes()])

    async def wait(self, until: Until, seconds: float) -> None:
        """Returns when the command has ended or, if that is enough, has new output."""
        output = asyncio.ensure_future(self._has_new_output.wait())
        awaited = {self.task, output} if until == "output" else {self.task}
        try:
            await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            output.cancel()

    async def stop(self) -> None:
        """Ends the command and its children and waits for them: TERM, and KILL a little later."""
        self.is_told = True
        if not self.task.cancelling():  # a second cancel would break into the end
            self.task.cancel()
        await asyncio.wait({self.task})

    def _state(self) -> str:
        if self.is_running:
            return f"has run for {self._loop.time() - self._started_at:.0f} s"
        if self._ended is None:
            return "was stopped"
        return f"ended with exit code {self._ended.exit_code}"

    def _notes(self) -> list[str]:
        ended = () if self._ended is None else notes_on_end(self._ended, self._life_seconds)
        return [f"[{note}]" for note in (*self._output.notes, *ended)]

    async def _run(self, child: Child) -> None:
        self._ended = await child.end_within(self._life_seconds)


class BackgroundCommands:
    """All background commands of one agent; `on_end` gets the line of one that ended by itself."""

    def __init__(self, on_end: Callable[[str], None] | None = None) -> None:
        self._on_end = on_end
        self._commands: dict[str, BackgroundCommand] = {}

    def start(
        self,
        command: str,
        begin: Callable[[CommandOutput], Child],
        *,
        folder: Path,
        life_seconds: float,
    ) -> BackgroundCommand:
        """Starts a command by `begin`; raises ModelFault where it can't be, or there is no room.

        Long output goes into files of `folder`.
        """
        if self.running >= MOST_RUNNING:
            names = ", ".join(one.name for one in self._all() if one.is_running)
            raise ModelFault(
                f"{self.running} commands run in the background, the most allowed: {names}. "
                "Stop one with check_background first."
            )
        started = BackgroundCommand(
            f"bg{len(self._commands) + 1}",
            command,
            begin,
            folder=folder,
            life_seconds=life_seconds,
        )
        self._commands[started.name] = started
        started.task.add_done_callback(lambda task: self._tell(started))
        return started

    def named(self, name: str) -> BackgroundCommand:
        """Returns one command; raises ModelFault when there is none of that name."""
        if name not in self._commands:
            raise ModelFault(
                f"You have no background command {name!r}; you have: "
                f"{', '.join(self._commands) or 'none'}. Those of an earlier start were ended."
            )
        return self._commands[name]

    def lines(self) -> list[str]:
        """Returns each command on a line."""
        for command in self._commands.values():
            command.is_told = command.is_told or not command.is_running
        return [command.line for command in self._commands.values()]

    @property
    def running(self) -> int:
        """How many run."""
        return sum(command.is_running for command in self._commands.values())

    @property
    def has_endings(self) -> bool:
        """True where a command has ended and the agent does not know it."""
        return any(not (command.is_running or command.is_told) for command in self._all())

    def endings(self) -> str:
        """Returns what the agent is to be told of commands that ended; each is told once."""
        ended = [one for one in self._all() if not (one.is_running or one.is_told)]
        for command in ended:
            command.is_told = True
        lines = [f"The background command {command.line}" for command in ended]
        return "\n".join([*lines, "check_background shows the output."]) if lines else ""

    async def stop_all(self) -> None:
        """Ends all commands and waits for them."""
        await asyncio.gather(*(command.stop() for command in self._all()))

    def _all(self) -> list[BackgroundCommand]:
        return list(self._commands.values())

    def _tell(self, command: BackgroundCommand) -> None:
        if self._on_end is not None and not command.is_told:
            self._on_end(command.line)
