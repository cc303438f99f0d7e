"""`gate`: how the gate would decide on a command, a path or an address, and why; nothing is run."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer
from typer import Typer

from modules.app.cli_options import HERE, Json, Mode, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.opening import open_repository_at, settings_for
from modules.records.decisions import PathOp
from modules.records.errors import PersonFault
from modules.records.exits import Exit

if TYPE_CHECKING:
    from modules.safety.permissions import PermissionManager, Standing

Kind = Literal["bash", "path", "url"]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to judge, as a batch line writes it; other keys are passed over."""

    id: str | int | None = None
    kind: Kind
    input: str
    op: PathOp = "write"


def register(app: Typer) -> None:
    """Adds the command to the program."""
    app.command("gate")(gate)


def gate(
    bash: Annotated[
        str | None, typer.Option("--bash", help="A command line.", metavar="CMD")
    ] = None,
    path: Annotated[str | None, typer.Option("--path", help="A file.", metavar="P")] = None,
    op: Annotated[str, typer.Option(help="read, write, edit or delete.")] = "write",
    url: Annotated[str | None, typer.Option("--url", help="An address.", metavar="U")] = None,
    batch: Annotated[
        Path | None,
        typer.Option("--batch", help="Lines of {id, kind, input, op}.", metavar="FILE.jsonl"),
    ] = None,
    mode: Mode = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> None:
    """Tells how the gate would decide, and why; nothing is run."""
    # Other commands need not load the gate.
    from modules.safety.gate_report import judge

    folder = folder_of(repo)
    standing, manager = _standing(folder, mode)
    if batch is not None:
        for item in _read_batch(batch):
            found = judge(item.kind, item.input, item.op, standing, manager)
            print(json.dumps({"id": item.id, **found}, ensure_ascii=False))
        sys.stdout.flush()
        return
    item = _single(bash, path, op, url)
    found = judge(item.kind, item.input, item.op, standing, manager)
    if as_json:
        print_json(found)
    else:
        print_lines(f"{name}: {value}" for name, value in found.items() if value)


def _standing(folder: Path, mode: str | None) -> "tuple[Standing, PermissionManager]":
    """Returns who asks: a worker where the folder lies in a lane, else the lead."""
    from modules.safety.ground import Ground
    from modules.safety.permissions import PermissionManager, Standing
    from modules.safety.sandbox import probe

    opened = open_repository_at(folder)
    settings, _ = settings_for(opened, {"mode": mode})
    root = _lane_root(folder, opened.paths.lanes)
    standing = Standing(
        agent="lead" if root is None else root.name,
        is_worker=root is not None,
        is_jailed=probe(opened.environment).is_jail,
        mode=settings.mode,
        ground=Ground(
            root=root or opened.paths.root,
            main_checkout=opened.paths.root,
            home=opened.environment.home,
            user_folder=opened.environment.user_folder,
            is_worker=root is not None,
            allowed_hosts=settings.web_allow,
        ),
    )
    return standing, PermissionManager(settings.rules, mode=settings.mode)


def _lane_root(folder: Path, lanes: Path) -> Path | None:
    here = folder.resolve()
    if not here.is_relative_to(lanes) or here == lanes:
        return None
    return lanes / here.relative_to(lanes).parts[0]


def _single(bash: str | None, path: str | None, op: str, url: str | None) -> Item:
    given = [
        {"kind": kind, "input": text, "op": op}
        for kind, text in (("bash", bash), ("path", path), ("url", url))
        if text is not None
    ]
    if len(given) != 1:
        raise PersonFault(
            f"{len(given)} things are given to judge.",
            hint="Give one of --bash, --path and --url, or --batch FILE.jsonl.",
        )
    try:
        return msgspec.convert(given[0], type=Item)
    except msgspec.ValidationError as error:
        raise PersonFault(
            f"The operation {op!r} is not one.", hint="Use read, write, edit or delete."
        ) from error


def _read_batch(path: Path) -> Iterator[Item]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise PersonFault(
            f"The batch {str(path)!r} can't be read: {error.strerror}.", hint="Name a file."
        ) from error
    decoder = msgspec.json.Decoder(Item)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise PersonFault(
                f"Line {number} of {str(path)!r} can't be judged: {error}.",
                hint="A line is {id, kind: bash|path|url, input, op}.",
                exit_code=Exit.USAGE,
            ) from error
