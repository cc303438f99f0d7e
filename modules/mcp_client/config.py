"""The servers of `.mcp.json`.

The file is `{"mcpServers": {name: {command, args, env, cwd, disabled, timeout_seconds}}}`.

1. A file that can't be read whole is never read as empty: it stops the program with its place.
2. `${VAR}` and `${VAR:-default}` are filled in from the variables handed over, nothing else.
3. What is wrong with one server (a variable that is not set, a transport that is not supported)
   is that server's fault alone; the others start.
4. A server's fingerprint covers the entry as it is written, so it is the same on every machine,
   and changes with the command, an argument, the folder, or a variable's name or text.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from modules.mcp_client.values import ServerEntry
from modules.records.errors import PersonFault

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_NO_HTTP = (
    "It is reached by a url, and servers over HTTP are not supported. Give it a command that "
    "speaks MCP on its standard input and output, or set disabled to true."
)


_COVERED = ("command", "args", "env", "cwd", "url", "headers")

ModelT = TypeVar("ModelT", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _StdioServer(_Strict):
    type: Literal["stdio"] = "stdio"
    command: str = Field(min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    disabled: bool = False
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400)


class _HttpServer(BaseModel):
    """An entry of a kind not supported; its other fields are nobody's business here."""

    url: str
    disabled: bool = False


class _File(_Strict):
    mcpServers: dict[str, dict[str, Any]] = {}


class _Unset(Exception):
    """A variable that is not set."""


def read_servers(path: Path, variables: Mapping[str, str]) -> tuple[ServerEntry, ...]:
    """Returns the servers of one file, in its order; none where there is no file.

    Raises PersonFault naming the file, the place in it and what to do.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        _refuse(path, f"can't be read ({error})", error)
    try:
        document = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"are not valid JSON ({error})", error)
    raw = _checked(path, (), _File, document).mcpServers
    return tuple(_entry(path, name, fields, variables) for name, fields in raw.items())


def _entry(
    path: Path, name: str, fields: dict[str, Any], variables: Mapping[str, str]
) -> ServerEntry:
    place = ("mcpServers", name)
    fingerprint = _fingerprint(fields)
    if "url" in fields:
        http = _checked(path, place, _HttpServer, fields)
        return ServerEntry(
            name=name, is_disabled=http.disabled, fingerprint=fingerprint, fault=_NO_HTTP
        )
    server = _checked(path, place, _StdioServer, fields)

    def filled(text: str) -> str:
        return _filled(text, variables)

    try:
        return ServerEntry(
            name=name,
            command=filled(server.command),
            args=tuple(map(filled, server.args)),
            env={key: filled(value) for key, value in server.env.items()},
            cwd=filled(server.cwd),
            is_disabled=server.disabled,
            timeout_seconds=server.timeout_seconds,
            fingerprint=fingerprint,
        )
    except _Unset as error:
        fault = f"The variable {error} of its entry is not set. Set it, or write ${{{error}:-…}}."
        return ServerEntry(
            name=name, is_disabled=server.disabled, fingerprint=fingerprint, fault=fault
        )


def _filled(text: str, variables: Mapping[str, str]) -> str:
    def value_of(match: re.Match[str]) -> str:
        name, default = match.groups()
        value = variables.get(name, default)
        if value is None:
            raise _Unset(name)
        return value

    return _VARIABLE.sub(value_of, text)


def _fingerprint(fields: Mapping[str, Any]) -> str:
    covered = {key: fields.get(key) for key in _COVERED}
    return hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()


def _checked(path: Path, place: tuple[str, ...], model: type[ModelT], document: object) -> ModelT:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, (*place, *first["loc"]))) or "the top level"
        _refuse(path, f"are wrong at {where} ({first['msg']})", error)


def _without_repetition(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document:
            raise ValueError(f"the name {key!r} is given twice in one object")
        document[key] = value
    return document


def _refuse(path: Path, what: str, error: Exception) -> NoReturn:
    raise PersonFault(
        f"The MCP servers in {str(path)!r} {what}.",
        hint="Mend the file, or move it away to work without MCP servers.",
    ) from error
