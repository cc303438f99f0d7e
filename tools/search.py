"""The tools that find files and lines.

1. Both look at the same files: what git does not ignore, without those that hold secrets.
2. What is shown is bounded, in a stable order, and says what is missing.
3. A search that takes too long is ended and says so, whatever the pattern does.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from modules.records.decisions import PathSubject
from modules.records.errors import ModelFault
from modules.records.record import Record
from modules.records.tooling import Place, Tool, ToolResult
from tools.child import Ended, run_child
from tools.file_listing import FileListing, list_files
from tools.glob_pattern import compile_glob
from tools.lane_context import LaneContext

PATHS_LIMIT = 500
LINES_LIMIT = 200
MOST_LINES_LIMIT = 1_000
MOST_CONTEXT = 20
GREP_SECONDS = 10.0

SearchPath = Annotated[
    str, msgspec.Meta(description="Where to look: a folder, yours by default.", min_length=1)
]


class GlobInput(Record):
    """Which files to find."""

    pattern: Annotated[
        str,
        msgspec.Meta(
            description="`*.py` at any depth, `src/**/*.py` below `path`; `{a,b}` is either.",
            min_length=1,
        ),
    ]
    path: SearchPath = "."


class GrepInput(Record):
    """Which lines to find."""

    pattern: Annotated[
        str,
        msgspec.Meta(
            description="A regular expression as Python's `re` takes it, for one line.",
            min_length=1,
        ),
    ]
    path: Annotated[
        str,
        msgspec.Meta(description="Where to look: a folder or one file.", min_length=1),
    ] = "."
    glob: Annotated[
        str, msgspec.Meta(description="Look only into files this glob names, `*.py` say.")
    ] = ""
    ignore_case: Annotated[bool, msgspec.Meta(description="Take upper and lower case as one.")] = (
        False
    )
    context: Annotated[
        int,
        msgspec.Meta(description="Lines to show around each match.", ge=0, le=MOST_CONTEXT),
    ] = 0
    limit: Annotated[
        int, msgspec.Meta(description="Matching lines to show.", ge=1, le=MOST_LINES_LIMIT)
    ] = LINES_LIMIT


class _Line(Record, tag="line", tag_field="kind"):
    """A line the search child found."""

    file: int
    line: int
    text: str
    is_hit: bool


class _End(Record, tag="end", tag_field="kind"):
    """What the search child counted."""

    hits: int
    files: int
    skipped: int


class _Fault(Record, tag="fault", tag_field="kind"):
    """Why the search child could not begin."""

    text: str


@dataclass(frozen=True, slots=True)
class _Area:
    """The files of one search, and how to call them."""

    folder: Path
    prefix: str
    """What stands before a file's name in a result."""
    listing: FileListing


async def glob(given: GlobInput, context: LaneContext) -> ToolResult:
    """Returns the files whose paths match."""
    matches = compile_glob(given.pattern)
    area = await _area(given.path, context)
    found = [path for path in area.listing.paths if matches(path)]
    # Git also lists what is in its index but no longer on disk.
    found = [path for path in found if os.path.lexists(area.folder / path)]
    lines = [_shown(area.prefix + path) for path in found[:PATHS_LIMIT]]
    if len(found) > PATHS_LIMIT:
        lines.append(
            f"[{PATHS_LIMIT} of {len(found)} files are shown; use a narrower pattern or path]"
        )
    return ToolResult(
        text="\n".join([*(lines or ["No file matches."]), *_notes_on_listing(area.listing)])
    )


async def grep(given: GrepInput, context: LaneContext) -> ToolResult:
    """Returns the lines that match."""
    matches = compile_glob(given.glob) if given.glob else None
    area = await _area(given.path, context)
    paths = [path for path in area.listing.paths if matches is None or matches(path)]
    output = bytearray()
    request = {
        "pattern": given.pattern,
        "ignore_case": given.ignore_case,
        "context": given.context,
        "limit": given.limit,
    }
    with _standard_input(json.dumps(request).encode(), paths) as stdin:
        ended = await run_child(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("grep_child.py"))],
            cwd=area.folder,
            environment={},
            timeout_seconds=GREP_SECONDS,
            on_output=output.extend,
            stdin=stdin,
        )
    found = _found(bytes(output), ended)
    end = found[-1] if found and isinstance(found[-1], _End) else None
    lines = [message for message in found if isinstance(message, _Line)]
    shown = list(_listed(lines, [_shown(area.prefix + path) for path in paths], given.context))
    notes = _notes_on_end(end, lines) + _notes_on_listing(area.listing)
    return ToolResult(
        text="\n".join([*(shown or ["No line matches."]), *notes]), is_error=end is None
    )


