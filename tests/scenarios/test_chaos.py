"""Workers and leads are killed at random until the board is done; nothing is lost or done twice."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from modules.records.tasks import TaskDraft
from modules.store.paths import Paths
from tests.scenarios.chaos import Chaos, persistent
from tests.scenarios.programs import (
    assert_nothing_left,
    command,
    crewyard,
    git,
    journal,
    make_repository,
    make_script,
    post,
    salvaged,
    tasks,
)

pytestmark = pytest.mark.slow

FIRST_SEED = int(os.environ.get("CREWYARD_CHAOS_FIRST", "0"))
SEEDS = [FIRST_SEED + number for number in range(int(os.environ.get("CREWYARD_CHAOS_SEEDS", "0")))]
CHECK = "test -f base.txt"
MANY_ATTEMPTS = 99


@pytest.mark.timeout(60)
def test_small_board_is_done_though_its_lead_and_workers_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chaos = run_chaos(tmp_path, monkeypatch, seed=7, count=3, workers=2, kills=4, records=6)

    assert chaos.killed_leads >= 1
    assert chaos.killed_workers >= 1
    assert chaos.left_tasks >= 1


@pytest.mark.timeout(600)
@pytest.mark.skipif(not SEEDS, reason="runs with as many seeds as CREWYARD_CHAOS_SEEDS says")
@pytest.mark.parametrize("seed", SEEDS or [FIRST_SEED])
def test_board_is_done_though_leads_and_workers_are_killed_again_and_again(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_chaos(tmp_path, monkeypatch, seed=seed, count=30, workers=4, kills=60, records=16)


def run_chaos(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: int,
    count: int,
    workers: int,
    kills: int,
    records: int,
) -> Chaos:
    """Has a board of `count` tasks done under kills, and fails unless all is as it should be."""
    temporary = folder / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    chance = random.Random(seed)
    repository = make_repository(folder / "sample", {"base.txt": "base\n"})
    waits = {number: _waits_for(number, chance) for number in range(1, count + 1)}
    spec = make_script(
        folder,
        [
            persistent(
                f"write {number}",
                f"file{number}.txt",
                f"content {number}\n",
                needs=f"file{waits[number]}.txt" if waits[number] else "base.txt",
            )
            for number in waits
        ],
    )
    drafts = [
        TaskDraft(
            subject=f"write {number}",
            after=(other,) if other else (),
            attempts_allowed=MANY_ATTEMPTS,
        )
        for number, other in waits.items()
    ]
    post(repository, *drafts)
    chaos = Chaos(
        repository,
        command("work", "--workers", str(workers), "--model", spec, "--check", CHECK),
        chance,
        most_kills=kills,
        most_records=records,
        logs=folder / "logs",
    )

    chaos.run()

    print(
        f"seed {seed}: {chaos.killed_leads} leads, {chaos.killed_workers} workers were killed, "
        f"{chaos.left_tasks} tasks left under way"
    )
    assert chaos.codes == [0], chaos.logs
    assert_each_landed_once(repository, count)
    assert_only_workers_failed(repository, chaos)
    assert_no_work_lost(repository)
    assert_clean(repository)
    assert list(temporary.iterdir()) == []
    assert list(Path(os.environ["CREWYARD_HOME"]).glob("probe-*")) == []
    return chaos


def _waits_for(number: int, chance: random.Random) -> int:
    """Returns the task that `number` waits for, 0 for none."""
    return chance.randrange(1, number) if number > 3 and chance.random() < 0.7 else 0


def assert_each_landed_once(repository: Path, count: int) -> None:
    """Fails unless board, queue, proofs, history and checkout tell of the same landings."""
    subjects = [f"write {number}" for number in range(1, count + 1)]
    board = tasks(repository)
    merged = [
        entry
        for entry in crewyard("queue", "--json", cwd=repository).document
        if entry["status"] == "merged"
    ]
    landings = git(repository, "log", "--reverse", "--format=%H %T %s", "main").splitlines()[1:]
    history = {commit: (tree, subject) for commit, tree, subject in map(_split, landings)}

    assert {task["status"] for task in board} == {"completed"}
    assert sorted(subject for _, subject in history.values()) == sorted(subjects)
    assert sorted(entry["landed_as"] for entry in merged) == sorted(history)
    assert {task["landed_as"]: task["subject"] for task in board} == {
        commit: subject for commit, (_, subject) in history.items()
    }
    assert sorted(entry["task"] for entry in merged) == [task["id"] for task in board]
    for entry in merged:
        assert (entry["receipt"]["outcome"], entry["receipt"]["exit_code"]) == ("passed", 0)
    _assert_journal_agrees(repository, list(history))
    names = {f"file{number}.txt": f"content {number}\n" for number in range(1, count + 1)}
    found = {path.name: path.read_text() for path in repository.glob("*") if path.is_file()}
    assert found == {"base.txt": "base\n", **names}


def _split(line: str) -> tuple[str, str, str]:
    commit, tree, subject = line.split(" ", 2)
    return commit, tree, subject


def _assert_journal_agrees(repository: Path, commits: Sequence[str]) -> None:
    """Every landing that was noted is on the target, in order, each once, after its check."""
    records = journal(Paths(repository).queue)
    done = [record["to_commit"] for record in records if record["record"] == "landed"]
    assert done == list(commits)
    completed = [
        record for record in journal(Paths(repository).board) if record["kind"] == "completed"
    ]
    assert sorted(record["landed_as"] for record in completed) == sorted(commits)


def assert_only_workers_failed(repository: Path, chaos: Chaos) -> None:
    """Fails when the death of a lead was counted as a failure of a task."""
    failures = [
        record["reason"]
        for record in journal(Paths(repository).board)
        if record["kind"] == "released" and record.get("is_failure")
    ]
    assert len(failures) <= chaos.killed_workers, failures


def assert_no_work_lost(repository: Path) -> None:
    """Fails unless what each attempt wrote has landed from its lane or is in a salvage ref."""
    landed = {
        record["submission"]["branch"].rpartition("/")[2]
        for record in journal(Paths(repository).queue)
        if record["record"] == "submitted"
    }
    kept: dict[str, set[str]] = {}
    for ref, names in salvaged(repository).items():
        kept.setdefault(ref.split("/")[3], set()).update(names.split())
    for path in Paths(repository).sessions.glob("t*.jsonl"):
        lost = written_in(path) - kept.get(path.stem, set())
        assert not lost or path.stem in landed, f"{path.stem} lost {lost}"


def written_in(session: Path) -> set[str]:
    """Returns the files that an agent was told it has written."""
    asked: dict[str, str] = {}
    written = set()
    for record in journal(session):
        for block in record.get("message", {}).get("blocks", ()):
            if block.get("name") == "write_file":
                asked[block["call_id"]] = block["input"]["path"]
            if block.get("call_id") in asked and "name" not in block and not block.get("is_error"):
                written.add(asked[block["call_id"]])
    return written


def assert_clean(repository: Path) -> None:
    """Fails when git finds a fault, or anything of a run is left beside what is kept on purpose."""
    assert_nothing_left(repository)
    assert git(repository, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(repository, "stash", "list") == ""
    fsck = git(repository, "fsck", "--full", "--strict", "--no-dangling", "--no-progress")
    assert fsck == ""
    assert list((repository / ".git").rglob("*.lock")) == []
    refs = git(repository, "for-each-ref", "--format=%(refname)").splitlines()
    assert {_kind(ref) for ref in refs} <= {
        "refs/heads/main",
        "refs/crewyard/landed",
        "refs/crewyard/published",
        "refs/crewyard/entries",
        "refs/crewyard/salvage",
        "refs/crewyard/state",
    }
    paths = Paths(repository)
    assert list(paths.lanes.glob("*")) == []
    assert list((repository / ".git").glob("crewyard-*")) == []
    assert list(paths.temporary.glob("*")) == []
    assert [path.name for path in paths.team.rglob(".*")] == []
    assert paths.lead_lock.read_text() == ""
    assert list(paths.team.glob("*.torn")) == []


def _kind(ref: str) -> str:
    return "/".join(ref.split("/")[:3])
