"""Tests of modules/git/changes.py."""

from pathlib import Path

from modules.git.changes import Side, compare, file_changes
from tests.repos import make_repo


def test_compare_then_the_index_of_the_checkout_is_not_read(tmp_path: Path) -> None:
    """git reads it, all of it, before it compares trees; and a broken one would stop it."""
    repo = make_repo(tmp_path)
    repo.commit({"x.txt": "x\n"}, "x")
    old, new = repo.rev("HEAD^^{tree}"), repo.rev("HEAD^{tree}")
    git = repo.open().git
    (repo.root / ".git" / "index").write_bytes(b"broken" * 100)

    assert compare(git, (old, new)) == [Side(["x.txt"], [])]
    assert [change.path for change in file_changes(git, old, new)] == ["x.txt"]
