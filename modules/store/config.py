"""Settings from every source; the only reader of the process's environment.

1. Sources, from weakest to strongest: the defaults, `team.toml`, the person's own
   `settings.toml`, the environment (`CREWYARD_*`), the command line.
2. The `team.toml` of a folder nobody trusts may only hold back: its ask and deny rules count,
   nothing else does; that it is broken is told all the same.
3. A stronger source replaces a value; permission rules of all sources hold together, and roles are
   joined as role_settings says.
4. An unknown key or a wrong value is an error that names the file and the nearest known key.
5. `models` (addresses and keys), `web`, `mcp` and `sandbox` come from the person's own file alone.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from modules.records.errors import PersonFault
from modules.records.settings import (
    Environment,
    Limit,
    ModelEntry,
    Settings,
)
from modules.store.role_settings import joined_roles, rules_of

if TYPE_CHECKING:
    from pydantic import BaseModel

USER_SETTINGS = "settings.toml"
_TABLES = frozenset(
    {"budget", "permissions", "roles", "models", "web", "mcp", "sandbox", "lane", "queue"}
)
_VARIABLES = {
    "CREWYARD_MODEL": "model",
    "CREWYARD_WORKER_MODEL": "worker_model",
    "CREWYARD_WORKERS": "workers",
    "CREWYARD_MODE": "mode",
    "CREWYARD_CHECK": "check",
    "CREWYARD_TARGET": "target",
}


def read_environment(variables: Mapping[str, str] = os.environ) -> Environment:
    """Returns what the program takes from its process's environment."""
    home = Path(variables.get("HOME") or Path("~").expanduser())
    return Environment(
        variables=dict(variables),
        home=home,
        user_folder=_user_folder(variables),
        is_sandbox_off=variables.get("CREWYARD_SANDBOX", "").lower() == "off",
    )


def read_settings(
    environment: Environment, *, team_file: Path, is_trusted: bool, flags: Mapping[str, object]
) -> Settings:
    """Returns the settings of one run; `flags` holds the command line's own, None for unset."""
    settings = _with_file(Settings(), team_file, is_users=False)
    if not is_trusted:
        settings = Settings(rules=replace(settings.rules, allow=()))
    settings = _with_file(settings, environment.user_folder / USER_SETTINGS, is_users=True)
    given = {
        field: environment.variables[name]
        for name, field in _VARIABLES.items()
        if environment.variables.get(name)
    }
    settings = _with_values(settings, given, source="the environment")
    set_flags = {name: value for name, value in flags.items() if value is not None}
    return _with_values(settings, set_flags, source="the command line")


def _user_folder(variables: Mapping[str, str]) -> Path:
    if variables.get("CREWYARD_HOME"):
        return Path(variables["CREWYARD_HOME"]).expanduser().absolute()
    from platformdirs import user_config_path

    return user_config_path("crewyard")


def _with_values(settings: Settings, values: Mapping[str, object], *, source: str) -> Settings:
    try:
        changed = msgspec.convert(dict(values), type=Settings, strict=False)
    except msgspec.ValidationError as error:
        raise PersonFault(
            f"A setting from {source} is not usable: {error}.",
            hint="Correct it; `--help` and README list what each takes.",
        ) from error
    given = {name: getattr(changed, name) for name in values}
    return replace(settings, **given)


def _with_file(settings: Settings, path: Path, *, is_users: bool) -> Settings:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return settings
    except (OSError, UnicodeDecodeError) as error:
        raise PersonFault(
            f"The settings file {path} can't be read: {error}.", hint="Make it a UTF-8 text file."
        ) from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PersonFault(
            f"The settings file {path} is not valid TOML: {error}.", hint="Correct that line."
        ) from error
    return _merged(settings, _validated(path, raw, is_users=is_users), source=str(path))


def _validated(path: Path, raw: dict[str, Any], *, is_users: bool) -> "SettingsFile":
    from pydantic import ValidationError

    model = _file_model(is_users=is_users)
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            hint = _hint_on_unknown(model, first["loc"], is_users=is_users)
            raise PersonFault(
                f"The settings file {path} has an unknown key {where!r}.", hint=hint
            ) from error
        raise PersonFault(
            f"The settings file {path} has a wrong value at {where!r}: {first['msg']}.",
            hint="Correct it; README lists the settings.",
        ) from error


def _hint_on_unknown(
    model: "type[BaseModel]", loc: tuple[int | str, ...], *, is_users: bool
) -> str:
    key = str(loc[-1])
    if not is_users and len(loc) == 1 and key in _file_model(is_users=True).model_fields:
        return f"Move it to your own {USER_SETTINGS}; it is not the project's to set."
    known = _known_keys(model, loc[:-1])
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
    if nearest:
        return f"Did you mean {nearest[0]!r}?"
    return f"The keys there are: {', '.join(sorted(known))}."


def _known_keys(model: "type[BaseModel]", path: tuple[int | str, ...]) -> list[str]:
    from pydantic import BaseModel

    for part in path:
        field = model.model_fields.get(str(part))
        if field is None:  # the key of a table such as [roles.NAME]
            continue
        for candidate in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                model = candidate
    return [field.alias or name for name, field in model.model_fields.items()]


def _merged(settings: Settings, file: "SettingsFile", *, source: str) -> Settings:
    given = file.model_dump(exclude_unset=True, by_alias=True)
    simple = {name: value for name, value in given.items() if name not in _TABLES}
    settings = _with_values(settings, simple, source=source)
    budget = given.get("budget", {})
    sandbox = given.get("sandbox", {})
    return replace(
        settings,
        budget_usd=budget.get("usd", settings.budget_usd),
        budget_tokens=budget.get("tokens", settings.budget_tokens),
        budget_minutes=budget.get("minutes", settings.budget_minutes),
        task_budget=msgspec.convert(budget["task"], type=Limit)
        if "task" in budget
        else settings.task_budget,
        worker_budget=msgspec.convert(budget["worker"], type=Limit)
        if "worker" in budget
        else settings.worker_budget,
        lane=replace(settings.lane, **_lane(given.get("lane", {}))),
        queue=replace(settings.queue, **given.get("queue", {})),
        rules=settings.rules + rules_of(given.get("permissions", {}), source=source),
        web_allow=tuple(given.get("web", {}).get("allow", settings.web_allow)),
        is_mcp_sandboxed=given.get("mcp", {}).get("sandbox", settings.is_mcp_sandboxed),
        mcp_network=given.get("mcp", {}).get("network", settings.mcp_network),
        worker_network=sandbox.get("network", settings.worker_network),
        open_hosts=tuple(sandbox.get("hosts", settings.open_hosts)),
        writable=tuple(sandbox.get("writable", settings.writable)),
        memory_mb=sandbox.get("memory_mb", settings.memory_mb),
        roles=joined_roles(settings.roles, given.get("roles", {}), source=source),
        models={
            **settings.models,
            **msgspec.convert(given.get("models", {}), type=dict[str, ModelEntry]),
        },
    )


def _lane(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def _file_model(*, is_users: bool) -> "type[SettingsFile]":
    from modules.store.settings_file import SettingsFile, UserSettingsFile

    return UserSettingsFile if is_users else SettingsFile


if TYPE_CHECKING:
    from modules.store.settings_file import SettingsFile
