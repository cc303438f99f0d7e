"""A jail's git makes objects, and can neither delete nor forge those of others."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from modules.git.lane_objects import show_packed_refs, take_in
from modules.safety.jail import SandboxKind
from tests.safety.jail_ground import ORDINARY_UID, Ground, User, git, make_ground, need

USERS = [User(None), User(ORDINARY_UID)] if os.geteuid() == 0 else [User(None)]
KIND = SandboxKind.BWRAP
OTHERS = ("refs/heads/main", "refs/heads/wt/two", "refs/pinned")
COMMIT = "echo b > b.txt; git add b.txt; git commit -qm b"
ATTACKS = {
    "removed": 'rm -rf "$(git rev-parse --git-common-dir)"/objects/*',
    "emptied": "find $G -type f -path '*objects*' -exec sh -c 'chmod +w $0; : > $0' {} \\;",
    "pruned": "git prune --expire=now; git prune-packed; git repack -adq; git gc -q --prune=now",
}

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def made_ground(user: User, kind: SandboxKind) -> Iterator[Ground]:
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="crewyard-test-"))
    base.chmod(0o755)
    try:
        yield make_ground(base / "ground", user, (kind,))
    finally:
        shutil.rmtree(base)


@pytest.fixture(params=USERS, ids=lambda user: "other" if user.uid else "own")
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    need(KIND)
    with made_ground(request.param, KIND) as ground:
        yield ground


def damage(ground: Ground) -> list[str]:
    """Returns what git misses of others' branches, of pinned work and of what a person staged."""
    names = {ref: git(ground, "rev-parse", "--verify", "-q", ref) for ref in OTHERS}
    found = []
    for name, commit in names.items():
        try:
            git(ground, "rev-list", "--objects", "--quiet", commit)
        except pytest.fail.Exception:
            found.append(name)
    return found + ([] if ground.loose("staged.txt").stat().st_size else ["staged"])


@pytest.mark.parametrize("name", ["removed", "emptied"])
def test_attack_on_all_objects_harms_nobody_else(ground: Ground, name: str) -> None:
    assert ground.run(COMMIT, KIND).code == 0
    git(ground, "update-ref", "refs/pinned", "HEAD")

    ground.run(f"echo c > c; git add c; git commit -qm c; {ATTACKS[name]}", KIND)

    assert damage(ground) == []
    # What it has not handed in of its own is gone, and only that.
    git(ground, "update-ref", "refs/heads/wt/one", "refs/pinned")
    git(ground, "read-tree", "HEAD")
    git(ground, "fsck", "--full", "--strict", "--no-reflogs")


@pytest.mark.parametrize("name", ["removed", "emptied"])
def test_attack_works_without_a_jail(ground: Ground, name: str) -> None:
    ground.run(f"{COMMIT}; git update-ref refs/pinned HEAD", SandboxKind.OFF)

    ground.run(ATTACKS[name], SandboxKind.OFF)

    with pytest.raises((AssertionError, FileNotFoundError, pytest.fail.Exception)):
        assert damage(ground) == []


def test_pruning_in_a_jail_keeps_what_a_person_staged_and_the_work(ground: Ground) -> None:
    ran = ground.run(f"echo s > s; git add s; {COMMIT}; {ATTACKS['pruned']}", KIND)

    git(ground, "update-ref", "refs/pinned", "HEAD")
    assert damage(ground) == [], ran.error
    git(ground, "fsck", "--full", "--strict")
    assert git(ground, "show", "HEAD:b.txt") == "b"


def test_forged_object_is_not_believed_by_anybody_outside(ground: Ground) -> None:
    """Git outside would not write an object that it has, nor look whether it is what it says."""
    forge = (
        "printf good > good; id=$(git hash-object good); printf evil > evil; "
        "e=$(git hash-object -w evil); mkdir -p $G/objects/${id:0:2}; "
        "cp $G/objects/${e:0:2}/${e:2} $G/objects/${id:0:2}/${id:2}"
    )

    ground.run(forge, KIND)
    (ground.root / "good").write_text("good")
    git(ground, "-C", str(ground.root), "add", "good")

    assert git(ground, "-C", str(ground.root), "show", ":good") == "good"


