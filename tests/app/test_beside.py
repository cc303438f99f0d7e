"""A file laid beside an agent lies where it can read it; what it planted leads nowhere."""

from pathlib import Path

import pytest

from modules.app.beside import laid_beside, write_beside
from modules.records.errors import ModelFault
from modules.safety.fence import Fence


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / ".team" / "tmp" / "t1"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("the person's")
    return folder


def test_file_is_in_the_folder_which_is_made(temporary: Path) -> None:
    path = write_beside(temporary / "outputs", "a.txt", b"all of it")

    assert path == temporary / "outputs" / "a.txt"
    assert path.read_bytes() == b"all of it"


def test_leads_own_folder_of_outputs_takes_files_too(tmp_path: Path) -> None:
    (tmp_path / ".team").mkdir()

    assert write_beside(tmp_path / ".team" / "outputs", "a.txt", b"x").read_bytes() == b"x"


def test_link_in_the_place_of_the_folder_is_not_followed(temporary: Path, outside: Path) -> None:
    (temporary / "outputs").symlink_to(outside)
    Fence(temporary / "outputs").write_bytes("escaped.txt", b"x")
    assert (outside / "escaped.txt").exists()  # the folder itself can't be trusted
    (outside / "escaped.txt").unlink()

    with pytest.raises(ModelFault):
        write_beside(temporary / "outputs", "new.txt", b"x")

    assert [path.name for path in outside.iterdir()] == ["a.txt"]


def test_link_in_the_folder_is_not_followed(temporary: Path, outside: Path) -> None:
    (temporary / "outputs").mkdir()
    (temporary / "outputs" / "a.txt").symlink_to(outside / "a.txt")

    with pytest.raises(ModelFault):
        write_beside(temporary / "outputs", "a.txt", b"x")

    assert (outside / "a.txt").read_text() == "the person's"


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
