"""Tests of modules/team/submission_rules.py and protected_paths in submission.py."""

from pathlib import Path

import pytest

from modules.git.changes import FileChange
from modules.team.submission import protected_paths
from modules.team.submission_rules import (
    ABSENT,
    LINK,
    SUBMODULE,
    case_clashes,
    paths_for_a_person,
    put_back,
    refused_paths,
)
from tests.team.queue_case import make_case

FILE = "100644"


def change(
    path: str, *, old: str = FILE, new: str = FILE, ids: tuple[str, str] = ("1", "2")
) -> FileChange:
    return FileChange(path, old, new, *ids)


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        (".team/board.jsonl", True),
        ("a/.worktrees/x", True),
        (".Team/x", True),
        (".team./x", True),
        ("team/x", False),
        (".teams", False),
    ],
)
def test_refused_paths(path: str, is_refused: bool) -> None:
    assert refused_paths([change(path)]) == ([path] if is_refused else [])


@pytest.mark.parametrize(
    ("found", "asks"),
    [
        (change("src/a.py"), False),
        (change(".hooks.json"), True),
        (change(".MCP.json"), True),
        (change("team.toml", new=ABSENT), True),
        (change(".gitmodules"), True),
        (change("docs/.gitattributes"), True),
        (change(".github/workflows/ci.yml"), True),
        (change(".github/README.md"), False),
        (change(".claude/settings.json"), True),
        (change("vendor/lib", new=SUBMODULE), True),
        (change("vendor/lib", old=SUBMODULE, new=ABSENT), True),
        (change(".env"), True),
        (change(".env", new=ABSENT), False),
        (change("link", new=LINK), True),
        (change("inner/link", new=LINK), False),
    ],
)
def test_paths_for_a_person(found: FileChange, asks: bool) -> None:
    links = {"link": "../outside", "inner/link": "../a.txt"}

    assert paths_for_a_person([found], links=links) == ([found.path] if asks else [])


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("b.txt", False),
        ("sub/../b.txt", False),
        ("/etc/passwd", True),
        ("../../x", True),
        (".git/config", True),
        (".team/board.jsonl", True),
    ],
)
def test_paths_for_a_person_when_a_link_leads_out_then_asks(text: str, asks: bool) -> None:
    assert bool(paths_for_a_person([change("l", new=LINK)], links={"l": text})) is asks


def test_case_clashes_then_names_both() -> None:
    existing = ["README.md", "docs/a", "caf\u00e9"]

    clashes = case_clashes(["readme.md", "Docs/b", "cafe\u0301", "docs/c", "New"], existing)

    assert clashes == [
        ("readme.md", "README.md"),
        ("Docs", "docs"),
        ("cafe\u0301", "caf\u00e9"),
    ]


def test_put_back_then_only_exact_old_contents_count() -> None:
    landed = [change("a", ids=("1", "2")), change("b", ids=("1", "2"))]

    paths = put_back(
        [change("a", ids=("2", "1")), change("b", ids=("2", "3"))], landed_since=landed
    )

    assert paths == ["a"]


def test_protected_paths_of_a_submission_then_landed_ones_do_not_count(tmp_path: Path) -> None:
    case = make_case(tmp_path)
    lane = case.lane(2)
    case.submit(1, {".hooks.json": "{}\n"})
    case.drain()
    case.repo.git("merge", "-q", "--no-edit", case.queue.landed, at=lane.path)
    (lane.path / "out").symlink_to("/etc/passwd")
    submission = case.work(2, {"team.toml": "x = 1\n", "a.txt": "a\n"}, lane=lane)

    assert protected_paths(case.repository, submission) == ("out", "team.toml")
