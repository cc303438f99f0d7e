"""Tests of modules/team/file_search.py: what globs name, and where they do not lead."""

from pathlib import Path

import pytest

from modules.team.file_search import FileSearch, TooMuchToSee

FILES = (
    ".env",
    "a.ini",
    "config/a.ini",
    "config/deep/er/a.ini",
    "config/deep/b.ini",
    "node_modules/pkg/a.ini",
    "sub/node_modules/pkg/a.ini",
    ".venv/a.ini",
    ".git/a.ini",
    ".team/a.ini",
    ".worktrees/t1/a.ini",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (root / "elsewhere").symlink_to(root / "config", target_is_directory=True)
    return root


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        (".env", {".env"}),
        ("*.ini", {"a.ini"}),
        ("*/a.ini", {"config/a.ini", ".venv/a.ini", ".git/a.ini", ".team/a.ini"}),
        ("config/?.ini", {"config/a.ini"}),
        ("**/a.ini", {"a.ini", "config/a.ini", "config/deep/er/a.ini"}),
        ("config/**", {"config/a.ini", "config/deep/er/a.ini", "config/deep/b.ini"}),
        ("**/**/deep/**/[ab].ini", {"config/deep/er/a.ini", "config/deep/b.ini"}),
        ("**/node_modules/*/a.ini", {"node_modules/pkg/a.ini", "sub/node_modules/pkg/a.ini"}),
        ("node_modules/**", {"node_modules/pkg/a.ini"}),
        ("elsewhere/*.ini", set()),
        ("else*", {"elsewhere"}),
        ("config", set()),
        ("nowhere/**/x", set()),
    ],
)
def test_find_then_it_names_what_the_glob_does(root: Path, glob: str, found: set[str]) -> None:
    assert FileSearch(root).find([glob]) == found


def test_find_when_there_is_too_much_then_it_ends(root: Path) -> None:
    for number in range(30):
        (root / "config" / str(number)).write_text("x")

    with pytest.raises(TooMuchToSee):
        FileSearch(root, most_seen=30).find(["**/a.ini"])
    assert FileSearch(root, most_seen=30).find(["*.ini"]) == {"a.ini"}
    assert len(FileSearch(root, most_seen=None).find(["config/**"])) == 33
