"""The disk is waited for in a thread, once for all who ask, and a failure reaches somebody."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable

import pytest

from modules.records.errors import PersonFault
from modules.store.shared_sync import SharedSync

FULL = PersonFault("The disk is full.", hint="Make room.")


class Disk:
    """A sync that takes until the test lets it go; it fails as often as it was told to."""

    def __init__(self, *faults: PersonFault | None) -> None:
        self._faults = list(faults)
        self._may_end = threading.Semaphore(0)
        self.begun = 0

    def sync(self) -> None:
        self.begun += 1
        assert self._may_end.acquire(timeout=20)
        fault = self._faults.pop(0) if self._faults else None
        if fault is not None:
            raise fault

    def let_go(self, times: int = 1) -> None:
        self._may_end.release(times)

    async def has_begun(self, times: int) -> None:
        async with asyncio.timeout(20):
            while self.begun < times:
                await asyncio.sleep(0)


def on(disk: Disk, story: Callable[[SharedSync], Awaitable[None]]) -> None:
    shared = SharedSync(disk.sync)

    async def run() -> None:
        await story(shared)

    try:
        asyncio.run(run())
    finally:
        shared.close()


def test_loop_runs_on_while_the_disk_is_waited_for() -> None:
    disk = Disk()

    async def story(shared: SharedSync) -> None:
        asking = asyncio.create_task(shared.synced())
        await disk.has_begun(1)
        assert not asking.done()
        disk.let_go()
        await asking

    on(disk, story)


def test_all_who_ask_during_a_sync_share_the_next_one() -> None:
    disk = Disk()

    async def story(shared: SharedSync) -> None:
        first = asyncio.create_task(shared.synced())
        await disk.has_begun(1)
        later = [asyncio.create_task(shared.synced()) for _ in range(5)]
        await asyncio.sleep(0)
        disk.let_go()
        await first
        await disk.has_begun(2)
        assert not any(task.done() for task in later)
        disk.let_go()
        await asyncio.gather(*later)
        assert disk.begun == 2

    on(disk, story)


def test_failure_is_told_to_all_who_shared_it_and_to_nobody_after() -> None:
    disk = Disk(None, FULL)

    async def story(shared: SharedSync) -> None:
        first = asyncio.create_task(shared.synced())
        await disk.has_begun(1)
        sharing = [asyncio.create_task(shared.synced()) for _ in range(3)]
        await asyncio.sleep(0)
        disk.let_go(3)
        await first
        assert await asyncio.gather(*sharing, return_exceptions=True) == [FULL] * 3
        await shared.synced()
        assert disk.begun == 3

    on(disk, story)


def test_failure_nobody_waited_for_any_more_is_told_to_the_next() -> None:
    disk = Disk(FULL)

    async def story(shared: SharedSync) -> None:
        asking = asyncio.create_task(shared.synced())
        await disk.has_begun(1)
        asking.cancel()
        await asyncio.wait({asking})
        disk.let_go(3)
        with pytest.raises(PersonFault, match="disk is full"):
            await shared.synced()
        await shared.synced()

    on(disk, story)


def test_close_waits_for_the_sync_and_says_what_nobody_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = Disk(FULL)

    async def story(shared: SharedSync) -> None:
        asking = asyncio.create_task(shared.synced())
        await disk.has_begun(1)
        asking.cancel()
        await asyncio.wait({asking})
        disk.let_go()

    with caplog.at_level(logging.WARNING):
        on(disk, story)

    assert [record.getMessage() for record in caplog.records] == ["The disk is full."]


def test_close_of_what_nobody_asked_does_nothing() -> None:
    SharedSync(Disk().sync).close()
