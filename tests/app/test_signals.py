"""A run that is asked to end does so in order, once."""

import asyncio
import os
import signal

import pytest

from modules.app.signals import Ending, run_until_asked
from modules.records.exits import Exit


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, Exit.INTERRUPTED),
        (signal.SIGTERM, Exit.TERMINATED),
        (signal.SIGHUP, Exit.TERMINATED),
    ],
)
def test_signal_ends_the_work_in_order_and_a_second_changes_nothing(
    number: signal.Signals, code: Exit
) -> None:
    ended: list[str] = []

    async def work(ending: Ending) -> str:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(0.05)
            ended.append("in order")
        return "not reached"

    assert run_until_asked(work) is code
    assert ended == ["in order"]


def test_work_that_ends_by_itself_gives_its_result() -> None:
    async def work(ending: Ending) -> str:
        return "done"

    assert run_until_asked(work) == "done"


def test_error_of_the_work_is_raised() -> None:
    async def work(ending: Ending) -> str:
        raise LookupError("lost")

    with pytest.raises(LookupError):
        run_until_asked(work)


def test_cancelled_work_that_nobody_asked_to_end_is_not_an_exit() -> None:
    async def work(ending: Ending) -> str:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_until_asked(work)


def test_interrupt_is_the_person_s_while_they_talk() -> None:
    keys: list[str] = []

    async def work(ending: Ending) -> str:
        ending.on_interrupt = lambda: keys.append("ctrl-c")
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
        while not keys:
            await asyncio.sleep(0)
        return "goes on"

    assert run_until_asked(work) == "goes on"


def test_reader_that_left_ends_the_work() -> None:
    async def work(ending: Ending) -> str:
        ending.ask(Exit.READER_LEFT)
        ending.ask(Exit.TERMINATED)
        await asyncio.Event().wait()
        return "not reached"

    assert run_until_asked(work) is Exit.READER_LEFT
