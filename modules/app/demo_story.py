"""Tells the demo as it happens, and knows what must have happened in the end.

1. A line says when, who, what. Who speaks is an agent, the merge queue, the gate, or the demo.
2. Told: the lead's and the workers' words, tasks posted and taken, work handed in, every verdict of
   the queue, refusals, deaths. Not told: each tool call, each step of a check.
3. What a worker does again in a second attempt is not told again.
"""

from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modules.app.event_words import SHORT, first_sentence
from modules.app.visible_text import visible_line
from modules.records.events import (
    AnyEvent,
    CallDenied,
    CallStarted,
    EntryChanged,
    Noticed,
    RunStarted,
    TaskChanged,
    TextDelta,
    WorkerChanged,
)

KILLED_TASK = "Describe the functions"
KILL_MARK = "sleep 60"
TASKS = 5
WORKERS = 3
_STYLES = {"lead": "bold cyan", "queue": "bold magenta", "gate": "bold yellow", "demo": "bold red"}
_WORKER_STYLE = "bold blue"
_GOOD, _BAD = "green", "red"
_WHO_COLUMNS = 5
_INCIDENTS = {"failed": "a red check", "conflicted": "a conflict"}


class Story:
    """What has happened so far, told line by line."""

    def __init__(self, stream: TextIO, sample: Path) -> None:
        self._console = Console(file=stream, highlight=False)
        self._sample = sample
        self._started_at: datetime | None = None
        self._now: datetime | None = None
        self._words: dict[str, str] = {}
        self._posted: list[str] = []
        self._tasks: dict[int, TaskChanged] = {}
        self._told: set[object] = set()
        self._incidents: dict[str, list[int]] = {}
        self.seen: set[str] = set()
        self.most_at_once = 0
        self.victim = ""
        self._at_work: set[str] = set()

    def tell(self, event: AnyEvent) -> None:
        """Takes in one event and tells it when a person wants to hear of it."""
        self._note(event)
        if isinstance(event, TextDelta):
            self._words[event.agent] = self._words.get(event.agent, "") + event.text
            return
        self._finish_words()
        match event:
            case RunStarted():
                self._begin(event)
            case TaskChanged():
                self._tell_task(event)
            case EntryChanged():
                self._tell_entry(event)
            case CallDenied():
                self._tell_denial(event)
            case Noticed():
                self._line("lead", event.text)
            case _:
                pass

    def is_to_be_killed(self, event: CallStarted) -> bool:
        """Returns whether this call is the one in which its worker is to die."""
        return not self.victim and KILL_MARK in event.text and "case" in event.text

    def killed(self, worker: str) -> None:
        """Takes in that the worker was killed."""
        self.victim = worker
        at = self._task_of(worker)
        where = f", in the middle of {_name(at)}" if at is not None else ""
        self._line("demo", f"kill -9 {worker}{where}", _BAD)
        self._count("a killed worker", at)

    def end(
        self, report: dict[str, Any], surprises: list[str], *, seconds: float, is_kept: bool
    ) -> None:
        """Ends with a table and where to look."""
        self._finish_words()
        self._console.print()
        self._console.print(_table(report))
        self._console.print()
        self._console.print(
            f"{len(report['landed'])} landings in {seconds:.1f} s by {self.most_at_once} workers "
            "at once, each with a check passed on the very tree that landed."
        )
        met = ", ".join(f"{what} ({_numbers(tasks)})" for what, tasks in self._incidents.items())
        if met:
            self._console.print(f"On the way: {met}.")
        for surprise in surprises:
            self._console.print(f"Surprise: {surprise}", style=_BAD, markup=False)
        if is_kept:
            self._console.print(f"See it: git -C {self._sample} log --stat", markup=False)
            self._console.print(f"        crewyard queue --repo {self._sample}", markup=False)
            self._console.print(f"        {self._sample}/.team/sessions", markup=False)
        else:
            self._console.print("demo --dir DIR keeps the repository, with all it has of the run.")

    def _begin(self, event: RunStarted) -> None:
        self._started_at = event.at
        self._console.print(
            f"A lead and {event.workers} workers improve tally, a small library, from "
            f"{event.target_commit[:SHORT]} on {event.target}. What the models say is written "
            "beforehand; processes, sandboxes, git and checks are real.\n"
        )

    def _tell_task(self, event: TaskChanged) -> None:
        before = self._tasks.get(event.task)
        self._tasks[event.task] = event
        match event.status:
            case "pending" if not event.attempt:
                self._posted.append(_name(event))
            case "pending":
                kept = "; its work is kept" if "kept" in event.reason else ""
                why = first_sentence(event.reason)
                self._line("lead", f"{_name(event)} goes back to the board: {why}{kept}", _BAD)
            case "in_progress" if before is None or not _is_open(before):
                again = f", attempt {event.attempt}" if event.attempt > 1 else ""
                self._line(event.worker, f"takes {_name(event)}{again}")
            case "failed" | "blocked" | "parked" | "cancelled":
                why = first_sentence(event.reason)
                self._line("lead", f"{_name(event)} is {event.status}: {why}", _BAD)
            case _:
                pass

    def _tell_entry(self, event: EntryChanged) -> None:
        task = self._tasks[event.task]
        match event.status:
            case "queued":
                self._line(task.worker, f"hands in {_name(task)}")
            case "merged":
                commit = event.landed_as[:SHORT]
                self._line("queue", f"{_name(task)}: check passed, landed as {commit}", _GOOD)
            case "checking" | "no_changes":
                pass
            case _:
                why = first_sentence(event.reason)
                self._line(
                    "queue", f"{_name(task)} can't land, {task.worker} gets it back: {why}", _BAD
                )
                self._count(_INCIDENTS.get(event.status, event.status), task)

    def _tell_denial(self, event: CallDenied) -> None:
        task = self._task_of(event.agent)
        if ("denied", event.tool, event.why) not in self._told:
            self._told.add(("denied", event.tool, event.why))
            self._line("gate", f"refuses a {event.tool} call of {event.agent}: {event.why}", _BAD)
        self._count("a refused call", task)

    def _task_of(self, worker: str) -> TaskChanged | None:
        open_tasks = (task for task in self._tasks.values() if _is_open(task))
        return next((task for task in open_tasks if task.worker == worker), None)

    def _note(self, event: AnyEvent) -> None:
        self._now = event.at
        if isinstance(event, WorkerChanged):
            if event.state == "working":
                self._at_work.add(event.worker)
            elif event.state in ("idle", "gone"):
                self._at_work.discard(event.worker)
            self.most_at_once = max(self.most_at_once, len(self._at_work))
        if isinstance(event, EntryChanged):
            self.seen.add(event.status)
        if isinstance(event, CallDenied):
            self.seen.add("denied")

    def _finish_words(self) -> None:
        said, self._words = self._words, {}
        for agent, words in said.items():
            quote = f"“{' '.join(words.split())}”"
            if words.strip() and quote not in self._told:
                self._told.add(quote)
                self._line(agent, quote)

    def _count(self, what: str, task: TaskChanged | None) -> None:
        self._incidents.setdefault(what, [])
        if task is not None and task.task not in self._incidents[what]:
            self._incidents[what].append(task.task)

    def _line(self, who: str, text: str, style: str = "") -> None:
        if self._posted:
            posted, self._posted = self._posted, []
            self._line("lead", f"posts {', '.join(posted)}")
        head = Text(f"{self._clock():>5} ", style="dim")
        head.append(f"{who:<{_WHO_COLUMNS}} ", style=_STYLES.get(who, _WORKER_STYLE))
        room = max(20, self._console.width - len(head))
        for row in Text(visible_line(text), style=style).wrap(self._console, room):
            row.rstrip()
            self._console.print(head + row)
            head = Text(" " * len(head))

    def _clock(self) -> str:
        if self._started_at is None or self._now is None:
            return ""
        return f"{(self._now - self._started_at).total_seconds():.1f}"


