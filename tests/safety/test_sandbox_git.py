"""Everyday git in a linked worktree works inside a jail, and plain git outside sees its result."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from modules.safety.jail import SandboxKind
from tests.safety.jail_ground import ORDINARY_UID, Ground, User, git, make_ground

KINDS = (SandboxKind.BWRAP, SandboxKind.LANDLOCK)
USERS = [User(None), User(ORDINARY_UID)] if os.geteuid() == 0 else [User(None)]
STRICT = "set -euo pipefail\n"
COMMIT_ON_OTHER = """
git switch -q -c wt/side HEAD
echo side > side.txt; git add side.txt; git commit -qm side
git switch -q wt/one
"""


@pytest.fixture(params=USERS, ids=lambda user: "other" if user.uid else "own")
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="crewyard-test-"))
    base.chmod(0o755)
    try:
        yield make_ground(base / "ground", request.param, KINDS)
    finally:
        shutil.rmtree(base)


def run(ground: Ground, kind: SandboxKind, script: str) -> str:
    ran = ground.run(STRICT + script, kind)
    if ran.code != 0:
        pytest.fail(f"exit code {ran.code}\n{ran.out}\n{ran.error}")
    return ran.out


pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", KINDS, ids=str)]


def test_commit_carries_the_given_name_and_is_seen_outside(
    ground: Ground, kind: SandboxKind
) -> None:
    run(ground, kind, "echo two >> a.txt; echo b > b.txt; git add -A; git commit -qm 'two files'")

    assert git(ground, "log", "-1", "--format=%s|%an|%ae|%cn") == (
        "two files|A Worker|worker@example.com|A Worker"
    )
    assert git(ground, "status", "--porcelain") == ""
    assert git(ground, "show", "--name-only", "--format=", "HEAD") == "a.txt\nb.txt"
    assert git(ground, "rev-parse", "wt/one") == git(ground, "rev-parse", "HEAD")
    git(ground, "fsck", "--strict")


def test_looking_works(ground: Ground, kind: SandboxKind) -> None:
    out = run(
        ground,
        kind,
        "echo x >> a.txt; git status --short; git diff --stat; git log --oneline -3; "
        "git blame a.txt | tail -1; git branch; git show HEAD:a.txt; git fsck",
    )

    assert " M a.txt" in out
    assert "1 insertion" in out
    assert "base" in out


def test_amend_keeps_one_commit(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        "echo b > b.txt; git add b.txt; git commit -qm first; echo c >> b.txt; "
        "git commit -qa --amend -m second",
    )

    assert git(ground, "log", "--format=%s", "main..wt/one") == "second"


def test_move_remove_restore_clean_and_reset_change_the_tree(
    ground: Ground, kind: SandboxKind
) -> None:
    run(
        ground,
        kind,
        "echo b > b.txt; git add b.txt; git commit -qm b; git mv a.txt moved.txt; git rm -q b.txt; "
        "git commit -qm moved; echo junk > junk; git clean -fdq; echo x > moved.txt; "
        "git restore moved.txt; git reset -q --hard HEAD~1; git reset -q --soft HEAD~0",
    )

    assert sorted(os.listdir(ground.lane)) == [".git", ".gitattributes", "a.txt", "b.txt"]  # noqa: PTH208 - names alone
    assert git(ground, "log", "-1", "--format=%s") == "b"


def test_merge_joins_two_branches(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        COMMIT_ON_OTHER
        + "echo own > own.txt; git add own.txt; git commit -qm own; git merge -q --no-edit wt/side",
    )

    assert len(git(ground, "log", "-1", "--format=%P").split()) == 2
    assert (ground.lane / "side.txt").exists()


def test_conflict_is_resolved_and_committed(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        "git switch -q -c wt/side; echo side > a.txt; git commit -qam side; git switch -q wt/one; "
        "echo own > a.txt; git commit -qam own; git merge wt/side && exit 1; "
        "echo both > a.txt; git add a.txt; git commit -qm resolved; "
        "git merge -q --no-edit wt/side",
    )

    assert len(git(ground, "log", "-1", "--format=%P").split()) == 2
    assert (ground.lane / "a.txt").read_text() == "both\n"


def test_rebase_moves_the_commits_and_ends(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        COMMIT_ON_OTHER
        + "echo own > own.txt; git add own.txt; git commit -qm own; git rebase -q wt/side",
    )

    assert git(ground, "log", "--format=%s", "main..wt/one") == "own\nside"
    assert "rebas" not in git(ground, "status")


def test_rebase_goes_on_after_a_conflict(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        "git switch -q -c wt/side; echo side > a.txt; git commit -qam side; git switch -q wt/one; "
        "echo own > a.txt; git commit -qam own; echo more > m; git add m; git commit -qm more; "
        "git rebase wt/side && exit 1; echo both > a.txt; git add a.txt; git rebase --continue; "
        "git merge -q --no-edit wt/side",
    )

    assert git(ground, "log", "--format=%s", "main..wt/one") == "more\nown\nside"
    assert git(ground, "status", "--porcelain") == ""


def test_aborted_rebase_leaves_all_as_it_was(ground: Ground, kind: SandboxKind) -> None:
    before = git(ground, "rev-parse", "HEAD")

    run(
        ground,
        kind,
        "git switch -q -c wt/side; echo side > a.txt; git commit -qam side; git switch -q wt/one; "
        "echo own > a.txt; git commit -qam own; git rebase wt/side && exit 1; git rebase --abort; "
        "git reset -q --hard HEAD~1; git merge -q --no-edit wt/side; git reset -q --hard HEAD~1",
    )

    assert git(ground, "rev-parse", "HEAD") == before


def test_cherry_pick_is_over_when_it_ends(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        COMMIT_ON_OTHER
        + "echo own > own.txt; git add own.txt; git commit -qm own; git cherry-pick wt/side; "
        "git revert --no-edit HEAD; git merge -q --no-edit wt/side; git switch -q wt/side; "
        "git switch -q wt/one",
    )

    assert "picking" not in git(ground, "status")
    assert git(ground, "log", "--format=%s", "--no-merges", "main..wt/one").splitlines()[:2] == [
        'Revert "side"',
        "side",
    ]


def test_cherry_pick_with_a_conflict_goes_on(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        "git switch -q -c wt/side; echo side > a.txt; git commit -qam side; git switch -q wt/one; "
        "echo own > a.txt; git commit -qam own; git cherry-pick wt/side && exit 1; "
        "git log --grep commit -1 > /dev/null; test -e $A/CHERRY_PICK_HEAD; "
        "echo both > a.txt; git add a.txt; git cherry-pick --continue",
    )

    assert git(ground, "log", "--format=%s", "main..wt/one") == "side\nown"
    assert not (ground.admin / "CHERRY_PICK_HEAD").exists()


def test_repository_of_a_test_run_keeps_its_own_identity(ground: Ground, kind: SandboxKind) -> None:
    out = run(
        ground,
        kind,
        "cd $TMPDIR; git init -q fresh; cd fresh; git config user.name Fresh; "
        "git config user.email f@example.com; git commit -q --allow-empty -m x; git gc -q; "
        "git stash list; git log -1 --format=%an",
    )

    assert out == "Fresh\n"


def test_other_branches_and_shared_settings_are_refused(ground: Ground, kind: SandboxKind) -> None:
    refs = git(ground, "for-each-ref")

    for command in ("git tag t", "git stash", "git config a.b c", "git branch outside"):
        assert ground.run(f"echo x >> a.txt; {command}", kind).code != 0

    assert git(ground, "for-each-ref") == refs


def test_revert_apply_archive_and_fetch_from_here_work(ground: Ground, kind: SandboxKind) -> None:
    run(
        ground,
        kind,
        "echo b > b.txt; git add b.txt; git commit -qm b; git revert --no-edit HEAD > /dev/null; "
        "test ! -e b.txt; git diff HEAD HEAD~1 > p; git apply p; test -e b.txt; "
        "git archive -o ../../out.tar HEAD 2> /dev/null && exit 1; git archive -o a.tar HEAD; "
        "git fetch -q . main; git switch -q -c wt/more; git branch -q -d wt/one && exit 1; "
        "git status --short",
    )

    assert git(ground, "log", "-2", "--format=%s") == 'Revert "b"\nb'
    assert git(ground, "branch", "--show-current") == "wt/more"


def test_commit_works_after_git_outside_removed_another_branch_and_without_our_environment(
    ground: Ground, kind: SandboxKind
) -> None:
    """Deleting a branch takes the folder of its log along when that is empty."""
    git(ground, "branch", "wt/over")
    shutil.rmtree(ground.git / "logs/refs/heads/wt", ignore_errors=True)
    git(ground, "branch", "-D", "wt/over")

    run(ground, kind, "echo x > x; git add x; git commit -qm x")

    assert git(ground, "log", "-1", "--format=%s", "wt/one") == "x"
    if kind is SandboxKind.BWRAP:
        bare = "env -i PATH=$PATH HOME=$HOME git"
        run(ground, kind, f"echo y > y; {bare} add y; {bare} commit -qm y")
        assert git(ground, "log", "-1", "--format=%s", "wt/one") == "y"
