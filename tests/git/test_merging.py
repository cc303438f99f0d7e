"""Tests of modules/git/merging.py and refs.py."""

import subprocess
from pathlib import Path

import pytest

from modules.git.merging import Clash, Merged, conflict_hunk, merge_trees, revert, squash
from modules.git.refs import (
    RefMoved,
    changed_paths,
    delete_ref,
    move_ref,
    read_commit,
    read_head,
    read_ref,
)
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from tests.repos import NOW, Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


def side(repo: Repo, files: dict[str, str], *, start: str = "main") -> str:
    """Commits files on a branch of their own; main's checkout is as before."""
    repo.git("switch", "-q", "--detach", start)
    commit = repo.commit(files, "side")
    repo.git("switch", "-q", "main")
    return commit


def test_merge_trees_when_sides_touch_different_files_then_holds_both(
    repo: Repo, repository: Repository
) -> None:
    ours, theirs = side(repo, {"x": "x\n"}), side(repo, {"y": "y\n"})

    merged = merge_trees(repository, ours, theirs)

    assert merged.clashes == ()
    assert repo.git("ls-tree", "--name-only", merged.tree).split() == ["a.txt", "b.txt", "x", "y"]


def test_merge_trees_when_sides_change_one_line_then_tells_path_and_hunk(
    repo: Repo, repository: Repository
) -> None:
    ours = side(repo, {"a.txt": "one\nOURS\nthree\n"})
    theirs = side(repo, {"a.txt": "one\nTHEIRS\nthree\n"})

    merged = merge_trees(repository, ours, theirs)

    assert merged.clashes == (Clash("a.txt", "contents"),)
    assert conflict_hunk(repository.git, merged.tree, "a.txt").splitlines() == [
        f"<<<<<<< {ours}",
        "OURS",
        "=======",
        "THEIRS",
        f">>>>>>> {theirs}",
    ]


def test_merge_trees_when_one_side_deletes_then_tells_the_kind(
    repo: Repo, repository: Repository
) -> None:
    theirs = side(repo, {"b.txt": "changed\n"})
    repo.git("rm", "-q", "b.txt")
    ours = repo.commit({}, "deleted")

    assert merge_trees(repository, ours, theirs).clashes == (Clash("b.txt", "modify/delete"),)


def test_merge_trees_when_both_add_a_file_then_tells_the_kind(
    repo: Repo, repository: Repository
) -> None:
    ours, theirs = side(repo, {"new": "1\n"}), side(repo, {"new": "2\n"})

    assert merge_trees(repository, ours, theirs).clashes == (Clash("new", "add/add"),)


def test_merge_trees_when_attributes_say_union_then_there_is_no_conflict(
    repo: Repo, repository: Repository
) -> None:
    repo.commit({"docs/.gitattributes": "LOG merge=union\n", "docs/LOG": "0\n"}, "log")
    ours, theirs = side(repo, {"docs/LOG": "0\n1\n"}), side(repo, {"docs/LOG": "0\n2\n"})
    bare = ["git", "--git-dir", str(repo.root / ".git"), "merge-tree", "--write-tree"]
    unguarded = subprocess.run([*bare, ours, theirs], cwd="/", timeout=10, capture_output=True)

    merged = merge_trees(repository, ours, theirs)

    assert unguarded.returncode == 1
    assert merged.clashes == ()
    assert repo.git("cat-file", "blob", f"{merged.tree}:docs/LOG") == "0\n1\n2"
    assert list((repo.root / ".team" / "tmp").iterdir()) == []


def test_merge_trees_when_the_checkout_has_other_attributes_then_they_do_not_count(
    repo: Repo, repository: Repository
) -> None:
    (repo.root / ".git" / "info" / "exclude").write_text(".gitattributes\n")
    ours, theirs = side(repo, {"a.txt": "1\n"}), side(repo, {"a.txt": "2\n"})
    (repo.root / ".gitattributes").write_text("* merge=union\n")

    assert merge_trees(repository, ours, theirs).clashes == (Clash("a.txt", "contents"),)


