"""Whom a message is for, and what is said where that is nobody."""

import pytest

from modules.records.errors import ModelFault
from modules.team.addresses import everybody, recipients, worker_of

ROLES = {"ann": "backend", "bob": "docs", "w1": "backend", "w2": ""}


@pytest.mark.parametrize(
    ("to", "sender", "found"),
    [
        ("lead", "w1", ["lead"]),
        ("w2", "lead", ["w2"]),
        ("role:backend", "lead", ["ann", "w1"]),
        ("role:backend", "ann", ["w1"]),
        ("role:docs", "lead", ["bob"]),
    ],
)
def test_message_reaches_who_is_named_or_has_the_role(
    to: str, sender: str, found: list[str]
) -> None:
    assert recipients(to, sender=sender, roles=ROLES) == found


@pytest.mark.parametrize(
    ("to", "sender", "what"),
    [
        ("carl", "lead", "There is no agent 'carl'."),
        ("backend", "lead", "There is no agent 'backend'."),
        ("role:qa", "lead", "Nobody else has the role 'qa' now."),
        ("role:docs", "bob", "Nobody else has the role 'docs' now."),
        ("role:", "lead", "Nobody else has the role '' now."),
    ],
)
def test_message_to_nobody_is_refused_with_who_is_there(to: str, sender: str, what: str) -> None:
    with pytest.raises(ModelFault) as caught:
        recipients(to, sender=sender, roles=ROLES)

    there = "There are: lead, ann, bob, w1, w2; role:backend, role:docs."
    assert str(caught.value) == f"{what} {there}"


def test_message_to_a_role_where_nobody_has_any_says_so() -> None:
    with pytest.raises(ModelFault, match=r"There are: lead, w1; no worker has a role\.$"):
        recipients("role:qa", sender="lead", roles={"w1": ""})


def test_message_to_everybody_reaches_all_others_and_is_refused_where_there_are_none() -> None:
    assert everybody(sender="ann", roles=ROLES) == ["bob", "w1", "w2"]
    with pytest.raises(ModelFault, match="No worker is there to read it"):
        everybody(sender="lead", roles={})


def test_worker_of_a_sub_agent_is_whom_its_name_begins_with() -> None:
    assert [worker_of(name) for name in ("w1", "w1/explore-1", "w1/general-2/explore-1")] == [
        "w1"
    ] * 3
