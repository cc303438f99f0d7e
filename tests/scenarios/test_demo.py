"""`demo`: all that it promises is looked for in git, in the journals, on disk and in /proc."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.programs import (
    assert_nothing_left,
    assert_proven,
    crewyard,
    git,
    processes_in,
    salvaged,
    tasks,
)

pytestmark = pytest.mark.slow

LONGEST_SECONDS = 60.0
REPORT = {"result", "tasks", "landed", "workers", "usage", "seconds", "exit_code"}


def test_demo_in_a_folder_keeps_everything_it_shows(tmp_path: Path) -> None:
    place = tmp_path / "new" / "demo"

    ended = crewyard("demo", "--dir", str(place), "--json", cwd=tmp_path)

    assert ended.code == 0, ended
    report = ended.document
    assert set(report) >= REPORT
    assert report["surprises"] == []
    assert report["seconds"] < LONGEST_SECONDS
    assert len(report["landed"]) == 5
    assert tasks(place) == report["tasks"]
    assert_proven(place, report)
    assert_three_were_at_work_at_once(place)
    assert_work_was_refused_and_mended(place)
    assert_a_worker_died_and_its_edit_is_kept(place)
    assert_a_call_was_denied(place)
    assert own_tests_pass(place)
    assert_nothing_left(place)


def assert_three_were_at_work_at_once(place: Path) -> None:
    lines = (place / ".team" / "board.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    moves = [kind for kind in kinds if kind in ("claimed", "submitted", "released")]
    assert moves[:3] == ["claimed"] * 3


def assert_work_was_refused_and_mended(place: Path) -> None:
    by_task: dict[int, list[str]] = {}
    for entry in crewyard("queue", "--json", cwd=place).document:
        by_task.setdefault(entry["task"], []).append(entry["status"])
    outcomes = sorted(by_task.values())
    assert outcomes == [["conflicted", "merged"], ["failed", "merged"], *[["merged"]] * 3]


def assert_a_worker_died_and_its_edit_is_kept(place: Path) -> None:
    (again,) = (task for task in tasks(place) if task["attempt"] == 2)
    number = again["id"]
    kept = [ref for ref in salvaged(place) if f"/t{number}-1-" in ref]
    assert len(kept) == 1
    assert git(place, "diff", "--name-only", f"{kept[0]}~", kept[0]) == "README.md"


def assert_a_call_was_denied(place: Path) -> None:
    denied = []
    for path in (place / ".team" / "sessions").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["kind"] == "decided" and record["decision"]["behavior"] == "deny":
                denied.append(record["tool"])
    assert denied
    assert set(denied) == {"bash"}


def own_tests_pass(place: Path) -> bool:
    tests = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-s", "tests"],
        cwd=place,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return tests.returncode == 0


def test_demo_without_a_folder_tells_its_story_and_leaves_nothing(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    ended = crewyard("demo", cwd=tmp_path, environment={"TMPDIR": str(scratch)})

    assert ended.code == 0, ended
    for words in ("conflict", "check", "kill", "landed"):
        assert words in ended.out
    assert list(scratch.iterdir()) == []
    assert processes_in(tmp_path) == []


def test_demo_does_not_touch_a_folder_with_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine\n")

    ended = crewyard("demo", "--dir", str(tmp_path), "--json", cwd=tmp_path)

    assert ended.code == 2
    assert "not empty" in ended.document["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