def test_merge_trees_when_a_merge_driver_is_configured_then_it_is_not_run(
    repo: Repo, tmp_path: Path
) -> None:
    repo.commit({".gitattributes": "a.txt merge=evil\n"}, "attributes")
    ours = side(repo, {"a.txt": "one\nOURS\nthree\n"})
    theirs = side(repo, {"a.txt": "one\nTHEIRS\nthree\n"})
    proof = tmp_path / "proof"
    repo.git("config", "merge.evil.driver", f"touch {proof}; true")
    repo.git("merge-tree", "--write-tree", ours, theirs)
    fired_unguarded = proof.exists()
    proof.unlink()

    merged = merge_trees(repo.open(), ours, theirs)

    assert fired_unguarded
    assert not proof.exists()
    assert merged.clashes == (Clash("a.txt", "contents"),)


def test_merge_trees_when_a_folder_was_renamed_then_a_new_file_moves_along(
    repo: Repo, repository: Repository
) -> None:
    repo.commit({"old/a": "a\n" * 9, "old/b": "b\n" * 9}, "folder")
    theirs = side(repo, {"old/new": "new\n"})
    repo.git("mv", "old", "fresh")
    ours = repo.commit({}, "renamed")

    merged = merge_trees(repository, ours, theirs)

    assert merged.clashes == ()
    assert changed_paths(repository.git, ours, merged.tree) == ("fresh/new",)


@pytest.mark.parametrize("name", ["main", "nowhere", "HEAD", ""])
def test_merge_trees_for_anything_but_full_ids_then_refuses(
    repo: Repo, repository: Repository, name: str
) -> None:
    """git exits 1 for a name it doesn't know, as it does for a conflict."""
    with pytest.raises(ValueError, match="full object ids"):
        merge_trees(repository, repo.rev("main"), name)


def test_merge_trees_for_an_id_that_is_no_commit_then_it_is_no_conflict(
    repo: Repo, repository: Repository
) -> None:
    with pytest.raises(GitFault):
        merge_trees(repository, repo.rev("main"), "1" * 40)


def test_squash_when_done_twice_then_is_the_same_commit_by_the_author(
    repo: Repo, repository: Repository
) -> None:
    repo.git("config", "user.name", "Worker")
    head = side(repo, {"x": "x\n"})
    base = repo.rev("main")
    git = repository.git
    pinned = read_head(git, head)
    assert pinned is not None

    first, second = (
        squash(
            repository,
            tree=repo.rev(f"{head}^{{tree}}"),
            onto=base,
            head=pinned,
            message="m",
            when=NOW,
        )
        for _ in range(2)
    )

    assert first == second
    assert repo.git("log", "-1", "--format=%an|%cn|%P|%ct", first) == (
        f"Worker|Ada|{base}|{int(NOW.timestamp())}"
    )


def test_revert_when_more_landed_since_then_keeps_the_rest(
    repo: Repo, repository: Repository
) -> None:
    first = repo.commit({"x": "x\n"}, "x")
    landed = repo.commit({"y": "y\n"}, "y")

    merged = revert(repository, landed, first, onto=f"{first}^1", when=NOW)

    assert merged == Merged(merged.tree)
    assert changed_paths(repository.git, landed, merged.tree) == ("x",)


def test_move_ref_when_it_was_moved_meanwhile_then_it_stays(
    repo: Repo, repository: Repository
) -> None:
    old, new = repo.rev("main"), side(repo, {"x": "x\n"})
    ref = "refs/crewyard/landed/main"
    move_ref(repository.git, ref, new=new, old="")

    with pytest.raises(RefMoved):
        move_ref(repository.git, ref, new=old, old=old)
    with pytest.raises(RefMoved):
        move_ref(repository.git, ref, new=old, old="")
    with pytest.raises(RefMoved):
        delete_ref(repository.git, ref, old=old)

    assert read_ref(repository.git, ref) == new


@pytest.mark.parametrize("name", ["nowhere", "-x", "1" * 40, "main:a.txt", ""])
def test_read_commit_for_what_is_no_commit_then_is_empty(repository: Repository, name: str) -> None:
    assert read_commit(repository.git, name) == ""
