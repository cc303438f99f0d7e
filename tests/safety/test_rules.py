"""Tests of modules/safety/rules.py, rule_check.py and rule_offer.py."""

import pytest

from modules.records.decisions import PathSubject, Risk, ShellSubject, ToolSubject, UrlSubject
from modules.records.errors import PersonFault
from modules.records.settings import Rules, RuleText
from modules.safety.rule_check import check_rules
from modules.safety.rule_offer import narrowest_rule
from modules.safety.rules import (
    matches_command,
    matches_domain,
    matches_parameter,
    matches_path,
    matches_tool,
    parse_rule,
)
from tests.safety.grounds import worker_ground

ROOTS = ("/repo/.worktrees/w1", "/repo")
TOOLS = ("bash", "read_file", "write_file", "edit_file", "grep", "web_fetch", "board_post_task")


def rule(text: str) -> RuleText:
    return RuleText(text=text, source="team.toml")


@pytest.mark.parametrize(
    ("pattern", "command", "matches"),
    [
        ("npm run build", "npm run build", True),
        ("npm run build", "npm  run   build", True),
        ("npm run build", "npm run build --watch", False),
        ("npm run:*", "npm run", True),
        ("npm run:*", "npm run test", True),
        ("npm run:*", "npm runner", False),
        ("ls *", "ls", True),
        ("ls *", "ls -la", True),
        ("ls *", "lsof", False),
        ("git * main", "git push origin main", True),
        ("git * main", "git push origin main2", False),
        ("echo \\*", "echo *", True),
        ("echo \\*", "echo x", False),
        ("*", "anything at all", True),
        (None, "anything at all", True),
        ("a.c", "abc", False),
    ],
)
def test_matches_command_when_a_pattern_is_given_then(
    pattern: str | None, command: str, matches: bool
) -> None:
    assert matches_command(pattern, command) is matches


def test_matches_command_when_the_whole_command_is_needed_then_a_star_is_not_enough() -> None:
    command = "find . -delete"

    found = [matches_command(p, command, is_exact=True) for p in ("find *", "find . -delete", None)]

    assert found == [False, True, False]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        (".env", "/repo/.worktrees/w1/.env", True),
        (".env", "/repo/.worktrees/w1/a/b/.env", True),
        (".env", "/somewhere/else/.env", True),
        ("secrets/**", "/repo/.worktrees/w1/secrets/a/b", True),
        ("secrets/**", "/repo/secrets/a", True),
        ("secrets/**", "/repo/.worktrees/w1/x/secrets/a", False),
        ("/src/*.py", "/repo/.worktrees/w1/src/a.py", True),
        ("/src/*.py", "/repo/.worktrees/w1/src/a/b.py", False),
        ("./src/", "/repo/.worktrees/w1/src/a/b.py", True),
        ("//etc/**", "/etc/hosts", True),
        ("//etc/**", "/repo/etc/hosts", False),
        ("~/notes/*", "/home/u/notes/a", True),
        ("~/notes/*", "/repo/.worktrees/w1/notes/a", False),
        ("*.pem", "/repo/.worktrees/w1/tls/a.pem", True),
        (None, "/any/where", True),
    ],
)
def test_matches_path_when_a_pattern_is_given_then(
    pattern: str | None, path: str, matches: bool
) -> None:
    assert matches_path(pattern, path, roots=ROOTS, home="/home/u") is matches


@pytest.mark.parametrize(
    ("pattern", "host", "matches"),
    [
        ("domain:example.com", "example.com", True),
        ("domain:Example.COM.", "example.com", True),
        ("domain:example.com", "www.example.com", False),
        ("domain:*.example.com", "a.b.example.com", True),
        ("domain:*.example.com", "example.com", False),
        ("domain:*.example.com", "badexample.com", False),
        ("domain:api-*.example.com", "api-1.example.com", True),
        ("domain:api-*.example.com", "api-1.x.example.com", False),
        ("example.com", "example.com", False),
        (None, "example.com", True),
    ],
)
def test_matches_domain_when_a_pattern_is_given_then(
    pattern: str | None, host: str, matches: bool
) -> None:
    assert matches_domain(pattern, host) is matches


@pytest.mark.parametrize(
    ("text", "tool", "restricts", "matches"),
    [
        ("bash", "bash", False, True),
        ("Bash", "background_run", False, True),
        ("Edit", "multi_edit", False, True),
        ("Edit", "write_file", False, True),
        ("Write", "edit_file", False, True),
        ("Edit", "delete_file", False, False),
        ("Edit", "delete_file", True, True),
        ("Read", "grep", False, True),
        ("Grep", "read_file", True, False),
        ("Agent", "spawn_teammate", False, True),
        ("Task", "subagent", False, True),
        ("mcp__db", "mcp__db__query", False, True),
        ("mcp__db__*", "mcp__db__query", False, True),
        ("mcp__db__query", "mcp__db__query", False, True),
        ("mcp__db__query", "mcp__db__query_all", False, False),
        ("mcp__db", "mcp__dbx__query", False, False),
        ("mcp__*", "mcp__db__query", False, False),
        ("mcp__*", "mcp__db__query", True, True),
        ("*", "bash", True, True),
        ("*", "bash", False, False),
    ],
)
def test_matches_tool_when_a_rule_names_a_tool_then(
    text: str, tool: str, restricts: bool, matches: bool
) -> None:
    assert matches_tool(parse_rule(rule(text)), tool, restricts=restricts) is matches


