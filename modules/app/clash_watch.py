"""Looks ahead for conflicts between work under way, and tells both workers and the lead.

Woken by the run's events, never by the clock: a worker's call ended, a task or an entry stands
elsewhere. A worker is told with the next result it gets, and no request of its is sent before a
look that is due, so it knows before it can hand in. What it was not told by then is one letter; to
the lead one look tells of each set of lanes once.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from modules.app.clash_letters import Unread, letter, lines
from modules.app.event_bus import EventBus
from modules.git.clashes import clashing_paths
from modules.git.lane_objects import take_in_all
from modules.git.merging import Attributes, attributes_of
from modules.git.refs import read_refs
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.records.events import AnyEvent, CallEnded, ClashForeseen, EntryChanged, TaskChanged
from modules.records.mail import MailSent
from modules.records.merges import Entry, EntryStatus
from modules.records.queue_records import NO_TASK
from modules.records.tasks import Task, TaskStatus
from modules.team.board_rules import UNDER_WAY
from modules.team.clash_rules import (
    LANDED,
    Clash,
    Commits,
    Pair,
    Tangle,
    Track,
    news,
    pairs_of,
    tangles,
    untried,
)
from modules.team.merge_queue import MergeQueue
from modules.team.task_board import TaskBoard

SENDER = "merge queue"
_SHOWN = 10
_LEAD = "lead"


class ClashWatch:
    """Knows which work under way can't be joined with other work, or with what has landed."""

    def __init__(
        self, repository: Repository, board: TaskBoard, queue: MergeQueue, events: EventBus
    ) -> None:
        self._repository = repository
        self._board = board
        self._queue = queue
        self._events = events
        self._is_due = asyncio.Event()
        self._looking = asyncio.Lock()
        self._known: dict[Commits, frozenset[str]] = {}
        self._told: dict[Pair, frozenset[str]] = {}
        self._unread: defaultdict[int, Unread] = defaultdict(Unread)
        """By task, what its worker was not told yet."""
        self._attributes: tuple[str, Attributes] = ("", ())
        self._trouble = ""

    def take_event(self, event: AnyEvent) -> None:
        """Takes in an event of the run; one after which commits may be there makes a look due."""
        match event:
            case TaskChanged() | EntryChanged():
                self._is_due.set()
            case CallEnded() if event.agent != _LEAD:
                self._is_due.set()
            case _:
                pass

    async def run(self) -> None:
        """Looks whenever a look is due, until it is cancelled."""
        while True:
            await self._is_due.wait()
            await self._look()

    async def letters(self, task: int) -> list[MailSent]:
        """Returns what the worker of `task` has to know and was not told, after a look if due."""
        await self._look()
        tasks = self._tasks()
        body = letter(self._unread.pop(task, Unread()), tasks, landed_ref=self._queue.landed_ref)
        if not body:
            return []
        at, to = self._events.clock(), tasks[task].worker
        return [MailSent(at=at, mail_id=0, sender=SENDER, to=to, body=body)]

    async def lines(self, task: int) -> list[str]:
        """Returns the conflicts that `task` runs into as things stand, one a line."""
        await self._look()
        all_told = Unread()
        for pair, paths in self._told.items():
            if pair == (LANDED, task):
                all_told.landed = paths
            elif task in pair:
                all_told.others[_other(pair, task)] = paths
        return lines(task, all_told, self._tasks())

    async def _look(self) -> None:
        async with self._looking:
            if not self._is_due.is_set():
                return
            self._is_due.clear()
            tasks = {number: t for number, t in self._tasks().items() if t.status in UNDER_WAY}
            landed = self._queue.landed
            try:
                tracks = await asyncio.to_thread(self._tracks, list(tasks.values()))
                pairs = pairs_of(tracks, landed=landed)
                await asyncio.to_thread(self._try, untried(pairs, self._known), landed)
                found = {pair: self._known.get(both, frozenset()) for pair, both in pairs.items()}
                fresh, self._told = news(tracks, found, self._told)
                landers = await asyncio.to_thread(self._landers, fresh, tracks)
            except (GitFault, OSError) as error:
                self._tell_trouble(error)
                return
            except asyncio.CancelledError:
                self._is_due.set()
                raise
            self._known = {both: self._known.get(both, frozenset()) for both in pairs.values()}
            self._forget_solved(tasks)
            for clash in fresh:
                self._note(clash, landers)
            for tangle in tangles(fresh):
                self._tell(tangle, tasks, landers)

    def _tasks(self) -> dict[int, Task]:
        return {task.task_id: task for task in self._board.tasks()}

    def _tracks(self, tasks: Sequence[Task]) -> list[Track]:
        """Returns where each lane stands that has commits of its own."""
        branches = {f"refs/heads/{task.branch}": task for task in tasks if task.branch}
        tips = read_refs(self._repository.git, *branches) if branches else {}
        take_in_all(self._repository.common_dir)
        return [
            Track(task.task_id, tips[ref], awaits_verdict=task.status is TaskStatus.IN_REVIEW)
            for ref, task in branches.items()
            if ref in tips and tips[ref] != task.base
        ]

    def _try(self, pairs: Sequence[Commits], landed: str) -> None:
        if not pairs:
            return
        if self._attributes[0] != landed:
            self._attributes = (landed, attributes_of(self._repository.git, landed))
        found = clashing_paths(self._repository, pairs, attributes=self._attributes[1])
        self._known |= found

    def _landers(self, clashes: Sequence[Clash], tracks: Sequence[Track]) -> dict[int, list[Entry]]:
        """Returns, by task, the entries that brought what its work conflicts with."""
        tips = {track.task: track.tip for track in tracks}
        found = {}
        for clash in clashes:
            one, task = clash.pair
            if one == LANDED:
                between = f"{tips[task]}..{self._queue.landed}"
                argv = ("rev-list", between, "--", *clash.paths[:_SHOWN])
                touching = set(self._repository.git.text(*argv).split())
                found[task] = [
                    entry
                    for entry in self._queue.entries()
                    if entry.status is EntryStatus.MERGED and entry.landed_as in touching
                ]
        return found

    def _forget_solved(self, tasks: Mapping[int, Task]) -> None:
        """Drops what is unread about conflicts that are gone, and what is for work that is over."""
        for task, unread in list(self._unread.items()):
            if task not in tasks:
                del self._unread[task]
                continue
            unread.landed &= self._told.get((LANDED, task), frozenset())
            if not unread.landed:
                unread.landers.clear()
            left = {
                other: files & self._told.get((min(task, other), max(task, other)), frozenset())
                for other, files in unread.others.items()
            }
            unread.others = {other: files for other, files in left.items() if files}

    def _note(self, clash: Clash, landers: Mapping[int, Sequence[Entry]]) -> None:
        """Keeps a conflict for whoever works on it."""
        one, other = clash.pair
        paths = frozenset(clash.paths)
        if one == LANDED:
            unread = self._unread[other]
            unread.landed |= paths
            unread.landers |= {entry.entry_id: entry for entry in landers.get(other, [])}
            return
        for task in clash.pair:
            others = self._unread[task].others
            number = _other(clash.pair, task)
            others[number] = others.get(number, frozenset()) | paths

    def _tell(
        self, tangle: Tangle, tasks: Mapping[int, Task], landers: Mapping[int, Sequence[Entry]]
    ) -> None:
        by = {
            entry.submission.task
            for task in tangle.tasks
            if tangle.with_landed
            for entry in landers.get(task, [])
            if entry.submission.task != NO_TASK
        }
        self._events.emit(
            ClashForeseen(
                at=self._events.clock(),
                tasks=tangle.tasks,
                workers=tuple(tasks[task].worker for task in tangle.tasks),
                has_landed=tangle.with_landed,
                landed_by=tuple(sorted(by)),
                files=tangle.paths,
            )
        )

    def _tell_trouble(self, error: Exception) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            self._events.notice(f"Coming conflicts can't be looked for: {error}")


def _other(pair: Pair, task: int) -> int:
    return pair[1] if pair[0] == task else pair[0]
