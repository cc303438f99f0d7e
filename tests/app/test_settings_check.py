"""Rules and hooks that do nothing are told, each with the place it was written in."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.app.settings_check import settings_warnings
from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.settings import Role, Rules, RuleText, Settings
from modules.safety.hook_settings import read_hooks


def rules(kind: str, *texts: str, source: str = "team.toml") -> Rules:
    return Rules(**{kind: tuple(RuleText(text=text, source=source) for text in texts)})


def role(kind: str, text: str) -> Role:
    return Role(rules=rules(kind, text, source="team.toml, role qa"))


def test_settings_that_all_do_something_give_no_warning(tmp_path: Path) -> None:
    hooks = tmp_path / ".hooks.json"
    entry = {"matcher": "Bash|mcp__docs__.*", "hooks": [{"type": "command", "command": "true"}]}
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [entry], "SessionStart": [entry]}}))
    settings = Settings(
        rules=rules("deny", "Bash(rm *)", "Read(.env)", "WebFetch(domain:x.org)", "mcp__docs"),
        roles={"qa": Role(tools=("bash", "mcp__docs__find"), rules=rules("deny", "submit_work"))},
    )

    assert settings_warnings(settings, Rules(), [read_hooks(hooks)]) == ()


def test_each_thing_that_does_nothing_is_told_once_with_its_place(tmp_path: Path) -> None:
    hooks = tmp_path / ".hooks.json"
    dead = {"matcher": "Bsh", "hooks": [{"type": "command", "command": "true"}]}
    never = {"hooks": [{"type": "command", "command": "true", "if": "Bsh(git *)"}]}
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [dead, never], "Later": [dead]}}))
    settings = Settings(
        rules=rules("deny", "Bsh(rm *)", "Bsh(rm *)"),
        roles={"qa": replace(role("ask", "Grpe"), tools=("bsh",))},
    )

    found = settings_warnings(
        settings, rules("allow", "WebFetch(x.org)", source="grants"), [read_hooks(hooks)]
    )

    assert found == (
        "The allow rule 'WebFetch(x.org)' in 'grants' does nothing: "
        "write it as WebFetch(domain:…).",
        "The deny rule 'Bsh(rm *)' in 'team.toml' does nothing: there is no tool 'Bsh'.",
        "The ask rule 'Grpe' in 'team.toml, role qa' does nothing: there is no tool 'Grpe'.",
        "The role 'qa' names the tool 'bsh', which there is not.",
        ".hooks.json: there is no event 'Later'; its hooks never run.",
        ".hooks.json, PreToolUse 1: the matcher 'Bsh' meets no tool.",
        ".hooks.json, PreToolUse 2: its `if` 'Bsh(git *)' can be met by no call.",
    )


@pytest.mark.parametrize("text", ["Bash(", "Bash()", "Read(!x)", "Bash(a:*b)"])
@pytest.mark.parametrize("kind", ["allow", "ask", "deny"])
def test_malformed_rule_of_any_source_stops_the_start_and_is_named(kind: str, text: str) -> None:
    sources = [
        (Settings(rules=rules(kind, text)), Rules(), "team.toml"),
        (Settings(), rules(kind, text, source="grants"), "grants"),
        (Settings(roles={"qa": role(kind, text)}), Rules(), "team.toml, role qa"),
    ]

    for settings, granted, source in sources:
        with pytest.raises(PersonFault) as caught:
            settings_warnings(settings, granted, [])

        assert f"{text!r} in {source!r} is malformed" in str(caught.value)
        assert caught.value.exit_code is Exit.USAGE


def test_hook_with_a_condition_nobody_asks_is_told(tmp_path: Path) -> None:
    hooks = tmp_path / ".hooks.json"
    entry = {"hooks": [{"type": "command", "command": "true", "if": "Bash(git *)"}]}
    hooks.write_text(json.dumps({"hooks": {"Stop": [entry]}}))

    found = settings_warnings(Settings(), Rules(), [read_hooks(hooks)])

    assert found == (
        ".hooks.json, Stop 1: an `if` counts for calls alone; "
        "the hook runs whenever its moment comes.",
    )


def test_malformed_condition_of_a_hook_stops_the_start(tmp_path: Path) -> None:
    hooks = tmp_path / ".hooks.json"
    entry = {"hooks": [{"type": "command", "command": "true", "if": "Bash("}]}
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [entry]}}))

    with pytest.raises(PersonFault, match=r"'Bash\(' in '\.hooks\.json, PreToolUse 1'"):
        settings_warnings(Settings(), Rules(), [read_hooks(hooks)])
