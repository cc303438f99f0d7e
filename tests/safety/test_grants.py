from pathlib import Path

import pytest

from modules.records.errors import PersonFault
from modules.records.settings import RuleText
from modules.safety.grants import Grants


def test_grant_is_there_for_the_next_run_of_the_same_repository_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"

    Grants(tmp_path, one).add("Bash(make)")
    Grants(tmp_path, one).add("Bash(make)")

    source = str(tmp_path / "grants.json")
    assert Grants(tmp_path, one).rules().allow == (RuleText(text="Bash(make)", source=source),)
    assert Grants(tmp_path, other).rules().allow == ()


def test_file_that_is_broken_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "grants.json").write_text("{")

    with pytest.raises(PersonFault, match=r"grants\.json"):
        Grants(tmp_path, tmp_path).add("Bash(make)")

    assert (tmp_path / "grants.json").read_text() == "{"
