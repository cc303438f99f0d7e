"""What an agent in a jail is told of, it can read; what it planted leads nowhere."""

from pathlib import Path

import pytest

from modules.app.gates import laid_beside


@pytest.fixture
def spilled(tmp_path: Path) -> Path:
    path = tmp_path / "outputs" / "call.txt"
    path.parent.mkdir()
    path.write_text("all of it")
    return path


def test_file_is_copied_to_where_the_agent_can_read_it(tmp_path: Path, spilled: Path) -> None:
    temporary = tmp_path / "t1"
    temporary.mkdir()

    told = laid_beside(temporary, spilled)

    assert told == str(temporary / "outputs" / "call.txt")
    assert Path(told).read_text() == "all of it"


@pytest.mark.parametrize("is_folder", [True, False])
def test_link_the_agent_planted_is_not_followed(
    tmp_path: Path, spilled: Path, is_folder: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "call.txt").write_text("the person's")
    temporary = tmp_path / "t1"
    beside = temporary / "outputs"
    temporary.mkdir()
    if is_folder:
        beside.symlink_to(outside)
    else:
        beside.mkdir()
        (beside / "call.txt").symlink_to(outside / "call.txt")

    told = laid_beside(temporary, spilled)

    assert "could not be laid beside you" in told
    assert (outside / "call.txt").read_text() == "the person's"
