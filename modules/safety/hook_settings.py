"""Reads `.hooks.json`: hooks in Claude Code's shape, or in the short one.

    {"hooks": {"PreToolUse": [{"matcher": "bash", "hooks": [
        {"type": "command", "command": "./check.sh", "timeout": 30, "onFailure": "block"}]}]}}
    {"hooks": {"PreToolUse": [{"matcher": "bash", "command": "./check.sh"}]}}

1. A file that can't be understood in full is an error, never a set of fewer hooks: unknown keys,
   keys given twice, other types than `command`, patterns that don't compile.
2. Hooks of an event this program doesn't have are left out with a warning.
3. Claude Code's shape lets a call go on when a hook fails, as there, unless `onFailure` says
   `block`. The short shape blocks, unless `onFailure` says `continue`.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modules.records.errors import PersonFault
from modules.safety.hook_matching import Hook, HookEvent, met_name

if TYPE_CHECKING:
    from modules.safety.hook_file import HookFileModel, HookGroup

_HINT = "Mend the file; until then nothing runs, for there may be a guard in it."


@dataclass(frozen=True, slots=True)
class HookFile:
    """What one file of hooks holds."""

    hooks: tuple[Hook, ...] = ()
    warnings: tuple[str, ...] = ()
    fingerprint: str = ""
    """Of the file's content; empty where there is no file."""


def read_hooks(path: Path) -> HookFile:
    """Reads a file of hooks, nothing where there is none; raises PersonFault for a broken one."""
    data = _read(path)
    if data is None:
        return HookFile()
    hooks: list[Hook] = []
    warnings: list[str] = []
    for event, groups in _checked(_parsed(data, path), path).hooks.items():
        if event not in list(HookEvent):
            warnings.append(f"{path.name}: there is no event {event!r}; its hooks never run.")
            continue
        for number, group in enumerate(groups, 1):
            hooks += _hooks_of(HookEvent(event), group, f"{path.name}, {event} {number}")
    return HookFile(tuple(hooks), tuple(warnings), hashlib.sha256(data).hexdigest())


def fingerprint(path: Path) -> str:
    """Returns what `read_hooks` would say of the file's content as it is now."""
    data = _read(path)
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PersonFault(f"{path} can't be read: {error.strerror}.", hint=_HINT) from error


def _parsed(data: bytes, path: Path) -> object:
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        raise PersonFault(
            f"{path}, line {error.lineno}, column {error.colno}: {error.msg}.", hint=_HINT
        ) from error
    except (ValueError, RecursionError) as error:
        raise PersonFault(f"{path}: {error}.", hint=_HINT) from error


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name!r} is there twice")
        found[name] = value
    return found


def _checked(document: object, path: Path) -> "HookFileModel":
    from pydantic import ValidationError

    from modules.safety.hook_file import HookFileModel

    try:
        return HookFileModel.model_validate(document)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the top"
        raise PersonFault(f"{path}, at {place}: {problem['msg']}.", hint=_HINT) from error


def _hooks_of(event: HookEvent, group: "HookGroup", source: str) -> Iterator[Hook]:
    matcher = group.matcher or ""
    try:
        met_name(matcher, "")
    except re.error as error:
        raise PersonFault(
            f"{source}: the matcher {matcher!r} is no regular expression: {error}.", hint=_HINT
        ) from error
    for entry in group.commands():
        yield Hook(
            event=event,
            matcher=matcher,
            command=entry.command,
            source=source,
            args=None if entry.args is None else tuple(entry.args),
            timeout_seconds=entry.timeout,
            condition=entry.condition,
            blocks_on_failure=entry.on_failure == "block",
        )