async def _area(path: str, context: LaneContext) -> _Area:
    real = context.real_path(path)
    if os.path.isdir(real):  # noqa: PTH112 - Path raises for a name that is too long
        folder = real
        listing = await asyncio.to_thread(
            list_files, folder, environment=context.environment, hides=context.hides
        )
    elif not os.path.lexists(real):
        raise ModelFault(f"{path!r} does not exist.")
    elif context.hides(real):
        raise ModelFault(f"{path!r} holds secrets and is not searched.")
    else:
        folder = real.parent
        listing = FileListing((real.name,), hidden=0, is_complete=True)
    root = Path(os.path.realpath(context.root))
    where = os.path.relpath(folder, root) if folder.is_relative_to(root) else str(folder)
    return _Area(folder, "" if where == "." else f"{where.rstrip('/')}/", listing)


@contextmanager
def _standard_input(request: bytes, paths: Sequence[str]) -> Iterator[int]:
    """Gives a file in memory; a pipe could fill up while nobody reads it yet."""
    descriptor = os.memfd_create("grep")
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(request + b"\0" + b"\0".join(os.fsencode(path) for path in paths))
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _found(output: bytes, ended: Ended) -> list[_Line | _End | _Fault]:
    if ended.exit_code != 0 and not ended.timed_out:
        raise ModelFault(
            f"The search broke off (exit code {ended.exit_code}). Narrow `path` or `glob`."
        )
    whole_lines = output[: output.rfind(b"\n") + 1].splitlines()
    found = [msgspec.json.decode(line, type=_Line | _End | _Fault) for line in whole_lines]
    for message in found:
        if isinstance(message, _Fault):
            raise ModelFault(f"The pattern is not a regular expression: {message.text}.")
    return found


def _listed(lines: list[_Line], names: list[str], context: int) -> Iterator[str]:
    last: tuple[int, int] | None = None
    for line in lines:
        if context and last is not None and (line.file, line.line - 1) != last:
            yield "--"
        sign = ":" if line.is_hit else "-"
        yield f"{names[line.file]}{sign}{line.line}{sign}{line.text}"
        last = (line.file, line.line)


def _notes_on_end(end: _End | None, lines: list[_Line]) -> list[str]:
    if end is None:
        return [
            f"[stopped after {GREP_SECONDS:g} s, before all files were searched; use a simpler "
            "pattern, or narrow `path` or `glob`]"
        ]
    notes = []
    shown = sum(line.is_hit for line in lines)
    if shown < end.hits:
        notes.append(f"[{shown} of {end.hits} matching lines in {end.files} files are shown]")
    if end.skipped:
        notes.append(f"[{end.skipped} files were not searched: binary or over 5 MB]")
    return notes


def _notes_on_listing(listing: FileListing) -> list[str]:
    notes = []
    if listing.hidden:
        notes.append(f"[{listing.hidden} files that hold secrets were left out]")
    if not listing.is_complete:
        notes.append("[there were too many files to list them all; use a narrower path]")
    return notes


def _shown(path: str) -> str:
    """Returns a path fit for text: bytes in it that are not UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="replace")


def _reads(path: str) -> PathSubject:
    return PathSubject(path=path, op="read")


SEARCH_TOOLS: tuple[Tool[Any, LaneContext], ...] = (
    Tool(
        name="glob",
        description=(
            "Returns the files whose paths match a glob, sorted. Files that git ignores are left "
            "out, unless `path` itself is ignored."
        ),
        input=GlobInput,
        place=Place.LANE,
        subject=lambda given: _reads(given.path),
        run=glob,
    ),
    Tool(
        name="grep",
        description=(
            "Searches files for a regular expression, line by line, and returns "
            "`path:line:text`. It looks at the same files as glob."
        ),
        input=GrepInput,
        place=Place.LANE,
        subject=lambda given: _reads(given.path),
        run=grep,
    ),
)