def test_forged_object_is_believed_without_a_jail(ground: Ground) -> None:
    forge = (
        "printf good > good; id=$(git hash-object good); printf evil > evil; "
        "e=$(git hash-object -w evil); mkdir -p $G/objects/${id:0:2}; "
        "cp $G/objects/${e:0:2}/${e:2} $G/objects/${id:0:2}/${id:2}"
    )

    ground.run(forge, SandboxKind.OFF)
    (ground.root / "good").write_text("good")
    git(ground, "-C", str(ground.root), "add", "good")

    assert git(ground, "-C", str(ground.root), "show", ":good") == "evil"


def test_big_commit_is_whole_outside(ground: Ground) -> None:
    make = (
        "mkdir d; for i in $(seq 400); do echo $i > d/$i; done; "
        "head -c 30000000 /dev/urandom > big; git add -A; git commit -qm big"
    )

    assert ground.run(make, KIND).code == 0

    assert len(git(ground, "ls-tree", "-r", "--name-only", "HEAD", "d/").splitlines()) == 400
    git(ground, "fsck", "--full", "--strict")
    assert git(ground, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("kind", "packing"),
    [
        (KIND, ("pack-refs", "--all")),
        (KIND, ("gc", "-q", "--prune=now")),
        # Collecting garbage takes the folders away that Landlock lets git write objects to.
        (SandboxKind.LANDLOCK, ("pack-refs", "--all")),
    ],
    ids=str,
)
def test_work_goes_on_in_a_jail_while_a_person_packs_everything(
    kind: SandboxKind, packing: tuple[str, ...]
) -> None:
    """Git does so by itself now and then. It removes the files of branches, and empty folders."""
    need(kind)
    with made_ground(User(None), kind) as ground:
        stage = "echo staged > s; git add s"
        go_on = "git commit -qm s; echo d > d; git add d; git commit -qm d; git merge -q main"
        jail = subprocess.Popen(
            ground.argv(["bash", "-c", f"{COMMIT}; {stage}; echo; read x; {go_on}"], kind),
            cwd=ground.lane,
            env=ground.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert jail.stdout is not None
        jail.stdout.readline()
        take_in(ground.git, "one")

        git(ground, "-C", str(ground.root), *packing)
        show_packed_refs(ground.git)
        out, _ = jail.communicate("go on\n", timeout=60)

        take_in(ground.git, "one")
        assert (jail.returncode, out) == (0, "")
        assert git(ground, "log", "--format=%s", "--first-parent", "-4").splitlines()[1:] == [
            *("d", "s", "b"),
        ]
        assert git(ground, "show", "HEAD:s") == "staged"
        git(ground, "fsck", "--full", "--strict")


def test_others_commits_are_seen_and_merged_inside(ground: Ground) -> None:
    (ground.other_lane / "theirs.txt").write_text("theirs")
    git(ground, "-C", str(ground.other_lane), "add", ".")
    git(ground, "-C", str(ground.other_lane), "commit", "-qm", "theirs")

    ran = ground.run("git diff --stat HEAD wt/two; git merge -q --no-edit wt/two; git fsck", KIND)

    assert "theirs.txt" in ran.out
    assert git(ground, "show", "HEAD:theirs.txt") == "theirs"


def test_objects_of_a_repository_that_borrows_from_another_are_seen(ground: Ground) -> None:
    """`git clone --shared` names the other's objects; by a path relative to its own, here."""
    lender = ground.root / "lender"
    shutil.move(ground.git / "objects/pack", lender / "pack")
    (ground.git / "objects/pack").mkdir()
    (ground.git / "objects/info/alternates").write_text("../../lender\n")
    git(ground, "fsck")

    ran = ground.run(f"git log --oneline main; git cat-file -p HEAD:a.txt; {COMMIT}", KIND)

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "one"), ran.error
    git(ground, "fsck", "--strict")
