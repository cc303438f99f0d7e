"""Tests of modules/safety/gate_report.py."""

import pytest

from modules.records.decisions import Mode
from modules.records.errors import PersonFault
from modules.records.settings import Rules, RuleText
from modules.safety.gate_report import judge
from modules.safety.permissions import PermissionManager, Standing
from tests.safety.grounds import worker_ground

STANDING = Standing(agent="w1", is_worker=True, mode=Mode.DEFAULT, ground=worker_ground())
MANAGER = PermissionManager(
    Rules(allow=(RuleText(text="Bash(make:*)", source="user"),)), mode=Mode.DEFAULT
)


def test_judge_when_a_rule_allows_then_the_rule_is_told() -> None:
    assert judge("bash", "make x", "", STANDING, MANAGER) == {
        "risk": "dangerous",
        "categories": ["bash:run"],
        "decision": "allow",
        "rule": "Bash(make:*)",
        "why": "the rule Bash(make:*) allows it",
    }


def test_judge_when_nothing_is_touched_then_it_is_told() -> None:
    assert judge("bash", "ls", "", STANDING, MANAGER) == {
        "risk": "safe",
        "categories": [],
        "decision": "allow",
        "rule": "",
        "why": "it only reads",
    }


@pytest.mark.parametrize(
    ("kind", "text", "op", "risk"),
    [
        ("path", "a.py", "write", "write"),
        ("path", "a.py", "delete", "dangerous"),
        ("path", ".env", "read", "deny"),
        ("url", "https://example.org/", "", "safe"),
        ("url", "http://10.0.0.1/", "", "deny"),
    ],
)
def test_judge_when_a_path_or_an_address_is_given_then(
    kind: str, text: str, op: str, risk: str
) -> None:
    assert judge(kind, text, op, STANDING, MANAGER)["risk"] == risk


@pytest.mark.parametrize(("kind", "op"), [("file", "read"), ("path", "move")])
def test_judge_when_it_is_asked_for_something_else_then_the_person_is_told(
    kind: str, op: str
) -> None:
    with pytest.raises(PersonFault):
        judge(kind, "x", op, STANDING, MANAGER)
