"""A role that nobody described is told where others are described."""

import pytest

from modules.team.role_rules import undescribed_role


@pytest.mark.parametrize(
    ("role", "described"), [("", {"qa"}), ("qa", {"qa", "backend"}), ("qa", set())]
)
def test_undescribed_role_when_it_is_none_or_described_or_roles_are_labels_then_it_is_not_told(
    role: str, described: set[str]
) -> None:
    assert undescribed_role(role, described) == ""


def test_undescribed_role_when_others_are_described_then_it_is_told_with_those() -> None:
    assert undescribed_role("bakend", {"qa", "backend"}) == (
        "No settings describe the role 'bakend'; they describe: backend, qa. Who takes a task of "
        "that role has default settings."
    )
