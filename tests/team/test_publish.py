"""Tests of modules/team/publish.py and modules/git/following.py: the target branch follows."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from modules.records.merges import EntryStatus
from tests.repos import make_repo
from tests.team.queue_case import QueueCase, make_case

pytestmark = pytest.mark.slow


class Cut(Exception):
    """Ends a landing between two steps, like a kill."""


def cut_at(name: str) -> Callable[[str], None]:
    """Returns a `step` that ends the landing before the step `name`."""

    def step(reached: str) -> None:
        if reached == name:
            raise Cut(name)

    return step


@pytest.fixture
def case(tmp_path: Path) -> QueueCase:
    return make_case(tmp_path)


def land(case: QueueCase, files: dict[str, str], *, task: int = 1) -> None:
    """Lands one entry with `files`."""
    case.submit(task, files)
    assert case.drain() == ["merged"]


def test_publish_when_other_files_are_dirty_then_the_branch_follows_and_they_stay(
    case: QueueCase,
) -> None:
    root = case.repo.root
    (root / "b.txt").write_text("edited\n")
    (root / "staged.txt").write_text("staged\n")
    case.repo.git("add", "staged.txt")
    (root / "staged.txt").write_text("staged, then edited\n")
    (root / "untracked.txt").write_text("untracked\n")
    status = case.repo.git("status", "--porcelain")

    land(case, {"a.txt": "landed\n"})

    assert case.repo.rev("main") == case.queue.landed
    assert (root / "a.txt").read_text() == "landed\n"
    assert (root / "b.txt").read_text() == "edited\n"
    assert (root / "staged.txt").read_text() == "staged, then edited\n"
    assert case.repo.git("show", ":staged.txt") == "staged"
    assert case.repo.git("status", "--porcelain") == status
    assert case.repo.git("show", "refs/crewyard/rescue/main:b.txt") == "edited"


@pytest.mark.parametrize("way", ["edited", "staged", "deleted", "hidden", "same bytes"])
def test_publish_when_a_landed_file_is_dirty_then_it_waits_until_that_is_gone(
    case: QueueCase, way: str
) -> None:
    file = case.repo.root / "a.txt"
    file.write_text("landed\n" if way == "same bytes" else "mine\n")
    match way:
        case "staged":
            case.repo.git("add", "a.txt")
        case "deleted":
            file.unlink()
        case "hidden":
            case.repo.git("update-index", "--assume-unchanged", "a.txt")
    before = case.repo.rev("main")
    bytes_before = file.read_bytes() if file.exists() else None
    index_before = case.repo.git("ls-files", "--stage")

    land(case, {"a.txt": "landed\n"})
    held_with = case.queue.hold_reason
    after = (case.repo.rev("main"), file.read_bytes() if file.exists() else None)
    index_after = case.repo.git("ls-files", "--stage")
    case.repo.git("update-index", "--no-assume-unchanged", "a.txt")
    case.repo.git("reset", "-q", "--hard")
    case.drain()

    if way != "deleted":
        assert "'a.txt'" in held_with
        assert after == (before, bytes_before)
        assert index_after == index_before
    assert case.queue.hold_reason == ""
    assert case.repo.rev("main") == case.queue.landed != before


def test_publish_when_the_branch_waits_then_landing_goes_on(case: QueueCase) -> None:
    (case.repo.root / "a.txt").write_text("mine\n")
    land(case, {"a.txt": "landed\n"})
    first = case.queue.landed

    land(case, {"x.txt": "x\n"}, task=2)

    assert case.repo.rev(f"{case.queue.landed}^") == first
    assert case.repo.git("log", "-1", "--format=%s", "main") == "first commit"
    assert "is in the way" in case.queue.hold_reason


@pytest.mark.parametrize("kind", ["untracked", "ignored", "ignored folder", "file for a folder"])
def test_publish_when_a_new_file_would_cover_one_then_it_waits(case: QueueCase, kind: str) -> None:
    root = case.repo.root
    secret = root / "local.env"
    match kind:
        case "untracked":
            secret.write_text("SECRET\n")
        case "ignored":
            (root / ".gitignore").write_text("local.env\n.gitignore\n")
            secret.write_text("SECRET\n")
        case "ignored folder":
            (root / ".gitignore").write_text("local.env\n.gitignore\n")
            secret.mkdir()
            secret = secret / "deep"
            secret.write_text("SECRET\n")
        case "file for a folder":
            secret.write_text("SECRET\n")
    new = "local.env/inner" if kind == "file for a folder" else "local.env"

    land(case, {new: "tracked\n"})

    assert "local.env" in case.queue.hold_reason
    assert secret.read_text() == "SECRET\n"
    assert case.repo.git("log", "-1", "--format=%s", "main") == "first commit"


def test_publish_when_git_alone_would_overwrite_an_ignored_file_then_it_is_kept(
    case: QueueCase,
) -> None:
    root = case.repo.root
    (root / ".gitignore").write_text("local.env\n.gitignore\n")
    (root / "local.env").write_text("SECRET\n")
    land(case, {"local.env": "tracked\n"})
    kept = (root / "local.env").read_text()

    case.repo.git("merge", "-q", "--ff-only", case.queue.landed)

    assert kept == "SECRET\n"
    assert (root / "local.env").read_text() == "tracked\n"


@pytest.mark.parametrize("operation", ["merge", "cherry-pick", "revert", "rebase", "bisect"])
def test_publish_when_the_person_is_in_the_middle_of_something_then_it_waits(
    case: QueueCase, operation: str
) -> None:
    repo = case.repo
    repo.git("switch", "-q", "-c", "side")
    repo.commit({"b.txt": "side\n"}, "side")
    repo.git("switch", "-q", "main")
    repo.commit({"b.txt": "main\n"}, "main")
    case.drain()
    case.submit(1, {"x.txt": "x\n"})
    match operation:
        case "merge" | "cherry-pick" | "rebase":
            repo.git(operation, "side", accept=(1,))
        case "revert":
            repo.git("revert", "--no-commit", "HEAD")
        case "bisect":
            repo.git("bisect", "start", "HEAD", "HEAD~1")
    before = (repo.rev("main"), repo.git("status", "--porcelain=v2", "--branch"))

    assert case.drain() == ["merged"]

    assert case.queue.hold_reason
    assert (repo.rev("main"), repo.git("status", "--porcelain=v2", "--branch")) == before


def test_publish_when_the_persons_git_is_at_work_then_it_waits(case: QueueCase) -> None:
    lock = case.repo.root / ".git" / "index.lock"
    case.submit(1, {"x.txt": "x\n"})
    lock.touch()

    case.drain()

    assert "git is at work" in case.queue.hold_reason
    assert lock.exists()


def test_publish_when_a_file_goes_through_the_repositorys_filter_then_it_waits(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path, files={".gitattributes": "*.bin filter=own\n"})
    repo.git("config", "filter.own.smudge", f"touch {tmp_path}/proof; cat")
    case = QueueCase(repo)

    land(case, {"x.bin": "x\n"})

    assert "'x.bin' goes through a filter" in case.queue.hold_reason
    assert not (tmp_path / "proof").exists()


def test_publish_when_the_target_is_checked_out_nowhere_then_the_ref_moves(
    case: QueueCase,
) -> None:
    case.repo.git("switch", "-q", "-c", "elsewhere")
    case.repository = case.repo.open(target="main")
    case.restart()

    land(case, {"x.txt": "x\n"})

    assert case.repo.rev("main") == case.queue.landed
    assert not (case.repo.root / "x.txt").exists()
    assert case.repo.git("symbolic-ref", "HEAD") == "refs/heads/elsewhere"


def test_publish_when_head_is_detached_then_the_ref_moves(case: QueueCase) -> None:
    case.repo.git("switch", "-q", "--detach")
    case.repository = case.repo.open(target="main")
    case.restart()

    land(case, {"x.txt": "x\n"})

    assert case.repo.rev("main") == case.queue.landed != case.repo.rev("HEAD")


def test_publish_when_the_target_is_in_a_linked_worktree_then_that_follows(
    case: QueueCase, tmp_path: Path
) -> None:
    case.repo.git("switch", "-q", "-c", "elsewhere")
    linked = tmp_path / "linked"
    case.repo.git("worktree", "add", "-q", str(linked), "main")
    (linked / "b.txt").write_text("edited\n")
    case.repository = case.repo.open(target="main")
    case.restart()

    land(case, {"x.txt": "x\n"})

    assert (linked / "x.txt").read_text() == "x\n"
    assert (linked / "b.txt").read_text() == "edited\n"
    assert case.repo.git("status", "--porcelain", at=linked) == " M b.txt"


def test_publish_when_the_worktree_of_the_target_is_missing_then_it_waits(
    case: QueueCase, tmp_path: Path
) -> None:
    case.repo.git("switch", "-q", "-c", "elsewhere")
    case.repo.git("worktree", "add", "-q", str(tmp_path / "usb-stick"), "main")
    shutil.rmtree(tmp_path / "usb-stick")
    case.repository = case.repo.open(target="main")
    case.restart()

    land(case, {"x.txt": "x\n"})
    held_with = case.queue.hold_reason
    case.repo.git("worktree", "prune")
    case.drain()

    assert "git worktree prune" in held_with
    assert case.repo.rev("main") == case.queue.landed


def test_publish_when_the_person_committed_on_top_then_that_is_adopted(case: QueueCase) -> None:
    land(case, {"x.txt": "x\n"})
    mine = case.repo.commit({"mine.txt": "m\n"}, "mine")

    land(case, {"y.txt": "y\n"}, task=2)

    assert case.repo.rev("main^") == mine
    assert case.files() == ["a.txt", "b.txt", "mine.txt", "x.txt", "y.txt"]


def test_publish_when_the_person_committed_beside_then_both_are_joined(case: QueueCase) -> None:
    root = case.repo.root
    (root / "a.txt").write_text("mine\n")
    land(case, {"a.txt": "one\ntwo\nthree\nlanded\n"})
    case.repo.git("checkout", "-q", "--", "a.txt")
    mine = case.repo.commit({"mine.txt": "m\n"}, "mine")
    landed = case.queue.landed

    case.drain()

    assert case.queue.hold_reason == ""
    assert case.repo.git("log", "-1", "--format=%P", "main") == f"{landed} {mine}"
    assert case.files() == ["a.txt", "b.txt", "mine.txt"]
    assert case.repo.git("status", "--porcelain") == ""


def test_publish_when_commits_beside_conflict_then_the_person_is_asked_to_merge(
    case: QueueCase,
) -> None:
    (case.repo.root / "a.txt").write_text("mine\n")
    land(case, {"a.txt": "landed\n"})
    mine = case.repo.commit({}, "mine")

    case.submit(2, {"x.txt": "x\n"})
    statuses = case.drain()
    held_with, main = case.queue.hold_reason, case.repo.rev("main")
    case.repo.git("merge", "-q", case.queue.landed_ref, accept=(1,))
    case.repo.commit({"a.txt": "both\n"}, "resolved")
    case.drain()

    assert statuses == ["merged"]
    assert "they conflict in 'a.txt'" in held_with
    assert "git merge refs/crewyard/landed/main" in held_with
    assert main == mine
    assert case.queue.hold_reason == ""
    assert case.queue.landed == case.repo.rev("main")


def test_publish_when_commits_beside_break_the_check_then_they_do_not_land(
    case: QueueCase,
) -> None:
    (case.repo.root / "a.txt").write_text("mine\n")
    land(case, {"a.txt": "landed\n"})
    case.repo.git("checkout", "-q", "--", "a.txt")
    mine = case.repo.commit({"broken": "b\n"}, "mine")

    case.drain()

    assert "failed (exit code 1)" in case.queue.hold_reason
    assert case.repo.rev("main") == mine
    assert "broken" not in case.files(case.queue.landed)


@pytest.mark.parametrize("way", ["reset", "amend"])
def test_publish_when_the_person_set_the_branch_back_then_the_queue_pauses(
    case: QueueCase, way: str
) -> None:
    land(case, {"x.txt": "x\n"})
    land(case, {"y.txt": "y\n"}, task=2)
    landed = case.queue.landed
    if way == "reset":
        case.repo.git("reset", "-q", "--hard", "HEAD~2")
    else:
        case.repo.git("commit", "-q", "--amend", "-m", "amended")
    main = case.repo.rev("main")
    case.submit(3, {"z.txt": "z\n"})

    assert case.drain() == []
    assert case.repo.rev("main") == main
    assert "was set back" in case.queue.pause_reason
    assert case.queue.entry(3).status is EntryStatus.QUEUED

    case.repo.git("reset", "-q", "--keep", landed)
    assert case.drain() == ["merged"]
    assert case.files() == ["a.txt", "b.txt", "x.txt", "y.txt", "z.txt"]


def test_publish_when_the_person_goes_on_without_the_landings_then_the_queue_does_too(
    case: QueueCase,
) -> None:
    land(case, {"x.txt": "x\n"})
    case.repo.git("reset", "-q", "--hard", "HEAD~1")
    case.drain()
    case.repo.git("update-ref", "-d", case.queue.landed_ref)

    land(case, {"z.txt": "z\n"}, task=2)

    assert case.files() == ["a.txt", "b.txt", "z.txt"]
    assert case.queue.hold_reason == ""


def test_publish_when_the_branch_is_gone_then_the_queue_pauses(case: QueueCase) -> None:
    case.repo.git("switch", "-q", "-c", "elsewhere")
    case.repo.git("branch", "-q", "-D", "main")
    case.submit(1, {"x.txt": "x\n"})

    assert case.drain() == []
    assert "is gone" in case.queue.pause_reason
    assert case.repo.rev("main") == ""


@pytest.mark.parametrize("damage", ["lock", "torn", "index moved"])
def test_recover_when_following_was_cut_off_then_it_is_put_right(
    tmp_path: Path, damage: str
) -> None:
    files = {f"d{n}/f{n}.txt": f"old {n}\n" for n in range(40)}
    case = QueueCase(make_repo(tmp_path, files={**files, "mine.txt": "m\n"}))
    root = case.repo.root
    (root / "mine.txt").write_text("edited\n")
    changed = {name: f"{text}new, and longer than before\n" for name, text in files.items()}
    case.submit(1, {**changed, "added/new.txt": "added\n"})
    case.step = cut_at("publish")
    case.restart()
    with pytest.raises(Cut):
        case.land()
    landed = case.queue.landed
    if damage == "index moved":
        case.repo.git("read-tree", "-m", "-u", "HEAD", landed)
    else:
        (root / ".git" / "index.lock").touch()
    if damage == "torn":
        for number, (name, text) in enumerate(changed.items()):
            path = root / name
            match number % 4:
                case 0:
                    path.write_text(text)
                case 1:
                    path.write_text(text[:5])
                case 2:
                    path.unlink()
        (root / "added").mkdir()
        (root / "added" / "new.txt").write_text("add")
    unguarded = subprocess.run(
        ["git", "merge", "--ff-only", landed],
        cwd=root,
        env=case.repo.variables,
        capture_output=True,
        timeout=20,
    )

    case.step = lambda name: None
    case.restart()

    assert unguarded.returncode != 0 or damage == "index moved"
    assert case.queue.hold_reason == ""
    assert case.repo.rev("main") == landed
    assert case.repo.git("status", "--porcelain") == " M mine.txt"
    assert (root / "mine.txt").read_text() == "edited\n"
    assert (root / "added" / "new.txt").read_text() == "added\n"


def test_recover_when_a_torn_file_was_edited_meanwhile_then_it_waits(tmp_path: Path) -> None:
    case = make_case(tmp_path)
    case.submit(1, {"a.txt": "landed\n", "b.txt": "landed\n"})
    case.step = cut_at("publish")
    case.restart()
    with pytest.raises(Cut):
        case.land()
    (case.repo.root / "a.txt").write_text("landed\n")
    (case.repo.root / "b.txt").write_text("my own\n")

    case.step = lambda name: None
    case.restart()

    assert "'b.txt'" in case.queue.hold_reason
    assert (case.repo.root / "b.txt").read_text() == "my own\n"
    assert (case.repo.root / "a.txt").read_text() == "landed\n"


def test_recover_when_the_persons_git_holds_the_index_then_its_lock_stays(tmp_path: Path) -> None:
    case = make_case(tmp_path)
    case.submit(1, {"x.txt": "x\n"})
    case.step = cut_at("publish")
    case.restart()
    with pytest.raises(Cut):
        case.land()
    lock = case.repo.root / ".git" / "index.lock"

    case.step = lambda name: None
    with lock.open("w"):
        case.restart()
        held_with = case.queue.hold_reason
        is_kept = lock.exists()
    case.restart()

    assert "git is at work" in held_with
    assert is_kept
    assert case.repo.rev("main") == case.queue.landed


def test_recover_when_killed_before_the_first_note_of_publishing_then_nothing_was_set_back(
    case: QueueCase,
) -> None:
    root = case.repo.root
    (root / "b.txt").write_text("in the way\n")
    case.submit(1, {"b.txt": "landed\n"})
    case.drain()
    assert case.repo.rev("main") != case.queue.landed
    case.repo.git("update-ref", "-d", "refs/crewyard/published/main")
    case.repo.git("checkout", "--", "b.txt")

    case.queue.recover()
    case.drain()

    assert case.queue.hold_reason == ""
    assert case.repo.rev("main") == case.queue.landed
    assert (root / "b.txt").read_text() == "landed\n"
