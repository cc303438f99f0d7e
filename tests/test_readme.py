"""README.md says what is there: its commands, settings and providers are the program's own."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import typer.main
from pydantic import BaseModel

from modules.app.cli import app
from modules.providers.presets import PRESETS, SCRIPTED
from modules.records.settings import Rules, RuleText
from modules.safety.rule_check import check_rules
from modules.store.settings_file import SettingsFile, UserSettingsFile
from tools.catalog import LANE_TOOLS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?P<kind>.*)\n(?P<text>(?:.*\n)*?)^```$", re.MULTILINE)
NAME = re.compile(r"[a-z][a-z-]*")
COMMAND_ROW = re.compile(r"^\| (`crewyard.+?) \|", re.MULTILINE)
PROVIDER_ROW = re.compile(r"^\| `([a-z]+)` \| `?([A-Z_]*)(?:none)?`? \|", re.MULTILINE)


def blocks(kind: str) -> list[str]:
    return [match["text"] for match in FENCE.finditer(README) if match["kind"] == kind]


def command_lines() -> list[list[str]]:
    """Returns the words of every `crewyard` line in the shell blocks, without the program."""
    lines = [shlex.split(line, comments=True) for text in blocks("sh") for line in text.split("\n")]
    return [words[1:] for words in lines if words[:1] == ["crewyard"]]


def table_commands() -> set[tuple[str, ...]]:
    """Returns the commands of the table; a row may name several of one group."""
    found: set[tuple[str, ...]] = set()
    for row in COMMAND_ROW.findall(README):
        first, *others = re.findall(r"`(.+?)`", row)
        words = tuple(word for word in first.split()[1:] if NAME.fullmatch(word))
        found.add(words)
        found |= {(*words[:-1], other) for other in others}
    return found - {()}


def program_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Returns the path of every command that does something, the program's own left out."""
    inner = getattr(command, "commands", {})
    if path and (not inner or command.invoke_without_command):
        yield path
    for name, child in inner.items():
        yield from program_commands(child, (*path, name))


def test_table_names_every_command_and_no_other() -> None:
    program = set(program_commands(typer.main.get_command(app)))

    assert table_commands() == program


@pytest.mark.parametrize("words", command_lines(), ids=" ".join)
def test_command_line_fits_the_program(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]

    options = {option for parameter in command.params for option in parameter.opts}

    assert {word for word in words if word.startswith("-")} - options == set()


def unnamed(table: type[BaseModel], raw: dict[str, Any]) -> Iterator[str]:
    """Returns the settings of `table` that `raw` does not name, tables within it included."""
    for inner_name, field in table.model_fields.items():
        name = field.alias or inner_name
        if name not in raw:
            yield f"{table.__name__}.{name}"
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from unnamed(field.annotation, raw[name])
        elif get_origin(field.annotation) is dict:
            (entry,) = raw[name].values()
            if isinstance(entry, dict):
                yield from unnamed(get_args(field.annotation)[1], entry)


def test_settings_block_is_valid_and_names_every_setting() -> None:
    (text,) = blocks("toml")
    raw = tomllib.loads(text)

    UserSettingsFile.model_validate(raw)

    assert list(unnamed(UserSettingsFile, raw)) == []


def test_settings_for_both_files_stand_before_those_for_ones_own() -> None:
    shared, own = blocks("toml")[0].split("settings.toml alone.\n")

    SettingsFile.model_validate(tomllib.loads(shared))

    assert set(tomllib.loads(own)) & set(SettingsFile.model_fields) == set()


def test_settings_block_has_no_rule_that_does_nothing() -> None:
    permissions = tomllib.loads(blocks("toml")[0])["permissions"]
    rules = Rules(
        **{
            kind: tuple(RuleText(text=text, source="README.md") for text in texts)
            for kind, texts in permissions.items()
        }
    )

    assert check_rules(rules, [tool.name for tool in LANE_TOOLS]) == []


def test_providers_table_names_every_provider_with_its_key() -> None:
    keys = {name: preset.key_variable for name, preset in PRESETS.items()} | {SCRIPTED: ""}

    assert dict(PROVIDER_ROW.findall(README)) == keys


def test_commands_for_ci_run_the_demo() -> None:
    assert "make demo\n" in "".join(blocks("sh ci"))