def test_matches_parameter_when_a_value_is_given_then_it_must_fit() -> None:
    given: dict[str, object] = {"role": "admin", "count": 3}

    found = [
        matches_parameter(pattern, given)
        for pattern in ("role:admin", "role:adm*", "role:user", "count:3", "name:*", "admin")
    ]

    assert found == [True, True, False, True, False, False]


@pytest.mark.parametrize(
    "text",
    ["", "Bash(", "Bash()", "Bash( )", "Bash(a:* b)", "(x)", "Read(!x)", "Read(a\\)", "Ba sh(x)"],
)
def test_parse_rule_when_it_is_malformed_then_its_source_is_named(text: str) -> None:
    with pytest.raises(PersonFault, match=r"team\.toml") as caught:
        parse_rule(rule(text))

    assert caught.value.hint


def test_check_rules_when_rules_do_something_then_there_is_no_warning() -> None:
    rules = Rules(
        allow=(rule("Bash(npm test:*)"), rule("read_file(docs/**)"), rule("bash:run")),
        ask=(rule("board_post_task(claim_role:admin)"),),
        deny=(rule("WebFetch(domain:example.com)"), rule("mcp__*"), rule("Edit(secrets/**)")),
    )

    assert check_rules(rules, TOOLS) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("allow", "Bsh(ls)"),
        ("deny", "Reed(.env)"),
        ("allow", "mcp__*"),
        ("allow", "*x"),
        ("allow", "board_post_task(claim_role:admin)"),
        ("deny", "board_post_task(admin)"),
        ("deny", "WebFetch(example.com)"),
        ("allow", "Bash(sudo *)"),
        ("allow", "bash:unparsed"),
        ("allow", "Bash(ls)"),
    ],
)
def test_check_rules_when_a_rule_does_nothing_then_a_warning_names_it(kind: str, text: str) -> None:
    rules = Rules(deny=(rule("Bash(ls)"),)) if text == "Bash(ls)" else Rules()

    warnings = check_rules(rules + Rules(**{kind: (rule(text),)}), TOOLS)

    assert [text in warning and "team.toml" in warning for warning in warnings] == [True]


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("pytest -q tests/x.py", "Bash(pytest:*)"),
        ("cd src && pytest", "Bash(pytest:*)"),
        ("npm run build -- --watch", "Bash(npm run build:*)"),
        ("git commit -m x", "Bash(git commit:*)"),
        ("cargo test --all", "Bash(cargo test:*)"),
        ("python -m pytest -q", "Bash(python -m pytest:*)"),
        ("python tools/gen.py --all", "Bash(python tools/gen.py:*)"),
        ("python -c 'print(1)'", "Bash(python -c 'print(1)')"),
        ("rm -rf build", "Bash(rm -rf build)"),
        ("rm *.log", "Bash(rm \\*.log)"),
        ("curl https://example.org", "Bash(curl https://example.org)"),
        ("find . -name x -delete", "Bash(find . -name x -delete)"),
        ("git push", "Bash(git push)"),
        ("touch a; touch b", ""),
        ("ls > out", ""),
        ("sudo ls", ""),
        ("echo `x`", ""),
        ("A=1 pytest", ""),
        ("ls", ""),
    ],
)
def test_narrowest_rule_when_a_command_is_asked_about_then(command: str, offered: str) -> None:
    assert narrowest_rule("bash", ShellSubject(command=command), worker_ground()) == offered


def test_narrowest_rule_when_another_tool_is_asked_about_then() -> None:
    ground = worker_ground()

    offered = [
        narrowest_rule("write_file", PathSubject(path="src/a[1].py", op="write"), ground),
        narrowest_rule("delete_file", PathSubject(path="src/a.py", op="delete"), ground),
        narrowest_rule("web_fetch", UrlSubject(url="https://Docs.Example.org/x"), ground),
        narrowest_rule("web_fetch", UrlSubject(url="nonsense"), ground),
        narrowest_rule("mcp__db__query", ToolSubject(risk=Risk.DANGEROUS), ground),
    ]

    assert offered == [
        "Write(/src/a\\[1\\].py)",
        "Delete(/src/a.py)",
        "WebFetch(domain:docs.example.org)",
        "",
        "mcp__db__query",
    ]
