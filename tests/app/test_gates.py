"""What an agent in a jail is told of, it can read, or is told why not."""

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


def test_file_that_can_not_be_laid_there_is_told_of_with_the_reason(
    tmp_path: Path, spilled: Path
) -> None:
    temporary = tmp_path / "t1"
    temporary.mkdir()
    (temporary / "outputs").symlink_to(tmp_path)

    told = laid_beside(temporary, spilled)

    assert "could not be laid beside you" in told
    assert not (tmp_path / "call.txt").exists()
