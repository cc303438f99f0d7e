"""The person's checkout: it follows where that disturbs nothing, and never loses a byte."""

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from modules.records.tasks import TaskDraft
from tests.scenarios.programs import (
    PASSING,
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    git,
    lanes_in,
    make_repository,
    make_script,
    post,
    processes_in,
    started,
    submit,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow

FILES = {"shared.txt": "base\n", "other.txt": "other\n", ".gitignore": "ignored.txt\n"}
LANDED_REF = "refs/crewyard/landed/main"
MINE = b"mine, not committed\r\n\xff\x00"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", FILES)


def work(repository: Path, spec: str, *options: str) -> tuple[int, list[str], str]:
    """Returns the exit code, what landed, and what was told."""
    ended = crewyard(
        "work", "--json", "--check", PASSING, "--model", spec, *options, cwd=repository
    )
    return ended.code, ended.document["landed"], ended.err


def test_edits_of_other_files_stay_and_the_checkout_follows(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, [writing("change it", "shared.txt", "changed\n")])
    post(repository, TaskDraft(subject="change it"))
    (repository / "other.txt").write_bytes(MINE)
    (repository / "untracked.txt").write_bytes(MINE)
    git(repository, "add", "other.txt")
    before = git(repository, "status", "--porcelain")

    code, landed, _ = work(repository, spec)

    assert code == 0
    assert git(repository, "rev-parse", "main") == landed[-1]
    assert (repository / "shared.txt").read_text() == "changed\n"
    assert (repository / "other.txt").read_bytes() == MINE
    assert (repository / "untracked.txt").read_bytes() == MINE
    assert git(repository, "status", "--porcelain") == before
    assert git(repository, "stash", "list") == ""


@pytest.mark.parametrize("name", ["shared.txt", "new.txt", "ignored.txt"])
def test_file_in_the_way_holds_the_checkout_and_a_later_run_catches_up(
    name: str, repository: Path, tmp_path: Path
) -> None:
    """The person's file is an edited, an untracked or an ignored one."""
    spec = make_script(
        tmp_path,
        [
            worker(
                "change it",
                calls(write(name, "changed\n"), bash(f"git add -f {name} && git commit -qm it")),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="change it"))
    (repository / name).write_bytes(MINE)
    status, main = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "main")

    code, landed, told = work(repository, spec)

    assert code == 0
    assert len(landed) == 1
    assert git(repository, "rev-parse", LANDED_REF) == landed[0]
    assert git(repository, "rev-parse", "main") == main
    assert git(repository, "status", "--porcelain") == status
    assert (repository / name).read_bytes() == MINE
    assert f"'{name}'" in told
    assert "in the way" in told

    (repository / name).rename(repository / "kept.txt")
    git(repository, "checkout", "-q", "--", ".")
    code, landed_later, _ = work(repository, spec)

    assert (code, landed_later) == (0, [])
    assert git(repository, "rev-parse", "main") == landed[0]
    assert (repository / name).read_text() == "changed\n"
    assert (repository / "kept.txt").read_bytes() == MINE
    assert lanes_in(repository) == []


def test_another_repository_named_in_the_environment_is_left_alone(
    repository: Path, tmp_path: Path
) -> None:
    """What a git hook or a test run inside one hands on."""
    other = make_repository(tmp_path / "other", {"theirs.txt": "theirs\n"})
    foreign = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git" / "objects"),
        "GIT_PREFIX": "sub/",
    }
    misled = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"],
        env={**os.environ, **foreign},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert misled.stdout.strip() == git(other, "rev-parse", "HEAD")
    before = contents(other)
    spec = make_script(
        tmp_path,
        [
            worker(
                "change it",
                calls(write("shared.txt", "changed\n"), bash('test -z "$GIT_DIR$GIT_INDEX_FILE"')),
                calls(commit("it"), expect=r"\(no output\)$"),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="change it"))

    ended = crewyard(
        *("work", "--json", "--check", 'test -z "$GIT_DIR$GIT_WORK_TREE"', "--model", spec),
        cwd=repository,
        environment=foreign,
    )

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)
    assert contents(other) == before
    assert_nothing_left(repository)


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def own_files(repository: Path) -> dict[str, str]:
    ours = tuple(str(repository / name) for name in (".git/", ".team/", ".worktrees/"))
    return {n: digest for n, digest in contents(repository).items() if not n.startswith(ours)}


def test_path_with_blanks_and_signs_of_all_kinds_works(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "My Projekt ä (1) $HOME 日本", FILES)
    name = "größe 1.txt"
    spec = make_script(tmp_path, [writing("change 'it'; ls", name, "changed\n")])
    post(repository, TaskDraft(subject="change 'it'; ls"))
    check = f"test -f '{name}' -a -d .git -o -f .git"

    ended = crewyard("work", "--json", "--check", check, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)
    assert (repository / name).read_text() == "changed\n"
    assert_nothing_left(repository)


def test_detached_head_stays_while_the_named_target_moves(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, [writing("change it", "shared.txt", "changed\n")])
    post(repository, TaskDraft(subject="change it"))
    git(repository, "checkout", "-q", "--detach")
    head = git(repository, "rev-parse", "HEAD")

    code, landed, _ = work(repository, spec, "--target", "main")

    assert code == 0
    assert git(repository, "rev-parse", "main") == landed[-1] != head
    assert git(repository, "rev-parse", "HEAD") == head
    assert (repository / "shared.txt").read_text() == "base\n"
    assert_nothing_left(repository)


def test_commit_the_person_makes_meanwhile_is_built_upon(repository: Path, tmp_path: Path) -> None:
    """It comes while a worker is at work on what the branch was before."""
    spec = make_script(
        tmp_path,
        [
            worker(
                "change it",
                calls(bash("until git show-ref -q refs/tags/go-on; do sleep 0.05; done")),
                calls(write("shared.txt", "changed\n"), commit("it")),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="change it"))

    with started("work", "--check", PASSING, "--model", spec, cwd=repository) as program:
        program.wait_for("bash until")
        (repository / "other.txt").write_text("committed meanwhile\n")
        git(repository, "commit", "-qam", "by the person")
        git(repository, "update-ref", "refs/tags/go-on", "HEAD")
        assert program.end() == 0, program.said

    assert git(repository, "log", "--format=%s").split("\n") == [
        "change it",
        "by the person",
        "first",
    ]
    assert (repository / "other.txt").read_text() == "committed meanwhile\n"
    assert (repository / "shared.txt").read_text() == "changed\n"
    assert_nothing_left(repository)


def merge_under_way(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "side")
    (repository / "other.txt").write_text("side\n")
    git(repository, "commit", "-qam", "side")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-commit", "--no-ff", "side")


def index_locked(repository: Path) -> None:
    (repository / ".git" / "index.lock").touch()


@pytest.mark.parametrize(
    ("begin", "word"),
    [(merge_under_way, "merge"), (index_locked, "index.lock")],
    ids=["merge", "index.lock"],
)
def test_checkout_in_the_middle_of_something_is_left_alone(
    begin: Callable[[Path], None], word: str, repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, [writing("change it", "shared.txt", "changed\n")])
    post(repository, TaskDraft(subject="change it"))
    begin(repository)
    main = git(repository, "rev-parse", "main")
    before = own_files(repository)

    code, landed, told = work(repository, spec)

    assert code == 0
    assert git(repository, "rev-parse", LANDED_REF) == landed[0] != main
    assert git(repository, "rev-parse", "main") == main
    assert word in told
    assert own_files(repository) == before
    assert processes_in(repository) == []
