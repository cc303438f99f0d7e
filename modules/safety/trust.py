"""Whose projects may bring settings that run commands, remembered in the person's own folder.

1. A folder is known by the real path of its main checkout. Nothing in the project itself can say
   that it is trusted.
2. What is trusted is a content: the settings files and the files of the project that the commands
   in them name. Any change of it makes the folder unknown again.
3. A folder that was denied stays denied, whatever changes.
4. A store that can't be read is an error, never an empty one.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from modules.records.errors import ModelFault, PersonFault
from modules.records.record import Record
from modules.safety.fence import Fence
from modules.safety.named_files import fingerprints, named_files
from modules.store.files import write_atomically
from modules.store.locks import held
from modules.store.paths import Paths

STORE_NAME = "folders.json"
_LARGEST_FILE_BYTES = 1_000_000
_LONGEST_LINE_CHARACTERS = 300
_LOCK_SECONDS = 10.0


class TrustStatus(StrEnum):
    """What the person said of a folder's settings."""

    TRUSTED = "trusted"
    DENIED = "denied"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    """They were trusted, but aren't the same any more."""


class TrustEntry(Record):
    """What the person said of one folder."""

    folder: Path
    status: TrustStatus
    """Trusted or denied."""


class _Kept(Record):
    status: TrustStatus
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Offered:
    """What a project brings that could run commands."""

    files: tuple[str, ...]
    """The settings files and the files their commands name, relative to the project."""
    lines: tuple[str, ...]
    """A summary for the person, control characters made visible."""
    fingerprint: str


def read_what_would_be_trusted(root: Path) -> Offered:
    """Returns what a project brings; raises PersonFault for a settings file that can't be read."""
    root = root.resolve()
    paths = Paths(root)
    settings = {
        path.name: data
        for path in (paths.mcp_settings, paths.hook_settings, paths.team_settings)
        if (data := _read(root, path.name)) is not None
    }
    parsed = {name: _parsed(name, data) for name, data in settings.items()}
    named = {
        str(path.relative_to(root)): digest
        for path, digest in fingerprints(named_files(_texts(list(parsed.values())), root))
    }
    hashes = [(name, hashlib.sha256(data).hexdigest()) for name, data in settings.items()]
    hashes += named.items()
    return Offered(
        files=tuple(name for name, _ in hashes),
        lines=tuple(_summary(parsed, tuple(named))),
        fingerprint=hashlib.sha256(json.dumps(sorted(hashes)).encode()).hexdigest(),
    )


class TrustStore:
    """The folders the person has said something of."""

    def __init__(self, user_folder: Path) -> None:
        self._path = user_folder / STORE_NAME

    def status(self, root: Path) -> TrustStatus:
        """Returns what holds for a project's settings as they are now."""
        kept = self._read().get(_key(root))
        if kept is None:
            return TrustStatus.UNKNOWN
        if kept.status is not TrustStatus.TRUSTED:
            return kept.status
        is_same = read_what_would_be_trusted(root).fingerprint == kept.fingerprint
        return TrustStatus.TRUSTED if is_same else TrustStatus.CHANGED

    def add(self, root: Path, offered: Offered | None = None) -> None:
        """Trusts a project's settings: `offered` as it was shown, else what is there now."""
        shown = offered or read_what_would_be_trusted(root)
        self._keep(root, _Kept(status=TrustStatus.TRUSTED, fingerprint=shown.fingerprint))

    def deny(self, root: Path) -> None:
        """Lets a project's settings never be used."""
        self._keep(root, _Kept(status=TrustStatus.DENIED))

    def remove(self, root: Path) -> None:
        """Forgets what was said of a project."""
        self._keep(root, None)

    def list(self) -> list[TrustEntry]:
        """Returns what was said, by folder."""
        return [
            TrustEntry(folder=Path(folder), status=kept.status)
            for folder, kept in sorted(self._read().items())
        ]

    def _read(self) -> dict[str, _Kept]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, _Kept])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise PersonFault(
                f"The list of trusted folders {self._path} can't be read: {error}.",
                hint="Mend the file, or delete it to be asked again about each folder.",
            ) from error

    def _keep(self, root: Path, kept: _Kept | None) -> None:
        with held(
            self._path.with_suffix(".lock"),
            what="The list of trusted folders",
            timeout_seconds=_LOCK_SECONDS,
        ):
            folders = self._read()
            folders.pop(_key(root), None)
            if kept is not None:
                folders[_key(root)] = kept
            data = msgspec.json.format(msgspec.json.encode(folders, order="sorted"), indent=2)
            write_atomically(self._path, data + b"\n", mode=0o600)


def _key(root: Path) -> str:
    return os.path.realpath(root)


def _read(root: Path, name: str) -> bytes | None:
    fence = Fence(root)
    try:
        if fence.stat(name) is None:
            return None
        return fence.read_bytes(name, limit_bytes=_LARGEST_FILE_BYTES)
    except ModelFault as error:
        raise PersonFault(
            f"The project's settings can't be read: {error}",
            hint=f"Make {name!r} a plain file, or remove it.",
        ) from error


def _parsed(name: str, data: bytes) -> object:
    """Returns what a file holds, nothing where it is broken: its reader tells of that."""
    try:
        text = data.decode("utf-8-sig")
        parsed: object = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed


def _texts(value: object) -> Iterator[str]:
    """Returns every text in settings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _summary(settings: Mapping[str, object], named: Sequence[str]) -> Iterator[str]:
    for name, value in settings.items():
        if value is None:
            yield f"{name}: it can't be understood"
        for place, text in _leaves(value):
            yield _shown(f"{name}: {place} = {text}")
    for name in named:
        yield _shown(f"{name}: a command names it")


def _leaves(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Returns each value with its place; a list of plain values counts for one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, 1):
            yield from _leaves(item, f"{place}.{number}")
    elif value is not None:
        yield place, value if isinstance(value, str) else json.dumps(value, default=str)


def _shown(text: str) -> str:
    visible = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(visible) <= _LONGEST_LINE_CHARACTERS:
        return visible
    return f"{visible[:_LONGEST_LINE_CHARACTERS]}… ({len(visible)} characters)"
