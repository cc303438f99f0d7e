"""Asks again what failed for a time, with a budget.

1. Only a TransientFault is tried again; a stream that broke off is one. Anything else passes.
2. A wait the server asked for is kept to the second, never cut short. One longer than five minutes
   is not sat out: the person is told until when.
3. Without such a wait the pauses double from a quarter of a second, with jitter, up to half a
   minute.
4. Eight tries end it, counting those without a wait the server asked for; so do thirty minutes of
   waits it did ask for. The count is per request: an answer starts it afresh.
5. Every pause is announced. Words of a broken answer are not part of any reply, and the
   announcement says that the answer starts again.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from modules.providers.provider import Provider
from modules.records.errors import QuotaFault, TransientFault
from modules.records.messages import ModelReply, ModelRequest

_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 30.0
_LONGEST_WAIT_SECONDS = 300.0
_WAITS_BUDGET_SECONDS = 1800.0
_JITTER_SECONDS = 0.1  # spread of agents that were told to come back at the same moment


class Retrying:
    """A provider that asks another one until it answers or the budget is spent.

    `random` gives numbers from 0 to 1; `notice` gets one line for a person.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
        clock: Callable[[], datetime],
        notice: Callable[[str], None],
    ) -> None:
        self._provider = provider
        self._sleep = sleep
        self._random = random
        self._clock = clock
        self._notice = notice

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        """Returns the first whole answer; raises TransientFault when the budget is spent."""
        failures, waited_seconds = 0, 0.0
        while True:
            heard = _Heard(on_text)
            try:
                return await self._provider.complete(request, on_text=heard)
            except TransientFault as fault:
                wait = fault.retry_after_seconds
                if wait is not None and wait >= _FIRST_PAUSE_SECONDS:
                    self._refuse_long(fault, wait)
                    waited_seconds += wait
                    pause = wait + _JITTER_SECONDS * self._random()
                else:
                    failures += 1
                    pause = max(wait or 0.0, self._pause(failures))
                if failures >= _TRIES or waited_seconds > _WAITS_BUDGET_SECONDS:
                    raise TransientFault(f"{fault} No try helped; given up.") from fault
                self._announce(request, fault, pause, is_begun=heard.anything)
                await self._sleep(pause)

    def _pause(self, failures: int) -> float:
        doubled: float = _FIRST_PAUSE_SECONDS * 2 ** (failures - 1)
        return min(doubled, _LONGEST_PAUSE_SECONDS) * (0.75 + 0.5 * self._random())

    def _refuse_long(self, fault: TransientFault, wait: float) -> None:
        if wait <= _LONGEST_WAIT_SECONDS:
            return
        # A server may name a time no calendar holds.
        until = self._clock() + timedelta(seconds=min(wait, 10 * 365 * 86_400))
        raise QuotaFault(
            f"{fault} The server asks to wait until {until.isoformat(timespec='seconds')}.",
            hint="Start again after that, or use another model (--model).",
            until=until,
        ) from fault

    def _announce(
        self, request: ModelRequest, fault: TransientFault, pause: float, *, is_begun: bool
    ) -> None:
        again = "its answer starts again" if is_begun else "it is asked again"
        self._notice(f"The model of {request.agent}: {fault} In {pause:.1f} s {again}.")


class _Heard:
    """Passes words on and remembers that there were some."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self.anything = False

    def __call__(self, words: str) -> None:
        self.anything = True
        self._on_text(words)
