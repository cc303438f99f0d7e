"""Tests of modules/git/lanes.py, lane_state.py and lane_names.py."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from modules.git.lane_names import lane_name
from modules.git.lane_state import Lane, LaneState, inspect_lane
from modules.git.lanes import (
    CloseAction,
    Closed,
    close_lane,
    finish_closing,
    free_locks,
    list_lanes,
    make_lane,
    restore_lane,
)
from modules.git.refs import move_ref
from modules.git.repository import Repository
from modules.git.run_git import GitFault
from modules.git.salvage import list_salvages, show_salvage
from modules.records.errors import PersonFault
from tests.repos import NOW, Repo, make_repo


def close(
    repository: Repository, lane: Lane, action: CloseAction = CloseAction.REMOVE, in_use: str = ""
) -> Closed:
    return close_lane(
        repository,
        lane,
        action=action,
        is_landed=lambda commit: False,
        now=NOW,
        in_use=in_use,
    )


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def repository(repo: Repo) -> Repository:
    return repo.open()


@pytest.fixture
def lane(repository: Repository) -> Lane:
    return make_lane(repository, name="t1-1-x", base="main")


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("  My Feature/Branch!! v2  ", "t7-2-my-feature-branch-v2"),
        ("a" * 60, "t7-2-" + "a" * 35),
        ("a" * 34 + " b", "t7-2-" + "a" * 34),
        ("-x..lock@{.lock", "t7-2-x-lock-lock"),
        ("naïve café", "t7-2-naive-cafe"),
        ("中文标题", "t7-2"),
        ("!!!", "t7-2"),
    ],
)
def test_lane_name_for_any_subject_then_is_short_and_valid(subject: str, name: str) -> None:
    assert lane_name(task=7, attempt=2, subject=subject) == name


def test_lane_that_starts_with_work_has_it_on_top_of_its_base(
    repo: Repo, repository: Repository
) -> None:
    base = repo.rev("main")
    repo.git("checkout", "-q", "-b", "work")
    repo.commit({"work.txt": "x\n"}, "work")
    start = repo.rev("HEAD")
    repo.git("checkout", "-q", "main")

    lane = make_lane(repository, name="t1-2-x", base=base, start=start)
    state = inspect_lane(repository, lane)

    assert (lane.base, state.head, state.files) == (base, start, ("work.txt",))
    assert (state.dirty, state.ahead, state.is_base_rewritten) == ((), 1, False)


def test_make_lane_then_it_stands_filled_at_its_base_on_its_own_branch(
    repo: Repo, repository: Repository
) -> None:
    base = repo.rev("main")

    lane = make_lane(repository, name="t1-1-x", base=base)

    assert lane == Lane("t1-1-x", repo.root / ".worktrees" / "t1-1-x", "wt/t1-1-x", base)
    assert (lane.path / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert inspect_lane(repository, lane) == LaneState(head=base, branch="wt/t1-1-x")
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert list_lanes(repository) == [lane]


@pytest.mark.parametrize("name", ["../../x", "a" * 200, "..", ".lock", "-f", "ü b/c", ""])
def test_make_lane_for_any_name_then_stays_in_the_lanes_folder(
    repo: Repo, repository: Repository, name: str
) -> None:
    lane = make_lane(repository, name=name, base="main")

    assert lane.path.parent == repo.root / ".worktrees"
    assert lane.path.is_dir()
    assert repo.rev(lane.branch) == lane.base


def test_make_lane_when_the_branch_exists_elsewhere_then_takes_a_free_name(
    repo: Repo, repository: Repository, tmp_path: Path
) -> None:
    """imbue-ai/mngr#949, therealarthur/myrlin-workbook#24."""
    mine = tmp_path / "mine"
    repo.git("worktree", "add", "-q", "-b", "wt/t1-1-x", str(mine))
    repo.git("branch", "wt/t1-1-x-2/deeper")

    lane = make_lane(repository, name="t1-1-x", base="main")

    assert lane.name == "t1-1-x-3"
    assert repo.git("symbolic-ref", "HEAD", at=mine) == "refs/heads/wt/t1-1-x"


