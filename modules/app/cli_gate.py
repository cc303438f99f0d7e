"""`gate`: how the gate would decide on a command, a path or an address, and why; nothing is run."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer
from typer import Typer

from modules.app.cli_options import HERE, Json, Mode, Repo, folder_of
from modules.app.cli_output import print_json, print_lines, tell_error
from modules.app.visible_text import visible_line
from modules.records.decisions import PathOp
from modules.records.errors import PersonFault
from modules.records.exits import Exit

if TYPE_CHECKING:
    from modules.app.asking_agent import AskingAgent

Kind = Literal["bash", "path", "url"]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to judge, as a batch line writes it; other keys are passed over."""

    id: str | int | None = None
    kind: Kind
    input: str
    op: PathOp | Literal[""] | None = None
    """What is done to a path; nothing means writing, and on other kinds it is passed over."""


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
    rules: Annotated[
        bool, typer.Option("--rules", help="The rules in force, and no call.")
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="Who asks: lead or worker; without it a worker in a worktree, else the lead.",
            metavar="AGENT",
        ),
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", help="The worker's role.", metavar="ROLE")
    ] = None,
    mode: Mode = None,
    repo: Repo = HERE,
    as_json: Json = False,
) -> int:
    """Tells how the gate would decide, and why; nothing is run."""
    # Other commands need not load the gate.
    from modules.app.asking_agent import asking_agent

    asking = asking_agent(folder_of(repo), agent=agent, role_name=role, mode=mode)
    if batch is not None:
        return _judge_batch(batch, asking)
    if rules:
        _print_rules(asking, as_json=as_json)
        return Exit.DONE
    item = _single(bash, path, op, url)
    found = asking.judge(item.kind, item.input, item.op or "write")
    if as_json:
        print_json(found)
    else:
        print_lines(f"{name}: {value}" for name, value in found.items() if value)
    return Exit.DONE


def _judge_batch(path: Path, asking: "AskingAgent") -> int:
    """Prints one answer a line; a line that can't be judged is refused, and why is told."""
    # Other commands need not load the gate.
    from modules.safety.gate_report import refusal

    exit_code = Exit.DONE
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        name, item = _item(line)
        if isinstance(item, Item):
            found = asking.judge(item.kind, item.input, item.op or "write")
        else:
            why = f"Line {number} of {str(path)!r} can't be judged: {item}."
            tell_error(f"{why} A line is {{id, kind: bash|path|url, input, op}}.")
            found, exit_code = refusal(why), Exit.USAGE
        print(json.dumps({"id": name, **found}, ensure_ascii=False))
    sys.stdout.flush()
    return exit_code


def _item(line: bytes) -> tuple[object, Item | str]:
    """Returns the id a line gives and what it says, or what is wrong with it."""
    try:
        # Unlike msgspec, json takes halves of characters, which have to be judged too.
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        return None, f"it is no JSON: {error}"
    name = given.get("id") if isinstance(given, dict) else None
    try:
        return name, msgspec.convert(given, type=Item)
    except msgspec.ValidationError as error:
        return name, str(error)


def _print_rules(asking: "AskingAgent", *, as_json: bool) -> None:
    from modules.safety.rules_in_force import EFFECT_WORDS, NO_RULES

    found = asking.rules()
    if as_json:
        print_json(
            {
                "agent": asking.standing.agent,
                "role": asking.standing.role,
                "mode": asking.standing.mode,
                "tools": asking.tools,
                "rules": msgspec.to_builtins(found),
            }
        )
        return
    tools = "" if asking.tools is None else f", only these tools: {', '.join(asking.tools)}"
    lines = [visible_line(f"{EFFECT_WORDS[r.effect]} {r.rule} ({r.source})") for r in found]
    print_lines([f"{asking.standing.mode} mode{tools}", *(lines or [NO_RULES])])


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


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise PersonFault(
            f"The batch {str(path)!r} can't be read: {error.strerror}.", hint="Name a file."
        ) from error
