"""Looks ahead for conflicts between work under way, and tells both workers and the lead.

Woken by the run's events, never by the clock: a worker's call ended, a task or an entry stands
elsewhere. A worker is told with the next result it gets, and no request of its is sent before a
look that is due, so it knows before it can hand in.
"""

import asyncio
from collections.abc import Sequence

from modules.app.event_bus import EventBus
from modules.git.clashes import clashing_paths
from modules.git.merging import Attributes, attributes_of
from modules.git.refs import read_refs
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.records.events import AnyEvent, CallEnded, ClashForeseen, EntryChanged, TaskChanged
from modules.records.mail import MailSent
from modules.records.merges import Entry, EntryStatus
from modules.records.tasks import Task, TaskStatus
from modules.team.board_rules import UNDER_WAY
from modules.team.clash_rules import LANDED, Clash, Commits, Pair, Track, news, pairs_of, untried
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
        self._letters: dict[int, list[tuple[Pair, MailSent]]] = {}
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
        return [letter for _, letter in self._letters.pop(task, [])]

    async def lines(self, task: int) -> list[str]:
        """Returns the conflicts that `task` runs into as things stand, one a line."""
        await self._look()
        return [
            _both(Clash(pair, tuple(sorted(paths))), self._tasks())
            for pair, paths in sorted(self._told.items())
            if task in pair
        ]

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
                self._tell(clash, tasks, landers.get(clash.pair[1], []))

    def _tasks(self) -> dict[int, Task]:
        return {task.task_id: task for task in self._board.tasks()}

    def _tracks(self, tasks: Sequence[Task]) -> list[Track]:
        """Returns where each lane stands that has commits of its own."""
        branches = {f"refs/heads/{task.branch}": task for task in tasks if task.branch}
        tips = read_refs(self._repository.git, *branches) if branches else {}
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

    def _forget_solved(self, tasks: dict[int, Task]) -> None:
        """Drops letters about conflicts that are gone, and those to work that is over."""
        self._letters = {
            task: [(pair, letter) for pair, letter in letters if pair in self._told]
            for task, letters in self._letters.items()
            if task in tasks
        }

    def _tell(self, clash: Clash, tasks: dict[int, Task], landers: Sequence[Entry]) -> None:
        one, other = clash.pair
        if one == LANDED:
            self._write(tasks[other], clash, self._about_landed(clash, landers))
        else:
            self._write(tasks[one], clash, _about_lane(clash, tasks[other]))
            self._write(tasks[other], clash, _about_lane(clash, tasks[one]))
        by = landers[-1].submission if landers else None
        self._events.emit(
            ClashForeseen(
                at=self._events.clock(),
                task=other,
                worker=tasks[other].worker,
                other_task=(by.task if by else None) if one == LANDED else one,
                other_worker=(by.worker if by else "") if one == LANDED else tasks[one].worker,
                has_landed=one == LANDED,
                files=clash.paths,
            )
        )

    def _about_landed(self, clash: Clash, landers: Sequence[Entry]) -> str:
        by = ", ".join(f"task {e.submission.task} ({e.submission.subject})" for e in landers)
        return (
            f"What has landed since you began{f', by {by},' if by else ''} conflicts with what "
            f"you committed in {_named(clash.paths)}. Before you hand in, run `git merge "
            f"{self._queue.landed_ref}`, resolve, and run the check."
        )

    def _write(self, task: Task, clash: Clash, body: str) -> None:
        letter = MailSent(
            at=self._events.clock(), mail_id=0, sender=SENDER, to=task.worker, body=body
        )
        waiting = self._letters.setdefault(task.task_id, [])
        waiting[:] = [(pair, old) for pair, old in waiting if pair != clash.pair]
        waiting.append((clash.pair, letter))

    def _tell_trouble(self, error: Exception) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            self._events.notice(f"Coming conflicts can't be looked for: {error}")


def _about_lane(clash: Clash, other: Task) -> str:
    return (
        f"Your commits and those of task {other.task_id} ({other.draft.subject}), on which "
        f"{other.worker} works on branch {other.branch}, conflict in {_named(clash.paths)}. "
        "Neither has landed: whoever lands second has to merge. Look at the other side with "
        f"`git diff {other.base[:12]} {other.branch}`; keep to your own part, or settle it with "
        f"send_message to {other.worker}."
    )


def _both(clash: Clash, tasks: dict[int, Task]) -> str:
    one, other = clash.pair
    if one == LANDED:
        return f"Task {other} conflicts with what has landed in {_named(clash.paths)}."
    workers = f"({tasks[one].worker} and {tasks[other].worker})"
    return f"Tasks {one} and {other} {workers} will conflict in {_named(clash.paths)}."


def _named(paths: Sequence[str]) -> str:
    shown = ", ".join(repr(path) for path in paths[:_SHOWN])
    return shown if len(paths) <= _SHOWN else f"{shown} and {len(paths) - _SHOWN} more"
