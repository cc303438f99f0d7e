import shutil
from pathlib import Path

from modules.git.state import STATE_REF, restore_state, save_state
from tests.repos import NOW, make_repo


def test_state_comes_back_after_its_folder_was_cleaned_away(tmp_path: Path) -> None:
    repository = make_repo(tmp_path).open()
    paths = repository.paths
    paths.results.mkdir(parents=True)
    paths.board.write_bytes(b'{"kind":"added"}\n')
    paths.result(1, 1).write_text("done\n")
    save_state(repository, when=NOW)

    shutil.rmtree(paths.team)
    was_restored = restore_state(repository)

    assert was_restored
    assert paths.board.read_bytes() == b'{"kind":"added"}\n'
    assert paths.result(1, 1).read_text() == "done\n"


def test_state_that_is_the_same_is_not_kept_twice(tmp_path: Path) -> None:
    repository = make_repo(tmp_path).open()
    repository.paths.team.mkdir()
    repository.paths.board.write_bytes(b"{}\n")

    first = save_state(repository, when=NOW)
    second = save_state(repository, when=NOW)

    assert (first, second) == (True, False)
    assert repository.git.text("rev-list", "--count", STATE_REF) == "1"


def test_board_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    repository = make_repo(tmp_path).open()
    repository.paths.team.mkdir()
    repository.paths.board.write_bytes(b"old\n")
    save_state(repository, when=NOW)
    repository.paths.board.write_bytes(b"new\n")

    assert not restore_state(repository)

    assert repository.paths.board.read_bytes() == b"new\n"
