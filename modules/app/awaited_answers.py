"""Answers that agents wait for, one a name, for a limited time."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from modules.app.wait_notes import WaitNotes
from modules.records.errors import ModelFault

AnswerT = TypeVar("AnswerT")


class AwaitedAnswers(Generic[AnswerT]):
    """The agents that wait, and the way to answer them."""

    def __init__(self, waits: WaitNotes, what: str) -> None:
        self._waits = waits
        self._what = what
        """What those who wait are shown to wait for."""
        self._waiting: dict[str, asyncio.Future[AnswerT]] = {}

    async def wait(
        self, name: str, *, agent: str, ask: Callable[[], object], timeout_seconds: float
    ) -> AnswerT | None:
        """Asks for `agent` and returns the answer, None when the time is up.

        Raises ModelFault when `name` waits already.
        """
        if name in self._waiting:
            raise ModelFault("A question of yours waits for its answer already.")
        answer: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._waiting[name] = answer
        try:
            ask()
            with self._waits.waiting(agent, self._what, at_most_seconds=timeout_seconds):
                return await asyncio.wait_for(answer, timeout_seconds)
        except TimeoutError:
            return None
        finally:
            del self._waiting[name]

    def give(self, name: str, answer: AnswerT) -> bool:
        """Answers `name`; returns whether it waited for an answer."""
        waiting = self._waiting.get(name)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True
