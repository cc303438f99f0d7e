"""What holds of every judgement and decision, whatever is judged."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from modules.records.decisions import Behavior, Mode, PathOp, PathSubject, ShellSubject
from modules.records.settings import Rules, RuleText
from modules.safety.path_risk import assess_path
from modules.safety.permissions import Standing, decide
from modules.safety.shell_risk import assess_shell, read_shell
from modules.safety.url_risk import assess_url
from tests.safety.grounds import worker_ground

TABLE: dict[str, dict[str, list[str]]] = yaml.safe_load(
    Path(__file__).with_name("shell_cases.yaml").read_text(encoding="utf-8")
)
COMMANDS = [
    command for groups in TABLE.values() for commands in groups.values() for command in commands
]
ONE_LINERS = [command for command in COMMANDS if "\n" not in command and "#" not in command]
PIECES = [
    *(
        "ls",
        "rm",
        "sudo",
        "git",
        "cat",
        "echo",
        "x",
        "-rf",
        "/",
        "~",
        ".env",
        "$X",
        "${X",
        "}",
        "$(",
    ),
    *(
        ")",
        "`",
        "'",
        '"',
        "\\",
        "\n",
        ";",
        "&",
        "|",
        "<",
        ">",
        "<<E\n",
        "E\n",
        "{",
        "#",
        "*",
        "=",
        "((",
        "[",
    ),
    *(
        "[[",
        "]]",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "case",
        "esac",
        "\t",
        "é",
        "\u200b",
        "a=1",
    ),
]
STRANGE = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join) | st.lists(
    st.sampled_from(PIECES), max_size=25
).map("".join)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
RULES = st.sampled_from(
    [
        *(
            "Bash",
            "Bash(git *)",
            "Bash(rm:*)",
            "Bash(* -rf *)",
            "Bash(ls)",
            "Bash(make)",
            "bash:run",
        ),
        *(
            "bash:write",
            "bash:rm",
            "Edit",
            "Edit(src/**)",
            "Read(.env)",
            "Write(*.py)",
            "*",
            "mcp__a",
        ),
    ]
)
GENEROUS = [Behavior.DENY, Behavior.ASK, Behavior.ALLOW]


def texts(rules: list[str]) -> tuple[RuleText, ...]:
    return tuple(RuleText(text=text, source="settings") for text in rules if text != "*")


def standing(mode: Mode, *, is_jailed: bool) -> Standing:
    return Standing(
        agent="w1", is_worker=True, is_jailed=is_jailed, mode=mode, ground=worker_ground()
    )


@given(STRANGE | ANY_TEXT)
@settings(max_examples=300, deadline=None)
def test_assess_shell_when_anything_is_given_then_it_is_judged(command: str) -> None:
    reading = read_shell(command, worker_ground())

    found = reading.assessment
    assert found.risk.rank == max((unit.assessment.risk.rank for unit in reading.units), default=0)
    assert found.risk == "safe" or (found.why and found.categories)


@given(ANY_TEXT, st.sampled_from(["read", "write", "edit", "delete"]))
@settings(max_examples=200, deadline=None)
def test_assess_path_when_anything_is_given_then_it_is_judged(path: str, op: PathOp) -> None:
    found = assess_path(path, op, worker_ground())

    assert found.risk == "safe" or found.why


@given(ANY_TEXT | ANY_TEXT.map(lambda text: f"http://{text}/"))
@settings(max_examples=200, deadline=None)
def test_assess_url_when_anything_is_given_then_it_is_judged(url: str) -> None:
    found = assess_url(url, worker_ground())

    assert found.risk == "safe" or found.why


@given(
    st.sampled_from(ONE_LINERS), st.sampled_from(COMMANDS), st.sampled_from(["; ", "\n", " && "])
)
@settings(max_examples=300, deadline=None)
def test_assess_shell_when_two_commands_are_joined_then_both_risks_count(
    first: str, second: str, sign: str
) -> None:
    ground = worker_ground()

    whole = assess_shell(f"{first}{sign}{second}", ground)

    parts = [assess_shell(first, ground), assess_shell(second, ground)]
    if first.startswith(("cd ", "(cd")) or "cd " in first:
        parts = parts[:1]
    assert whole.risk.rank >= max(part.risk.rank for part in parts)


@pytest.mark.slow
@given(STRANGE, st.sampled_from(ONE_LINERS))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_assess_shell_when_a_command_follows_strange_text_then_the_risk_is_no_lower(
    strange: str, command: str
) -> None:
    ground = worker_ground()
    alone = read_shell(strange, ground)
    assume(alone.is_parsed)

    whole = assess_shell(f"{strange}; {command}", ground)

    assert whole.risk.rank >= alone.assessment.risk.rank


@given(
    st.sampled_from(COMMANDS),
    st.lists(RULES, max_size=4),
    st.lists(RULES, max_size=2),
    st.lists(RULES, max_size=2),
    RULES,
    st.sampled_from(Mode),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_decide_when_a_deny_rule_is_added_then_nothing_more_is_allowed(
    command: str,
    allow: list[str],
    ask: list[str],
    deny: list[str],
    added: str,
    mode: Mode,
    is_jailed: bool,
) -> None:
    stands = standing(mode, is_jailed=is_jailed)
    rules = Rules(allow=texts(allow), ask=texts(ask), deny=texts(deny))
    more = rules + Rules(deny=(RuleText(text=added, source="settings"),))
    subject = ShellSubject(command=command)

    before = decide(stands, "bash", {}, subject, rules).behavior
    after = decide(stands, "bash", {}, subject, more).behavior

    assert GENEROUS.index(after) <= GENEROUS.index(before)


@given(st.sampled_from(COMMANDS), st.lists(RULES, max_size=3), st.booleans())
@settings(max_examples=300, deadline=None)
def test_decide_when_the_mode_rises_then_nothing_is_allowed_less(
    command: str, allow: list[str], is_jailed: bool
) -> None:
    rules = Rules(allow=texts(allow))
    subject = ShellSubject(command=command)

    behaviors = [
        decide(standing(mode, is_jailed=is_jailed), "bash", {}, subject, rules).behavior
        for mode in Mode
    ]

    ranks = [GENEROUS.index(behavior) for behavior in behaviors]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("op", ["read", "write", "edit", "delete"])
@given(path=st.sampled_from(["src/a.py", ".env", "CLAUDE.md", "/etc/x", "../w2/x"]))
@settings(deadline=None)
def test_decide_when_the_mode_rises_then_no_file_is_allowed_less(op: PathOp, path: str) -> None:
    subject = PathSubject(path=path, op=op)

    behaviors = [
        decide(standing(mode, is_jailed=False), "edit_file", {}, subject, Rules()).behavior
        for mode in Mode
    ]

    ranks = [GENEROUS.index(behavior) for behavior in behaviors]
    assert ranks == sorted(ranks)


def test_decide_when_the_agent_is_the_lead_then_a_jail_changes_nothing() -> None:
    lead = replace(standing(Mode.AUTO, is_jailed=True), is_worker=False)

    assert decide(lead, "bash", {}, ShellSubject(command="make"), Rules()).behavior == "ask"
