"""Secrets in commits are found wherever they are, and told without their value."""

from pathlib import Path

import pytest

from modules.safety.secrets import SecretMask
from modules.team.leaks import Leak, find_leaks
from tests.repos import Repo, make_repo

SECRET = "pw-4711-long-enough"
AWS = "AKIA" + "ABCDEFGHIJKLMNOP"
MASK = SecretMask({"DB_PASSWORD": SECRET})


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path, files={"old.py": f"a = 1\nkey = '{AWS}'\n", "b.py": "b = 1\n"})


def leaks(repo: Repo, since: str) -> tuple[Leak, ...]:
    found = find_leaks(repo.open().git, landed=since, commit=repo.rev("HEAD"), mask=MASK)
    assert SECRET not in repr(found)
    assert AWS not in repr(found)
    return found


def known(path: str, line: int) -> Leak:
    return Leak(path=path, line=line, kind="secret DB_PASSWORD", is_known=True)


def shaped(path: str, line: int) -> Leak:
    return Leak(path=path, line=line, kind="an AWS key", is_known=False)


def test_clean_work_has_none(repo: Repo) -> None:
    since = repo.rev("HEAD")
    repo.commit({"new.py": "import os\nkey = os.environ['DB_PASSWORD']\n"}, "read it")

    assert leaks(repo, since) == ()


def test_secrets_are_told_by_file_line_and_kind(repo: Repo) -> None:
    since = repo.rev("HEAD")
    repo.commit({"d/ä b.py": f"x = 1\n\nkey = '{SECRET}'\n", "c.py": f"'{AWS}'\n"}, "add")

    assert set(leaks(repo, since)) == {known("d/ä b.py", 3), shaped("c.py", 1)}
    assert known("a.py", 3).words == "a.py, line 3: secret DB_PASSWORD"


def test_secret_that_a_later_commit_takes_out_is_found(repo: Repo) -> None:
    since = repo.rev("HEAD")
    repo.commit({"b.py": f"b = '{SECRET}'\n"}, "in")
    repo.commit({"b.py": "b = 2\n"}, "out")

    assert leaks(repo, since) == (known("b.py", 1),)


def test_secret_in_a_removed_file_of_the_past_is_found(repo: Repo) -> None:
    since = repo.rev("HEAD")
    repo.commit({"gone.py": f"'{SECRET}'\n"}, "in")
    (repo.root / "gone.py").unlink()
    repo.commit({}, "out")

    assert leaks(repo, since) == (known("gone.py", 1),)


def test_secret_in_the_words_or_the_name_of_something_is_found(repo: Repo) -> None:
    since = repo.rev("HEAD")
    repo.commit({f"{SECRET}.txt": "x\n"}, f"a subject\n\nand {SECRET} below")

    assert set(leaks(repo, since)) == {
        known("the words of a commit", 3),
        known("[secret DB_PASSWORD].txt", 0),
    }


def test_what_has_landed_already_is_no_news_even_when_it_moves(repo: Repo) -> None:
    since = repo.rev("HEAD")
    repo.commit({"old.py": f"a = 1\nb = 2\nkey = '{AWS}'\n"}, "a line above")
    repo.git("mv", "old.py", "renamed.py")
    repo.commit({}, "rename")

    assert leaks(repo, since) == ()


def test_secret_that_came_in_by_a_merge_of_what_landed_is_no_news(repo: Repo) -> None:
    base = repo.rev("HEAD")
    repo.git("switch", "-q", "-c", "lane")
    repo.commit({"new.py": "new = 1\n"}, "work")
    repo.git("switch", "-q", "-")
    landed = repo.commit({"other.py": f"'{SECRET}'\n"}, "somebody else's")
    repo.git("switch", "-q", "lane")
    repo.git("merge", "-q", "--no-edit", landed)

    assert leaks(repo, landed) == ()
    assert leaks(repo, base) == (known("other.py", 1),)


def test_secret_in_bytes_that_are_no_text_is_found(repo: Repo) -> None:
    since = repo.rev("HEAD")
    (repo.root / "blob.bin").write_bytes(b"\xff\x00\n" + SECRET.encode() + b"\x00\xfe")
    repo.commit({}, "a blob")

    assert leaks(repo, since) == (known("blob.bin", 2),)


@pytest.mark.slow
def test_large_work_is_looked_at_in_portions(repo: Repo) -> None:
    since = repo.rev("HEAD")
    filler = "x" * 9_000_000
    repo.commit({f"{n}.txt": f"{n}{filler}\n" for n in range(3)}, "large")
    repo.commit({"last.txt": f"{filler}\n{SECRET}\n"}, "and one")

    assert leaks(repo, since) == (known("last.txt", 2),)
