"""Commands about which folders' own settings may be used."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Typer

from modules.app.cli_options import HERE, Json, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.app.opening import open_repository_at
from modules.safety.trust import TrustStore, read_what_would_be_trusted

Folder = Annotated[Path, typer.Argument(help="Folder of the repository.", metavar="[DIR]")]

trust = Typer(help="Say whose settings may be used.", no_args_is_help=True)


def register(app: Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(trust, name="trust")


@trust.command("status")
def status(folder: Folder = HERE, as_json: Json = False) -> None:
    """Tells whether a repository's own settings are used."""
    store, root = _open(folder)
    found = store.status(root)
    shown = read_what_would_be_trusted(root)
    if as_json:
        print_json({"folder": str(root), "status": str(found), "files": list(shown.files)})
    else:
        print_lines([f"{root}: {found}", *shown.lines])


@trust.command("add")
def add(folder: Folder = HERE, as_json: Json = False) -> None:
    """Lets a repository's settings, as they are now, be used."""
    store, root = _open(folder)
    store.add(root)
    _print_status(store, root, as_json=as_json)


@trust.command("deny")
def deny(folder: Folder = HERE, as_json: Json = False) -> None:
    """Lets a repository's settings never be used, and never asks again."""
    store, root = _open(folder)
    store.deny(root)
    _print_status(store, root, as_json=as_json)


@trust.command("remove")
def remove(folder: Folder = HERE, as_json: Json = False) -> None:
    """Forgets what was said about a repository."""
    store, root = _open(folder)
    store.remove(root)
    _print_status(store, root, as_json=as_json)


@trust.command("list")
def list_folders(as_json: Json = False) -> None:
    """Lists what was said about which repository."""
    from modules.store.config import read_environment

    entries = TrustStore(read_environment().user_folder).list()
    if as_json:
        print_json([{"folder": str(e.folder), "status": str(e.status)} for e in entries])
    else:
        print_lines([f"{e.folder}: {e.status}" for e in entries] or ["Nothing was said yet."])


def _open(folder: Path) -> tuple[TrustStore, Path]:
    opened = open_repository_at(folder_of(folder))
    return TrustStore(opened.environment.user_folder), opened.paths.root


def _print_status(store: TrustStore, root: Path, *, as_json: bool) -> None:
    found = store.status(root)
    if as_json:
        print_json({"folder": str(root), "status": str(found)})
    else:
        print_lines([f"{root}: {found}"])
