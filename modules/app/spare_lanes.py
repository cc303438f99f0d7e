"""Keeps checkouts ready for the next lanes of a large repository.

They are begun once the lead's model has answered for the first time: work may come, and is not
there yet. They follow what lands.
"""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial

from modules.app.event_bus import EventBus
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.git.spare_trees import (
    MANY_FILES,
    SETTLING_SECONDS,
    SpareTree,
    are_worth_it,
    begin_spare,
    discard,
    fill_spare,
    follow,
    settle_spare,
)
from modules.records.events import AnyEvent, EntryChanged, Spent
from modules.team.threads import to_its_end


class SpareLanes:
    """The spares of one run, `most` at once."""

    def __init__(
        self,
        repository: Repository,
        events: EventBus,
        *,
        landed: Callable[[], str],
        most: int,
        many_files: int = MANY_FILES,
    ) -> None:
        self._repository = repository
        self._events = events
        self._landed = landed
        self._most = most
        self._many_files = many_files
        self._ready: list[SpareTree] = []
        self._numbers = itertools.count(1)
        self._may_begin = asyncio.Event()
        self._is_due = asyncio.Event()
        events.listen(self._take_event)

    def take(self) -> SpareTree | None:
        """Returns a spare, which is the caller's from now on; None when none is ready."""
        self._is_due.set()
        return self._ready.pop() if self._ready else None

    async def run(self) -> None:
        """Makes spares until it is cancelled, or one can't be made."""
        if not self._most:
            return
        await self._may_begin.wait()
        worth = partial(are_worth_it, self._repository, many_files=self._many_files)
        if not await asyncio.to_thread(worth):
            return
        try:
            while True:
                self._is_due.clear()
                await self._follow()
                while len(self._ready) < self._most:
                    await self._make()
                await self._is_due.wait()
        except (GitFault, OSError) as error:
            self._events.notice(f"No more checkouts are kept ready for lanes: {error}")

    async def _follow(self) -> None:
        landed = await asyncio.to_thread(self._landed)
        behind = [spare for spare in self._ready if spare.commit != landed]
        for spare in behind:
            if spare in self._ready:
                self._ready.remove(spare)
                await to_its_end(partial(self._bring, spare, landed))

    def _bring(self, spare: SpareTree, landed: str) -> None:
        try:
            self._ready.append(follow(self._repository, spare, landed))
        except GitFault:
            discard(spare)

    async def _make(self) -> None:
        name, landed = str(next(self._numbers)), await asyncio.to_thread(self._landed)
        spare, steps = await to_its_end(partial(begin_spare, self._repository, landed, name=name))
        try:
            for paths in steps:
                await to_its_end(partial(fill_spare, self._repository, spare, paths))
        except (GitFault, OSError):
            # Perhaps for want of room, which others need now.
            await to_its_end(partial(discard, spare))
            raise
        await asyncio.sleep(SETTLING_SECONDS)
        settle_spare(spare)
        self._ready.append(spare)

    def _take_event(self, event: AnyEvent) -> None:
        if isinstance(event, Spent):
            self._may_begin.set()
        if isinstance(event, EntryChanged) and event.status == "merged":
            self._is_due.set()
