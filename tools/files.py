"""The tools that read and change files.

1. What is shown is the text itself, without line numbers, so it can be copied into an edit; notes
   stand in brackets after it.
2. What is written is what was given, character by character. An edit changes the text it replaces
   and no other byte: line breaks, encoding, byte order mark and mode stay.
3. A file that changed on disk since the agent last saw it is not written over; it must be read
   again first.
4. Several edits of one call are made all or not at all.
5. Files are reached through the fence; reading outside the agent's folder needs the very place the
   gate has judged.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from modules.records.decisions import PathOp, PathSubject, Risk
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from modules.safety.fence import FileContent, FileKind, FileStat, read_outside
from tools.lane_context import LaneContext
from tools.replacement import Edit, NewText, OldText, ReplaceAll, replaced
from tools.text_diff import short_diff
from tools.text_file import TextFile, line_breaks, read_text
from tools.text_window import CHARACTERS_LIMIT, LINES_LIMIT, shown_text

ENTRIES_LIMIT = 500
READ_LIMIT_BYTES = 20_000_000

FilePath = Annotated[
    str, msgspec.Meta(description="The file, relative to your folder or absolute.", min_length=1)
]


class ReadFileInput(Record):
    """A file to read, or a part of it."""

    path: FilePath
    offset: Annotated[int, msgspec.Meta(description="First line to show, from 1.", ge=1)] = 1
    limit: Annotated[
        int, msgspec.Meta(description="Number of lines to show.", ge=1, le=LINES_LIMIT)
    ] = LINES_LIMIT


class WriteFileInput(Record):
    """A whole file to write."""

    path: FilePath
    content: Annotated[str, msgspec.Meta(description="The whole new text of the file.")]


class EditFileInput(Record):
    """One replacement in a file."""

    path: FilePath
    old_text: OldText
    new_text: NewText
    replace_all: ReplaceAll = False


class MultiEditInput(Record):
    """Several replacements in one file."""

    path: FilePath
    edits: Annotated[
        tuple[Edit, ...],
        msgspec.Meta(description="Made in order, each on what the one before left.", min_length=1),
    ]


class DeleteFileInput(Record):
    """A file to delete."""

    path: FilePath


class ListDirInput(Record):
    """A folder to list."""

    path: Annotated[str, msgspec.Meta(description="The folder.", min_length=1)] = "."


async def read_file(given: ReadFileInput, context: LaneContext) -> ToolResult:
    """Returns the text of a file, or of a part of it."""
    real = context.real_path(given.path)
    content = _read(given.path, real, context)
    file = read_text(content.data, given.path)
    context.read_files[real] = content.stat
    return ToolResult(
        text=shown_text(file, path=given.path, offset=given.offset, limit=given.limit)
    )


async def write_file(given: WriteFileInput, context: LaneContext) -> ToolResult:
    """Writes a whole file."""
    real = context.real_path(given.path)
    old = context.fence.stat(given.path)
    _check_unchanged(given.path, old, context.read_files.get(real))
    data = TextFile(given.content).encoded()
    before = _text_before(given.path, old, context)
    context.fence.write_bytes(given.path, data, expected=old)
    _remember(given.path, real, context)
    verb = "Created" if old is None else "Wrote"
    lines = [f"{verb} {given.path}: {len(data)} bytes."]
    if before is not None:
        lines += [*_lost_peculiarities(before, given.content)]
        lines.append(short_diff(before.text, given.content) or "[the text is the same as before]")
    return ToolResult(text="\n".join(lines))


async def edit_file(given: EditFileInput, context: LaneContext) -> ToolResult:
    """Makes one replacement in a file."""
    edit = Edit(old_text=given.old_text, new_text=given.new_text, replace_all=given.replace_all)
    return _edit(given.path, (edit,), context)


async def multi_edit(given: MultiEditInput, context: LaneContext) -> ToolResult:
    """Makes several replacements in a file, or none of them."""
    return _edit(given.path, given.edits, context)


async def delete_file(given: DeleteFileInput, context: LaneContext) -> ToolResult:
    """Deletes a file."""
    real = context.real_path(given.path)
    context.fence.delete(given.path)
    context.read_files.pop(real, None)
    return ToolResult(text=f"Deleted {given.path}.")


async def list_dir(given: ListDirInput, context: LaneContext) -> ToolResult:
    """Returns the names in a folder."""
    folder = context.real_path(given.path)
    entries = context.fence.list_folder(given.path)
    visible = [entry for entry in entries if not context.hides(folder / entry.name)]
    signs = {FileKind.FOLDER: "/", FileKind.LINK: "@"}
    lines = [
        entry.name.encode(errors="replace").decode() + signs.get(entry.kind, "")
        for entry in visible[:ENTRIES_LIMIT]
    ]
    if len(visible) > ENTRIES_LIMIT:
        lines.append(f"[{len(visible) - ENTRIES_LIMIT} more names; use glob with a pattern]")
    if len(visible) < len(entries):
        lines.append(f"[{len(entries) - len(visible)} files that hold secrets are not shown]")
    return ToolResult(text="\n".join(lines) or "(empty folder)")


def _read(path: str, real: Path, context: LaneContext) -> FileContent:
    if os.path.isdir(real):  # noqa: PTH112 - Path raises for a name that is too long
        raise ModelFault(f"{path!r} is a folder; list_dir shows what is in it.")
    if real.is_relative_to(context.fence.root):
        return context.fence.read(path, limit_bytes=READ_LIMIT_BYTES)
    return read_outside(real, limit_bytes=READ_LIMIT_BYTES)


def _edit(path: str, edits: tuple[Edit, ...], context: LaneContext) -> ToolResult:
    real = context.real_path(path)
    content = context.fence.read(path, limit_bytes=READ_LIMIT_BYTES)
    _check_unchanged(path, content.stat, context.read_files.get(real))
    file = read_text(content.data, path)
    text, count = _all_replaced(path, file.text, edits)
    context.fence.write_bytes(path, file.with_text(text).encoded(), expected=content.stat)
    _remember(path, real, context)
    replacements = "1 replacement" if count == 1 else f"{count} replacements"
    return ToolResult(text=f"Edited {path}: {replacements}.\n{short_diff(file.text, text)}")


def _all_replaced(path: str, text: str, edits: tuple[Edit, ...]) -> tuple[str, int]:
    original, total = text, 0
    for number, edit in enumerate(edits, 1):
        try:
            text, count = replaced(text, edit)
        except ModelFault as error:
            which = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            raise ModelFault(f"{which}{error}\n{path!r} was not changed.") from error
        total += count
    if text == original:
        raise ModelFault(f"The edits undo each other; {path!r} was not changed.")
    return text, total


def _check_unchanged(path: str, now: FileStat | None, seen: FileStat | None) -> None:
    if seen is None or now is None:
        return
    # A changed mode is no changed content.
    if replace(seen, mode=now.mode) != now:
        raise ModelFault(
            f"{path!r} was changed on disk since you last saw it, by a command or somebody else. "
            "It was not written; read it again and decide anew."
        )


def _remember(path: str, real: Path, context: LaneContext) -> None:
    status = context.fence.stat(path)
    if status is not None:
        context.read_files[real] = status


def _text_before(path: str, old: FileStat | None, context: LaneContext) -> TextFile | None:
    """Returns the text that is to be written over, None where there is none to compare with."""
    if old is None or old.size_bytes > READ_LIMIT_BYTES:
        return None
    try:
        return read_text(context.fence.read_bytes(path, limit_bytes=READ_LIMIT_BYTES), path)
    except ModelFault:
        # Not a text: whether it may be written over is the fence's to say, a diff it has not.
        return None


def _lost_peculiarities(before: TextFile, content: str) -> list[str]:
    """Returns notes on what a whole new text does not take over from the old one."""
    notes = []
    if before.peculiarity:
        notes.append(f"[the file was {before.peculiarity}; it is plain UTF-8 now]")
    breaks = line_breaks(before.text)
    if breaks and breaks != line_breaks(content):
        notes.append(f"[{breaks.replace('are', 'were')}; they are as in your text now]")
    return notes


def _subject(path: str, op: PathOp) -> PathSubject:
    return PathSubject(path=path, op=op)


FILE_TOOLS: tuple[Tool[Any, LaneContext], ...] = (
    Tool(
        name="read_file",
        description=(
            "Returns the text of a file, exactly and without line numbers; notes in brackets "
            f"follow it. At most {LINES_LIMIT} lines and {CHARACTERS_LIMIT} characters at once; "
            "go on with offset. Line breaks are shown as LF whatever they are; an edit keeps them."
        ),
        input=ReadFileInput,
        place=Place.LANE,
        subject=lambda given: _subject(given.path, "read"),
        run=read_file,
    ),
    Tool(
        name="write_file",
        description=(
            "Writes a whole file as UTF-8, exactly as given; makes missing folders. To change a "
            "part of a file use edit_file."
        ),
        input=WriteFileInput,
        place=Place.LANE,
        subject=lambda given: _subject(given.path, "write"),
        run=write_file,
        least_risk=Risk.WRITE,
    ),
    Tool(
        name="edit_file",
        description=(
            "Replaces old_text by new_text in a file. old_text must be in the file exactly, and "
            "only once unless replace_all is set; nothing in either text is a pattern. Returns "
            "the diff."
        ),
        input=EditFileInput,
        place=Place.LANE,
        subject=lambda given: _subject(given.path, "edit"),
        run=edit_file,
        least_risk=Risk.WRITE,
    ),
    Tool(
        name="multi_edit",
        description=(
            "Makes several replacements in one file, in order, by the rules of edit_file. When "
            "one can't be made, none is."
        ),
        input=MultiEditInput,
        place=Place.LANE,
        subject=lambda given: _subject(given.path, "edit"),
        run=multi_edit,
        least_risk=Risk.WRITE,
    ),
    Tool(
        name="delete_file",
        description="Deletes a file. A link is deleted itself, not what it leads to.",
        input=DeleteFileInput,
        place=Place.LANE,
        subject=lambda given: _subject(given.path, "delete"),
        run=delete_file,
        least_risk=Risk.WRITE,
    ),
    Tool(
        name="list_dir",
        description="Returns the names in a folder, sorted; `/` marks folders, `@` links.",
        input=ListDirInput,
        place=Place.LANE,
        subject=lambda given: _subject(given.path, "read"),
        run=list_dir,
    ),
)
