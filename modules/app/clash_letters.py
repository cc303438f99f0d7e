"""The words in which a worker is told of coming conflicts; pure.

One letter holds all that is new to its reader: what has landed, and which others change the same
lines, those with the same files together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from modules.records.merges import Entry
from modules.records.queue_records import NO_TASK
from modules.records.tasks import Task

_SHOWN = 10

Files = frozenset[str]


@dataclass(slots=True)
class Unread:
    """What the worker of one task has to be told."""

    landed: Files = frozenset()
    """Files in which its work conflicts with what has landed."""
    landers: dict[int, Entry] = field(default_factory=dict)
    """The entries that brought that, by id, as far as they are known."""
    others: dict[int, Files] = field(default_factory=dict)
    """By the task of somebody else, the files in which it conflicts with their work."""


def letter(unread: Unread, tasks: Mapping[int, Task], *, landed_ref: str) -> str:
    """Returns all that is to be told; empty when that is nothing."""
    parts = []
    if unread.landed:
        parts.append(_about_landed(unread, landed_ref))
    if unread.others:
        parts.append(_about_others(unread.others, tasks, landed_ref))
    return "\n".join(parts)


def lines(task: int, unread: Unread, tasks: Mapping[int, Task]) -> list[str]:
    """Returns what stands between a task's work and a landing, for the lead, one a line."""
    found = []
    if unread.landed:
        found.append(f"Task {task} conflicts with what has landed in {named(unread.landed)}.")
    for numbers, files in _together(unread.others):
        who = _listed([f"{n} ({tasks[n].worker})" for n in numbers], "and %d more")
        word = "task" if len(numbers) == 1 else "tasks"
        own = f"Task {task} ({tasks[task].worker})"
        found.append(f"{own} will conflict with {word} {who} in {named(files)}.")
    return found


def named(paths: Files) -> str:
    """Returns the names of files, the first ones when they are many."""
    return _listed([repr(path) for path in sorted(paths)], "and %d more")


def _about_landed(unread: Unread, landed_ref: str) -> str:
    found = [unread.landers[key].submission for key in sorted(unread.landers)]
    by = ", ".join(
        f"task {work.task} ({work.subject})" if work.task != NO_TASK else repr(work.subject)
        for work in found
    )
    return (
        f"What has landed since you began{f', by {by},' if by else ''} conflicts with what "
        f"you committed in {named(unread.landed)}. Before you hand in, run `git merge "
        f"{landed_ref}`, resolve, and run the check."
    )


def _about_others(others: Mapping[int, Files], tasks: Mapping[int, Task], landed_ref: str) -> str:
    if len(others) == 1:
        ((number, files),) = others.items()
        other = tasks[number]
        return (
            f"Your commits and those of {_at_work(other)}, conflict in {named(files)}. "
            "Neither has landed: whoever lands second has to merge. Look at the other side with "
            f"`git diff {other.base[:12]} {other.branch}`; keep to your own part, or settle it "
            f"with send_message to {other.worker}."
        )
    sets = [
        f"- in {named(files)}: {_listed([_at_work(tasks[n]) for n in numbers], 'and %d more')}"
        for numbers, files in _together(others)
    ]
    return "\n".join(
        [
            "Your commits conflict with those of others:",
            *sets,
            "None of these has landed: whoever lands later has to merge. Look at another side with "
            f"`git diff {landed_ref}...BRANCH`; keep to your own part, or settle it with "
            "send_message.",
        ]
    )


def _at_work(task: Task) -> str:
    name = f"task {task.task_id} ({task.draft.subject})"
    return f"{name}, on which {task.worker} works on branch {task.branch}"


def _together(others: Mapping[int, Files]) -> list[tuple[list[int], Files]]:
    """Returns the tasks that conflict in the same files, and these."""
    found: dict[Files, list[int]] = {}
    for number, files in sorted(others.items()):
        found.setdefault(files, []).append(number)
    return [(numbers, files) for files, numbers in found.items()]


def _listed(words: Sequence[str], more: str) -> str:
    shown = ", ".join(words[:_SHOWN])
    return shown if len(words) <= _SHOWN else f"{shown} {more % (len(words) - _SHOWN)}"
