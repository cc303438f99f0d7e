"""Where it is noted what agents wait for, for whoever shows the crew."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta

from modules.team.addresses import worker_of

Note = Callable[[str, str, datetime | None], AbstractContextManager[None]]
"""Takes the agent, what it waits for, and until when at the latest."""


class WaitNotes:
    """Hands every wait to the crew, which is joined after what waits for it."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._note: Note = lambda agent, what, until: nullcontext()

    def join(self, note: Note) -> None:
        """Says who shows the waits."""
        self._note = note

    def waiting(
        self, agent: str, what: str, *, at_most_seconds: float
    ) -> AbstractContextManager[None]:
        """Shows an agent as waiting as long as the context lasts, by a sub-agent its worker."""
        return self._note(
            worker_of(agent), what, self._clock() + timedelta(seconds=at_most_seconds)
        )
