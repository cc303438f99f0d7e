"""Many pairs of commits are joined at once, without a trace."""

from pathlib import Path

import pytest

from modules.git.clashes import clashing_paths
from modules.git.merging import attributes_of, merge_trees
from tests.repos import Repo, make_repo


def side(repo: Repo, name: str, files: dict[str, str], *, start: str = "main") -> str:
    """Commits `files` on a branch of their own."""
    repo.git("checkout", "-q", "-b", name, start)
    commit = repo.commit(files, name)
    repo.git("checkout", "-q", "main")
    return commit


def objects(repo: Repo) -> list[Path]:
    return sorted((repo.root / ".git" / "objects").rglob("*"))


@pytest.fixture(params=["plain", 'with "quotes", a : colon and \\'])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    return make_repo(tmp_path / request.param)


def test_clashing_paths_of_many_pairs_are_what_merging_each_says_and_leave_no_object(
    repo: Repo,
) -> None:
    one = side(repo, "one", {"a.txt": "ONE\ntwo\nthree\n", "é\tü": "1"})
    two = side(repo, "two", {"a.txt": "uno\ntwo\nthree\n", "é\tü": "2"})
    other = side(repo, "other", {"a.txt": "one\ntwo\nTHREE\n"})
    opened, pairs = repo.open(), [(one, two), (one, other), (two, one)]
    before = objects(repo)

    found = clashing_paths(opened, pairs, attributes=())
    after = objects(repo)

    assert found == {
        (one, two): frozenset({"a.txt", "é\tü"}),
        (one, other): frozenset({"a.txt"} if _clash(repo, one, other) else ()),
        (two, one): frozenset({"a.txt", "é\tü"}),
    }
    assert after == before
    assert list(opened.paths.temporary.iterdir()) == []


def _clash(repo: Repo, one: str, other: str) -> bool:
    return bool(merge_trees(repo.open(), one, other).clashes)


def test_clashing_paths_when_a_pair_has_no_common_history_then_the_others_are_told(
    repo: Repo,
) -> None:
    one = side(repo, "one", {"a.txt": "1"})
    two = side(repo, "two", {"a.txt": "2"})
    repo.git("checkout", "-q", "--orphan", "alien")
    alien = repo.commit({"a.txt": "3"}, "alien")
    gone = "1" * 40

    found = clashing_paths(repo.open(), [(one, alien), (one, two), (gone, two)], attributes=())

    assert found == {(one, two): frozenset({"a.txt"})}


def test_clashing_paths_of_files_that_join_by_attribute_are_none(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, files={"log": "", ".gitattributes": "log merge=union\n"})
    one, two = side(repo, "one", {"log": "1\n"}), side(repo, "two", {"log": "2\n"})
    opened = repo.open()

    plain = clashing_paths(opened, [(one, two)], attributes=())
    attributes = attributes_of(opened.git, repo.rev("main"))
    joined = clashing_paths(opened, [(one, two)], attributes=attributes)

    assert (plain, joined) == ({(one, two): frozenset({"log"})}, {(one, two): frozenset()})


def test_clashing_paths_of_no_pair_start_no_git(tmp_path: Path) -> None:
    assert clashing_paths(make_repo(tmp_path).open(), [], attributes=()) == {}
