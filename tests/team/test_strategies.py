"""What an entry becomes in the target's history, by each strategy of modules/team/landing_plan."""

import re
from pathlib import Path

import pytest

from modules.records.errors import ModelFault
from modules.records.merges import EntryStatus, Strategy
from tests.team.queue_case import QueueCase, make_case

pytestmark = pytest.mark.slow


def submit_two_commits(case: QueueCase, task: int, *, trailer: str = "") -> None:
    """Submits a branch of two commits by somebody else than the person."""
    lane = case.lane(task)
    author = ("-c", "user.name=Bo", "-c", "user.email=bo@example.org")
    for part in (1, 2):
        (lane.path / f"{task}-{part}.txt").write_text("x\n")
        case.repo.git("add", "-A", at=lane.path)
        message = f"part {part} of {task}{trailer}"
        case.repo.git(*author, "commit", "-q", "-m", message, at=lane.path)
    case.queue.submit(case.submission(task, lane))


def history(case: QueueCase, *options: str) -> list[str]:
    """Returns author and subject of the target's commits, newest first."""
    return case.repo.git("log", "--format=%an: %s", *options, "main").split("\n")


@pytest.mark.parametrize("strategy", Strategy)
def test_land_by_each_strategy_then_authors_are_kept_and_a_revert_takes_all_of_it_back(
    tmp_path: Path, strategy: Strategy
) -> None:
    case = make_case(tmp_path, strategy=strategy)
    for task in (1, 2):
        submit_two_commits(case, task)
    landed = case.drain()
    first_parents = history(case, "--first-parent")
    all_commits = sorted(history(case))
    files = case.files()
    trailers = case.repo.git("log", "-1", "--format=%(trailers:key=Task,valueonly)", "main")

    case.queue.revert(1)
    reverted = case.drain()
    files_after_revert = case.files()
    submit_two_commits(case, 3)
    case.drain()

    assert landed == ["merged", "merged"]
    assert trailers.strip() == "2"
    assert files == ["1-1.txt", "1-2.txt", "2-1.txt", "2-2.txt", "a.txt", "b.txt"]
    match strategy:
        case Strategy.SQUASH:
            assert first_parents == ["Bo: task 2", "Bo: task 1", "Ada: first commit"]
        case Strategy.MERGE:
            assert first_parents == ["Ada: task 2", "Ada: task 1", "Ada: first commit"]
            assert [line for line in all_commits if line.startswith("Bo")] == [
                f"Bo: part {part} of {task}" for part in (1, 2) for task in (1, 2)
            ]
        case Strategy.REBASE:
            assert first_parents == [
                *(f"Bo: part {part} of {task}" for task in (2, 1) for part in (2, 1)),
                "Ada: first commit",
            ]
    assert reverted == ["merged"]
    assert files_after_revert == ["2-1.txt", "2-2.txt", "a.txt", "b.txt"]
    assert "3-2.txt" in case.files()
    assert case.repo.git("status", "--porcelain") == ""
    assert case.repo.rev("main^{tree}") == proven_tree(case)


def proven_tree(case: QueueCase) -> str:
    receipt = case.queue.entries()[-1].receipt
    assert receipt is not None
    return receipt.tree


def test_land_by_rebase_when_a_commit_has_trailers_then_ours_are_put_to_them(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path, strategy=Strategy.REBASE)
    submit_two_commits(case, 1, trailer="\n\nSigned-off-by: Bo <bo@example.org>")

    case.drain()

    body = case.repo.git("log", "-1", "--format=%B", "main")
    assert body.split("\n\n") == [
        "part 2 of 1",
        "Signed-off-by: Bo <bo@example.org>\nTask: 1\nEntry: 1",
    ]


def test_land_by_rebase_when_a_merge_is_among_the_commits_then_it_lands_as_one(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path, strategy=Strategy.REBASE)
    lane = case.lane(1)
    case.work(1, {"x.txt": "x\n"}, lane=lane)
    case.submit(2, {"y.txt": "y\n"})
    case.drain()
    case.repo.git("merge", "-q", "--no-ff", "-m", "catch up", case.queue.landed, at=lane.path)
    case.queue.submit(case.submission(1, lane))

    assert case.drain() == ["merged"]
    entry = case.queue.entry(2)
    assert entry.status is EntryStatus.MERGED
    assert "landed as one" in entry.reason
    assert history(case)[0] == "Ada: task 1"


@pytest.mark.parametrize("strategy", Strategy)
def test_recover_by_each_strategy_when_killed_before_the_record_then_it_lands_once(
    tmp_path: Path, strategy: Strategy
) -> None:
    class Killed(Exception):
        pass

    def kill(name: str) -> None:
        if name == "record the landing" and not killed:
            killed.append(name)
            raise Killed

    killed: list[str] = []
    case = make_case(tmp_path, strategy=strategy, step=kill)
    submit_two_commits(case, 1)

    with pytest.raises(Killed):
        case.drain()
    case.restart()
    case.drain()

    assert [entry.status for entry in case.queue.entries()] == [EntryStatus.MERGED]
    assert case.repo.git("log", "--format=%s", "main").count("part 2 of 1") in (0, 1)
    assert case.repo.rev("main") == case.queue.entry(1).landed_as


def test_submit_by_merge_when_it_holds_what_was_taken_back_then_it_is_told_how_to_have_it_again(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path, strategy=Strategy.MERGE)
    lane = case.lane(1)
    case.queue.submit(case.work(1, {"x.txt": "x\n"}, lane=lane))
    case.drain()
    later = case.work(3, {"z.txt": "z\n"}, lane=case.lane(3))
    back = case.queue.revert(1)
    case.drain()
    more = case.work(2, {"y.txt": "y\n"}, lane=lane)
    unguarded = case.repo.git("merge-tree", "--write-tree", "main", more.commit)

    with pytest.raises(ModelFault, match="taken back") as caught:
        case.queue.submit(more)
    for command in re.findall(r"`git (\S+ \S+)`", str(caught.value)):
        case.repo.git(*command.split(), "--no-edit", at=lane.path)
    case.queue.submit(case.submission(2, lane))

    assert "x.txt" not in case.repo.git("ls-tree", "--name-only", unguarded)
    case.queue.submit(later)
    assert back.submission.reverts == 1
    assert case.drain() == ["merged", "merged"]
    assert case.files() == ["a.txt", "b.txt", "x.txt", "y.txt", "z.txt"]