def _table(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", justify="right")
    table.add_column("task")
    table.add_column("by")
    table.add_column("attempts", justify="right")
    table.add_column("landed as")
    table.add_column("check")
    table.add_column("on tree")
    for task in report["tasks"]:
        receipt = task["receipt"] or {}
        table.add_row(
            str(task["id"]),
            Text(visible_line(task["subject"])),
            task["worker"],
            str(task["attempt"]),
            task["landed_as"][:SHORT] or task["status"],
            receipt.get("outcome", ""),
            receipt.get("tree", "")[:SHORT],
        )
    return table


def _numbers(tasks: list[int]) -> str:
    return "task " + ", ".join(map(str, tasks)) if tasks else "no task"


def _name(event: TaskChanged) -> str:
    return f"{event.task} {event.subject}"


def _is_open(event: TaskChanged) -> bool:
    return event.status in ("in_progress", "in_review")


def surprises(story: Story, report: dict[str, Any], left: dict[str, str]) -> list[str]:
    """Returns what did not happen as it should, a sentence each; empty when all did."""
    found = [
        f"Nothing was {word}."
        for word in ("conflicted", "failed", "denied", "merged")
        if word not in story.seen
    ]
    if story.most_at_once < WORKERS:
        found.append(f"Only {story.most_at_once} workers were at work at once.")
    if not story.victim:
        found.append("No worker was killed.")
    tasks = report["tasks"]
    found += [
        f"Task {task['id']} is {task['status']}, verified: {task['verified']}."
        for task in tasks
        if task["status"] != "completed" or not task["verified"]
    ]
    if len(tasks) != TASKS or len(report["landed"]) != TASKS:
        found.append(f"There are {len(tasks)} tasks and {len(report['landed'])} landings.")
    again = [task for task in tasks if task["subject"] == KILLED_TASK]
    if not again or again[0]["attempt"] < 2:
        found.append("The killed worker's task was not taken up again.")
    if report["exit_code"] != 0:
        found.append(f"The program's exit code was {report['exit_code']}.")
    found += [f"{what}: {words}" for what, words in left.items() if words]
    return found