def test_make_lane_when_a_branch_is_called_like_the_folder_then_uses_another_folder(
    repo: Repo, repository: Repository
) -> None:
    repo.git("branch", "wt")

    lane = make_lane(repository, name="t1-1-x", base="main")

    assert lane.branch == "wt-lanes/t1-1-x"
    assert list_lanes(repository) == [lane]


def test_make_lane_when_its_folder_was_deleted_by_hand_then_the_next_gets_a_fresh_name(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    """AndyMik90/Aperant#694, Untrivial-ai/agent-orchestrator#3098."""
    kept = repo.commit({"work.txt": "work\n"}, "work", at=lane.path)
    subprocess.run(["rm", "-rf", str(lane.path)], check=True, timeout=10)

    again = make_lane(repository, name="t1-1-x", base="main")

    assert again.name == "t1-1-x-2"
    assert repo.rev("wt/t1-1-x") == kept


def test_make_lane_when_the_base_is_unknown_then_nothing_is_left(
    repo: Repo, repository: Repository
) -> None:
    refs = repo.git("for-each-ref")

    with pytest.raises(PersonFault, match="There is no commit 'nowhere'"):
        make_lane(repository, name="t1-1-x", base="nowhere")

    assert repo.git("for-each-ref") == refs
    assert not (repo.root / ".worktrees").exists()


def test_make_lane_when_git_refuses_then_nothing_is_left_and_its_words_are_told(
    repo: Repo, repository: Repository
) -> None:
    refs = repo.git("for-each-ref")
    (repo.root / ".git" / "worktrees").write_text("in the way\n")

    with pytest.raises(GitFault, match="worktree add"):
        make_lane(repository, name="t1-1-x", base="main")

    assert repo.git("for-each-ref") == refs
    assert list((repo.root / ".worktrees").iterdir()) == []


def test_make_lane_when_it_can_not_be_filled_then_nothing_is_left(
    repo: Repo, repository: Repository
) -> None:
    blob = repo.rev("main:a.txt")
    (repo.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    refs = repo.git("for-each-ref")

    with pytest.raises(GitFault):
        make_lane(repository, name="t1-1-x", base="main")

    assert repo.git("for-each-ref") == refs
    assert list((repo.root / ".worktrees").iterdir()) == []
    assert "t1-1-x" not in repo.git("worktree", "list")


@pytest.mark.slow
def test_make_lane_from_many_threads_then_all_are_made(repo: Repo, repository: Repository) -> None:
    with ThreadPoolExecutor(8) as pool:
        lanes = list(
            pool.map(lambda n: make_lane(repository, name=f"t{n}-1", base="main"), range(40))
        )

    assert {lane.name for lane in lanes} == {f"t{n}-1" for n in range(40)}
    assert len(list_lanes(repository)) == 40
    assert all((lane.path / "a.txt").exists() for lane in lanes)


def test_inspect_lane_when_the_worker_committed_itself_then_the_work_is_seen(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    """tintinweb/pi-subagents#68."""
    repo.commit({"x.txt": "1\n"}, "one", at=lane.path)
    head = repo.commit({"naïve café\t.txt": "2\n"}, "two", at=lane.path)

    state = inspect_lane(repository, lane)

    assert state == LaneState(
        head=head, branch=lane.branch, ahead=2, files=("naïve café\t.txt", "x.txt")
    )


def test_inspect_lane_when_it_is_dirty_then_names_every_file(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.git("mv", "b.txt", "renamed.txt", at=lane.path)
    (lane.path / "a.txt").write_text("changed\n")
    (lane.path / "new").mkdir()
    (lane.path / "new" / "-n").write_text("new\n")

    state = inspect_lane(repository, lane)

    assert set(state.dirty) == {"renamed.txt", "b.txt", "a.txt", "new/-n"}


def test_inspect_lane_when_on_another_branch_or_detached_then_says_so(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.git("switch", "-q", "-c", "own-idea", at=lane.path)
    on_other = inspect_lane(repository, lane)
    repo.git("switch", "-q", "--detach", at=lane.path)
    detached = inspect_lane(repository, lane)

    assert (on_other.branch, detached.branch) == ("own-idea", "")


def test_inspect_lane_when_the_base_was_amended_then_says_so(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.git("commit", "-q", "--amend", "-m", "rewritten", at=lane.path)

    assert inspect_lane(repository, lane).is_base_rewritten


def test_inspect_lane_when_a_rebase_is_unfinished_then_says_so(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.commit({"a.txt": "theirs\n"}, "theirs")
    repo.commit({"a.txt": "ours\n"}, "ours", at=lane.path)
    repo.git("rebase", "main", at=lane.path, accept=(1,))

    state = inspect_lane(repository, lane)

    assert (state.unfinished, state.branch) == ("rebase", "")


def test_inspect_lane_when_its_git_file_is_rewritten_then_the_lie_is_not_followed(
    repo: Repo, repository: Repository, lane: Lane, tmp_path: Path
) -> None:
    other = make_repo(tmp_path / "other", files={"o.txt": "o"})
    (lane.path / ".git").write_text(f"gitdir: {other.root}/.git\n")
    unguarded = repo.git("rev-parse", "HEAD", at=lane.path)

    state = inspect_lane(repository, lane)

    assert unguarded == other.rev("HEAD") != lane.base
    assert state.head == lane.base


def test_inspect_lane_when_its_index_is_broken_then_it_is_unreadable(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    (repo.root / ".git" / "worktrees" / lane.name / "index").write_bytes(b"garbage")

    assert "index" in inspect_lane(repository, lane).unreadable


def test_close_lane_when_clean_and_merged_then_it_goes_with_its_branch(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
    repo.git("merge", "-q", "--no-edit", lane.branch)

    closed = close(repository, lane)

    assert closed == Closed(kept=False)
    assert not lane.path.exists()
    assert repo.rev(lane.branch) == ""
    assert repo.git("for-each-ref", "refs/crewyard") == ""


def test_close_lane_when_squash_merged_then_it_goes(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
    repo.commit({"x.txt": "x\ny\n"}, "y", at=lane.path)
    repo.git("merge", "-q", "--squash", lane.branch)
    repo.commit({"unrelated.txt": "u\n"}, "squashed")

    assert close(repository, lane) == Closed(kept=False)
    assert repo.rev(lane.branch) == ""


def test_close_lane_when_the_queue_says_it_landed_then_it_goes(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    head = repo.commit({"x.txt": "x\n"}, "x", at=lane.path)

    closed = close_lane(repository, lane, action=CloseAction.REMOVE, is_landed=head.__eq__, now=NOW)

    assert closed == Closed(kept=False)


def test_close_lane_when_nothing_is_left_of_its_commits_then_it_stays(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
    repo.git("rm", "-q", "x.txt", at=lane.path)
    head = repo.commit({}, "taken back", at=lane.path)

    assert close(repository, lane).reason == f"the commit {head[:12]} has not landed"


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("untracked", "uncommitted changes in 'note.txt'"),
        ("staged", "uncommitted changes in 'a.txt'"),
        ("unmerged", "has not landed"),
        ("detached", "HEAD is detached"),
        ("other branch", "the branch 'own-idea' is checked out"),
        ("no status", "unreadable"),
        ("busy", "in use: worker w1"),
        ("nested", "uncommitted changes in 'inner/'"),
    ],
)
def test_close_lane_when_something_would_be_lost_then_it_stays_with_the_reason(
    repo: Repo, repository: Repository, lane: Lane, trouble: str, reason: str
) -> None:
    """kirodotdev/KiroCrew#1554, anthropics/claude-code#74719."""
    _make_trouble(repo, lane, trouble)
    files = sorted(lane.path.rglob("*"))

    closed = close(repository, lane, in_use="worker w1" if trouble == "busy" else "")

    assert closed.kept
    assert reason in closed.reason
    assert sorted(lane.path.rglob("*")) == files
    assert repo.rev(lane.branch)


@pytest.mark.parametrize("trouble", ["untracked", "staged", "unmerged", "detached", "other branch"])
def test_close_lane_when_asked_to_salvage_then_nothing_is_lost(
    repo: Repo, repository: Repository, lane: Lane, trouble: str
) -> None:
    _make_trouble(repo, lane, trouble)
    files = {
        p.name: p.read_bytes() for p in lane.path.iterdir() if p.is_file() and p.name != ".git"
    }

    closed = close(repository, lane, CloseAction.SALVAGE)
    restored = restore_lane(repository, ref=closed.salvage_ref, name="back")

    assert not closed.kept
    assert not lane.path.exists()
    assert closed.salvage_ref == "refs/crewyard/salvage/t1-1-x/20260304T050607Z"
    assert [s.ref for s in list_salvages(repository)] == [closed.salvage_ref]
    assert show_salvage(repository, closed.salvage_ref)
    assert files == {
        p.name: p.read_bytes() for p in restored.path.iterdir() if p.is_file() and p.name != ".git"
    }


@pytest.mark.parametrize("trouble", ["no status", "busy", "nested"])
def test_close_lane_when_the_work_can_not_be_salvaged_then_it_stays(
    repo: Repo, repository: Repository, lane: Lane, trouble: str
) -> None:
    _make_trouble(repo, lane, trouble)

    closed = close(
        repository, lane, CloseAction.SALVAGE, in_use="worker w1" if trouble == "busy" else ""
    )

    assert closed.kept
    assert lane.path.exists()
    assert repo.rev(lane.branch)


def test_close_lane_when_salvaging_a_staged_file_that_changed_again_then_both_are_kept(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    (lane.path / "a.txt").write_text("staged\n")
    repo.git("add", "a.txt", at=lane.path)
    (lane.path / "a.txt").write_text("unstaged\n")

    ref = close(repository, lane, CloseAction.SALVAGE).salvage_ref

    assert repo.git("show", f"{ref}:a.txt") == "unstaged"
    assert repo.git("show", f"{ref}^2:a.txt") == "staged"


def test_close_lane_when_a_rebase_is_unfinished_then_salvage_keeps_its_commits(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.commit({"a.txt": "theirs\n"}, "theirs")
    head = repo.commit({"a.txt": "ours\n"}, "ours", at=lane.path)
    repo.git("rebase", "main", at=lane.path, accept=(1,))

    closed = close(repository, lane, CloseAction.SALVAGE)

    assert repo.git("merge-base", "--is-ancestor", head, closed.salvage_ref) == ""
    assert "<<<<<<<" in repo.git("show", f"{closed.salvage_ref}:a.txt")


def test_close_lane_when_a_process_works_in_it_then_it_stays(
    repository: Repository, lane: Lane
) -> None:
    """anthropics/claude-code#94221, BloopAI/vibe-kanban#113."""
    with subprocess.Popen(["sleep", "60"], cwd=lane.path) as process:
        closed = close(repository, lane, CloseAction.SALVAGE)
        process.kill()

    assert closed == Closed(kept=True, reason=f"in use: pid {process.pid} (sleep)")


def test_free_locks_when_a_killed_git_left_some_then_git_works_in_the_lane_again(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    git_dir = repo.root / ".git"
    locks = [
        git_dir / "worktrees" / lane.name / "index.lock",
        git_dir / "worktrees" / lane.name / "HEAD.lock",
        git_dir / "refs" / "heads" / f"{lane.branch}.lock",
    ]
    for lock in locks:
        lock.write_text("")
    with pytest.raises(AssertionError, match="File exists"):
        repo.commit({"new.txt": "new\n"}, "work", at=lane.path)

    free_locks(repository, lane)

    assert repo.commit({"new.txt": "new\n"}, "work", at=lane.path) == repo.rev(lane.branch)


def test_close_lane_when_a_killed_git_left_a_lock_on_the_branch_then_it_goes_all_the_same(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    lock = repo.root / ".git" / "refs" / "heads" / f"{lane.branch}.lock"
    lock.write_text("")

    closed = close(repository, lane)

    assert closed == Closed(kept=False)
    assert repo.rev(lane.branch) == ""
    assert not lock.exists()


def test_close_lane_when_its_folder_is_a_link_then_it_stays(
    repo: Repo, repository: Repository, lane: Lane, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    lane.path.rename(moved)
    lane.path.symlink_to(moved)

    closed = close(repository, lane)

    assert closed.kept
    assert (moved / "a.txt").exists()


def test_close_lane_when_it_is_not_ours_then_it_stays(
    repo: Repo, repository: Repository, tmp_path: Path
) -> None:
    repo.git("worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))
    lane = Lane("mine", tmp_path / "mine", "mine", repo.rev("main"))

    assert "is not one of our lanes" in close(repository, lane, CloseAction.SALVAGE).reason


def test_close_lane_when_the_branch_moved_on_after_landing_then_it_stays(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
    repo.git("merge", "-q", "--no-edit", lane.branch)
    late = repo.commit({"late.txt": "late\n"}, "late", at=lane.path)

    assert close(repository, lane).reason == f"the commit {late[:12]} has not landed"


def test_close_lane_when_asked_to_keep_then_it_stays(repository: Repository, lane: Lane) -> None:
    assert close(repository, lane, CloseAction.KEEP) == Closed(True, "asked to keep it")


def test_close_lane_when_a_private_ref_is_ahead_of_the_target_then_that_counts(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    head = repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
    move_ref(repository.git, "refs/crewyard/landed/main", new=head, old="")

    assert close(repository, lane) == Closed(kept=False)


def _make_trouble(repo: Repo, lane: Lane, trouble: str) -> None:
    match trouble:
        case "untracked":
            (lane.path / "note.txt").write_text("note\n")
        case "staged":
            (lane.path / "a.txt").write_text("staged\n")
            repo.git("add", "a.txt", at=lane.path)
        case "unmerged":
            repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
        case "detached":
            repo.git("switch", "-q", "--detach", at=lane.path)
            repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
        case "other branch":
            repo.git("switch", "-q", "-c", "own-idea", at=lane.path)
            repo.commit({"x.txt": "x\n"}, "x", at=lane.path)
        case "no status":
            (repo.root / ".git" / "worktrees" / lane.name / "index").write_bytes(b"garbage")
        case "nested":
            (lane.path / "inner").mkdir()
            repo.git("init", "-q", at=lane.path / "inner")
            repo.commit({"deep.txt": "deep\n"}, "deep", at=lane.path / "inner")


def test_finish_closing_when_a_kill_left_the_branch_then_its_work_is_kept_and_it_goes(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    repository = repo.open()
    lane = make_lane(repository, name="t1-1-work", base=repo.rev("main"))
    mine = make_lane(repository, name="mine", base=repo.rev("main"))
    work = repo.commit({"new.txt": "new\n"}, "work", at=lane.path)
    for made in (lane, mine):
        repo.git("worktree", "remove", "--force", str(made.path))

    finish_closing(repository, is_landed=lambda commit: False, now=NOW)

    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads/wt") == "refs/heads/wt/mine"
    assert repo.git("rev-parse", "refs/crewyard/salvage/t1-1-work/20260304T050607Z") == work


# -- what another worker can do to a lane: the folder of refs is shared by their jails --


def test_inspect_lane_when_another_worker_moved_its_branch_then_the_own_commit_is_told(
    repo: Repo, repository: Repository, lane: Lane
) -> None:
    other = make_lane(repository, name="t2-1-y", base="main")
    own = repo.commit({"own.txt": "own\n"}, "own", at=lane.path)
    evil = repo.commit({"evil.txt": "evil\n"}, "evil", at=other.path)
    assert inspect_lane(repository, lane).own_head == ""

    (repo.root / ".git" / "refs" / "heads" / lane.branch).write_text(evil + "\n")
    moved = inspect_lane(repository, lane)
    repo.git("reset", "--soft", own, at=lane.path)
    mended = inspect_lane(repository, lane)

    assert (moved.head, moved.own_head) == (evil, own)
    assert "moved from outside" in moved.problem
    assert (mended.head, mended.own_head, mended.dirty, mended.problem) == (own, "", (), "")


@pytest.mark.parametrize("where", ["main", "evil", "gone"])
def test_close_lane_when_another_worker_moved_its_branch_then_the_own_commits_are_kept(
    repo: Repo, repository: Repository, lane: Lane, where: str
) -> None:
    other = make_lane(repository, name="t2-1-y", base="main")
    own = repo.commit({"own.txt": "own\n"}, "own", at=lane.path)
    evil = repo.commit({"evil.txt": "evil\n"}, "evil", at=other.path)
    ref = repo.root / ".git" / "refs" / "heads" / lane.branch
    if where == "gone":
        ref.unlink()
    else:
        ref.write_text({"main": repo.rev("main"), "evil": evil}[where] + "\n")
    closed = close(repository, lane, CloseAction.SALVAGE)

    if where == "gone":
        assert closed.kept
        assert f"git reset --soft {own}" in closed.reason
    else:
        assert not closed.kept
        kept = repo.git("rev-list", closed.salvage_ref).split()
        assert own in kept


def test_make_lane_when_a_worker_put_a_link_where_its_log_would_be_then_nothing_is_written_there(
    repo: Repo, repository: Repository, tmp_path: Path
) -> None:
    """Plain git appends to whatever the link leads to, with the person's rights."""
    logs = repo.root / ".git" / "logs" / "refs" / "heads" / "wt"
    logs.mkdir(parents=True)
    for name in ("plain", "t9-1-z"):
        (tmp_path / name).write_text("mine\n")
        (logs / name).symlink_to(tmp_path / name)
    repo.git("update-ref", "refs/heads/wt/plain", "main")
    assert (tmp_path / "plain").read_text() != "mine\n"

    made = make_lane(repository, name="t9-1-z", base="main")
    repo.commit({"x.txt": "x\n"}, "x", at=made.path)
    close(repository, made, CloseAction.SALVAGE)

    assert (tmp_path / "t9-1-z").read_text() == "mine\n"


def test_make_lane_when_a_worker_put_a_ref_to_elsewhere_there_then_no_other_ref_is_made(
    repo: Repo, repository: Repository
) -> None:
    refs = repo.root / ".git" / "refs" / "heads" / "wt"
    refs.mkdir(parents=True)
    (refs / "t9-1-z").write_text("ref: refs/heads/planted\n")

    made = make_lane(repository, name="t9-1-z", base="main")

    assert repo.rev("refs/heads/planted") == ""
    assert repo.rev(made.branch) == repo.rev("main")
    assert repo.git("symbolic-ref", "-q", f"refs/heads/{made.branch}", accept=(0, 1)) == ""


@pytest.mark.parametrize("log", ["garbage", "gone", "link", "pipe", "other commit"])
def test_inspect_lane_when_its_own_log_says_nothing_then_its_branch_counts(
    repo: Repo, repository: Repository, lane: Lane, tmp_path: Path, log: str
) -> None:
    own = repo.commit({"own.txt": "own\n"}, "own", at=lane.path)
    path = repo.root / ".git" / "worktrees" / lane.name / "logs" / "HEAD"
    content = path.read_text()
    path.unlink()
    match log:
        case "garbage":
            path.write_text("x" * 100_000)
        case "link":
            (tmp_path / "elsewhere").write_text(content.replace(own, repo.rev("main")))
            path.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(path)
        case "other commit":
            path.write_text(content.replace(own, "1" * 40))
        case _:
            pass

    assert inspect_lane(repository, lane).own_head == ""
    assert inspect_lane(repository, lane).head == own
