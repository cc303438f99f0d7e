"""What worktrees lack is told, and nothing half of it is there."""

from pathlib import Path

from modules.git.check_tree import point_check_tree
from modules.git.lane_state import inspect_lane
from modules.git.lanes import make_lane
from modules.git.worktree_gaps import worktree_gaps
from tests.repos import Repo, make_repo

POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


def test_gaps_of_a_plain_repository_are_none(tmp_path: Path) -> None:
    assert worktree_gaps(make_repo(tmp_path).open(), "main") == []


def test_gaps_name_submodules_and_lfs(tmp_path: Path) -> None:
    repo = lfs_repo(tmp_path, program="cat")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.rev('main')},vendor/ä lib")
    repo.git("commit", "-q", "-m", "submodule")

    submodules, lfs = worktree_gaps(repo.open(), "main")

    assert "'vendor/ä lib' are empty folders" in submodules
    assert "pointers" in lfs


def test_lane_of_a_repository_with_lfs_holds_pointers_and_is_clean_without_running_it(
    tmp_path: Path,
) -> None:
    """With the person's own setting git would run it, and refuse where it fails."""
    mark = tmp_path / "ran"
    repo = lfs_repo(tmp_path, program=f"touch {mark}; false")
    repository = repo.open()
    lane = make_lane(repository, name="t1-1", base="main")
    checks = point_check_tree(repository, 1, repo.rev("main"))

    assert not mark.exists()
    assert (lane.path / "big.bin").read_text() == POINTER
    assert (checks / "big.bin").read_text() == POINTER
    (lane.path / "big.bin").write_text(POINTER)
    assert inspect_lane(repository, lane).dirty == ()
    repo.git("worktree", "add", "-q", str(tmp_path / "plain"), "main~0", accept=(0, 128))
    assert mark.exists()


def lfs_repo(folder: Path, *, program: str) -> Repo:
    """Makes a repository with a file in LFS, whose person has set LFS up."""
    repo = make_repo(folder, files={"big.bin": POINTER, "a.txt": "a\n"})
    repo.commit({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}, "attributes")
    with (repo.home / ".gitconfig").open("a") as settings:
        settings.write(
            f'[filter "lfs"]\n\tsmudge = "{program}"\n\tclean = "{program}"\n\trequired = true\n'
        )
    return repo
