"""The console's slash commands: each looks at something and gives lines or a table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from modules.app.compact_command import CompactCommand
from modules.app.event_words import SHORT, first_sentence
from modules.app.mode_command import ModeCommand
from modules.app.permissions_view import permission_lines
from modules.app.run import Run
from modules.app.visible_text import visible_line
from modules.records.errors import ModelFault
from modules.records.merges import Entry
from modules.records.session_records import AnySessionRecord
from modules.records.tasks import Task
from modules.team.addresses import LEAD
from modules.team.mailbox import mail_text
from modules.team.queue_view import review_line
from tools.team import doing_words

Shown = str | Table


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command of the console."""

    name: str
    what: str
    """What it shows or does, for the list."""
    show: Callable[[str], Iterable[Shown]]
    """Takes the words behind the command."""


def slash_commands(
    run: Run,
    prompt: Callable[[], str],
    note: Callable[[AnySessionRecord], None],
    compaction: CompactCommand,
) -> Mapping[str, SlashCommand]:
    """Returns the commands, by name.

    `prompt` gives what the lead's model is told, `note` writes to the lead's journal.
    """
    mode = ModeCommand(run.house, note)
    commands = (
        SlashCommand(
            "/board", "all tasks and where they stand", lambda _: _board(run.crew.tasks())
        ),
        SlashCommand("/team", "the workers and what each is at", lambda _: _team(run)),
        SlashCommand("/queue", "what waits to land, landed or came back", lambda _: _queue(run)),
        SlashCommand("/inbox", "unread mail to the lead, questions to you", lambda _: _inbox(run)),
        SlashCommand("/mcp", "the MCP servers", lambda _: run.crew.mcp_status().splitlines()),
        SlashCommand(
            "/compact",
            "sums the lead's conversation up; /compact WORDS: what to keep above all",
            compaction.compact,
        ),
        SlashCommand(
            "/context", "how long the lead's conversation is", lambda _: compaction.context()
        ),
        SlashCommand("/mode", "how much is done unasked; /mode MODE changes it", mode.lines),
        SlashCommand(
            "/permissions",
            "mode and rules of the lead, a worker or a role",
            lambda name: permission_lines(run, name),
        ),
        SlashCommand("/prompt", "what the lead's model is told", lambda _: prompt().splitlines()),
        SlashCommand("/pause", "lets one worker, or all, rest after this step", _pausing(run)),
        SlashCommand("/resume", "lets one worker, or all, go on", _resuming(run)),
    )
    named = {command.name: command for command in commands}
    named["/help"] = SlashCommand("/help", "this list", lambda _: _help(named))
    return named


def slash_answer(commands: Mapping[str, SlashCommand], text: str) -> Iterable[Shown]:
    """Returns what a slash command shows; an unknown one gets the list of those there are."""
    name, _, words = text.strip().partition(" ")
    if name in commands:
        return commands[name].show(words.strip())
    return [f"There is no command {name}.", *_help(commands)]


def _pausing(run: Run) -> Callable[[str], Iterable[Shown]]:
    def pause(name: str) -> Iterable[Shown]:
        try:
            run.supervisor.pause(name or None)
        except ModelFault as error:
            return [str(error)]
        return [f"{name or 'The crew'} rests after this step; /resume lets it go on."]

    return pause


def _resuming(run: Run) -> Callable[[str], Iterable[Shown]]:
    def resume(name: str) -> Iterable[Shown]:
        try:
            run.supervisor.resume(name or None)
        except ModelFault as error:
            return [str(error)]
        return [f"{name or 'The crew'} goes on."]

    return resume


def _board(tasks: Iterable[Task]) -> Iterator[Shown]:
    table = _table("", "task", "status", "by", "")
    for task in tasks:
        note = f"landed as {task.landed_as[:SHORT]}" if task.landed_as else _waits_for(task)
        table.add_row(
            str(task.task_id),
            _cell(task.draft.subject),
            str(task.status),
            _cell(f"{task.worker}, attempt {task.attempt}" if task.attempt > 1 else task.worker),
            _cell(note),
        )
    yield table if table.rows else "The board is empty."


def _waits_for(task: Task) -> str:
    if task.reason:
        return first_sentence(task.reason)
    after = ", ".join(map(str, task.draft.after))
    return f"after {after}" if after and task.status == "pending" else ""


def _team(run: Run) -> Iterator[Shown]:
    asking = {question.agent for question in run.house.questions.pending()}
    table = _table("worker", "role", "state", "task", "since", "until", "")
    for worker in run.crew.workers():
        table.add_row(
            _cell(worker.name),
            _cell(worker.role),
            str(worker.state),
            "" if worker.task is None else str(worker.task),
            f"{worker.since.astimezone():%H:%M:%S}",
            "" if worker.until is None else f"{worker.until.astimezone():%H:%M:%S}",
            "for your answer" if worker.name in asking else _cell(doing_words(worker)),
        )
    yield table if table.rows else "No worker is there; they start with the work."
    if run.supervisor.is_paused:
        yield "The crew is paused: nobody begins anything until /resume."


def _queue(run: Run) -> Iterator[Shown]:
    table = _table("", "task", "status", "files", "")
    for entry in run.crew.entries():
        work = entry.submission
        table.add_row(
            str(entry.entry_id),
            _cell(f"{work.task} {work.subject}"),
            str(entry.status),
            str(len(work.files)),
            _cell(_verdict(entry)),
        )
    yield table if table.rows else "The merge queue is empty."
    queue = run.house.queue
    for asked in queue.reviews.open(run.house.board.tasks()):
        yield visible_line(review_line(asked))
    if queue.alarm and queue.alarm != queue.pause_reason:
        yield queue.alarm
    if queue.pause_reason:
        yield f"The queue pauses: {queue.pause_reason}"
    if queue.hold_reason:
        yield f"{queue.target} stays where it is: {queue.hold_reason}"


def _verdict(entry: Entry) -> str:
    if not entry.landed_as:
        return first_sentence(entry.reason)
    tree = f", check passed on tree {entry.receipt.tree[:SHORT]}" if entry.receipt else ""
    return f"landed as {entry.landed_as[:SHORT]}{tree}"


def _inbox(run: Run) -> Iterator[Shown]:
    mailbox = run.house.mailbox
    mail = mail_text(mailbox.unread(LEAD), kept_in=mailbox.folder).splitlines()
    questions = [
        f"{question.agent} asks: {question.tool} {question.text}"
        for question in run.house.questions.pending()
    ]
    yield from [*mail, *questions] or ["Nothing waits."]


def _help(commands: Mapping[str, SlashCommand]) -> list[Shown]:
    listed = [f"{name:12} {command.what}" for name, command in sorted(commands.items())]
    return [
        *listed,
        f"{'exit':12} ends the crew and leaves, as do quit and Ctrl-D",
        f"{'Ctrl-C':12} stops the lead, or answers no; twice at once: ends the crew and leaves",
        f"{'Shift-Tab':12} goes to the next mode, yolo left out",
        f"{'Alt-Enter':12} begins a new line of what you type",
    ]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _cell(text: str) -> Text:
    return Text(visible_line(text))
