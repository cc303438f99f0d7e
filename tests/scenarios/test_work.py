"""`work`: a board is drained by workers, and what they bring lands with its proof, or is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from modules.records.tasks import TaskDraft
from tests.scenarios.programs import (
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    git,
    make_repository,
    make_script,
    post,
    submit,
    tasks,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow

FILES = {"base.py": "one = 1\n", "check.py": "import base\nassert base.one == 1\n"}
CHECK = "python3 check.py"
REPORT = {"result", "tasks", "landed", "workers", "usage", "seconds", "exit_code"}
TASK = {
    *("id", "subject", "description", "status", "role", "priority", "after", "check", "writes"),
    *("attempt", "worker", "lane", "branch", "reason", "verified"),
}
ENTRY = {
    *("task", "branch", "commit", "base", "status", "files", "receipt", "landed_as"),
    *("proven_as", "flaky"),
}
RECEIPT = {"tree", "command", "outcome", "exit_code", "seconds"}
LANDED = "until git log --format=%s refs/crewyard/landed/main | grep -q '{}'; do sleep 0.05; done"
"""Waits until a task has landed."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", FILES)


def test_board_is_drained_and_every_landing_is_proven(repository: Path, tmp_path: Path) -> None:
    names = ("add mean", "add mode", "add both")
    spec = make_script(
        tmp_path,
        [
            writing("add mean", "mean.py", "def mean(v): return sum(v) / len(v)\n"),
            writing("add mode", "mode.py", "def mode(v): return max(v, key=v.count)\n"),
            writing("add both", "both.py", "from mean import mean\nfrom mode import mode\n"),
        ],
    )
    for name, after in zip(names, ((), (), ("--after", "1", "--after", "2")), strict=True):
        added = crewyard("task", "add", name, *after, "--json", cwd=repository)
        assert added.document["subject"] == name

    ended = crewyard(
        *("work", "--workers", "2", "--json", "--check", CHECK, "--model", spec), cwd=repository
    )

    assert ended.code == 0
    report = ended.document
    assert set(report) == REPORT
    assert set(report["usage"]) >= {"in", "out", "cached", "cost_usd"}
    assert report["usage"]["in"] > 0
    assert report["exit_code"] == 0
    assert [task["subject"] for task in report["tasks"]] == list(names)
    assert all(set(task) >= TASK for task in report["tasks"])
    assert {task["status"] for task in report["tasks"]} == {"completed"}
    assert sorted(id_ for one in report["workers"] for id_ in one["tasks"]) == [1, 2, 3]
    assert_proven(repository, report)
    assert git(repository, "log", "-1", "--format=%s") == "add both"
    assert (repository / "both.py").is_file()
    assert_two_at_once(repository)
    assert_results(repository, "1-1", "2-1", "3-1")
    assert_views_agree(repository, report)
    assert_nothing_left(repository)


def assert_two_at_once(repository: Path) -> None:
    lines = (repository / ".team" / "board.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    moves = [kind for kind in kinds if kind in ("claimed", "submitted")]
    assert moves[:2] == ["claimed", "claimed"]


def assert_results(repository: Path, *names: str) -> None:
    found = sorted(path.stem for path in (repository / ".team" / "results").glob("*.md"))
    assert found == sorted(names)


def assert_views_agree(repository: Path, report: dict[str, Any]) -> None:
    """The board, the queue and the crew, as another shell is shown them after the run."""
    assert tasks(repository) == report["tasks"]
    entries = crewyard("queue", "--json", cwd=repository).document
    assert all(set(entry) == ENTRY for entry in entries)
    assert all(set(entry["receipt"]) == RECEIPT for entry in entries)
    assert [entry["landed_as"] for entry in entries] == report["landed"]
    team = crewyard("team", "--json", cwd=repository).document
    assert set(team) == {"lead", "workers", "board", "queue", "spend"}
    assert (team["lead"], team["workers"]) == (None, [])
    assert (team["board"], team["queue"]) == ({"completed": 3}, {"merged": 3})


def test_red_checks_and_a_conflict_are_reworked_until_they_land(
    repository: Path, tmp_path: Path
) -> None:
    """The repository's own check, a task's own, and a merge: each refuses once."""
    spec = make_script(
        tmp_path,
        [
            writing("two is there", "base.py", "one = 1\ntwo = 2\n"),
            worker(
                "three is there",
                calls(write("base.py", "one = 1\nthree = 3\n"), commit("three")),
                calls(bash(LANDED.format("two is there"))),
                calls(submit()),
                calls(
                    bash("git merge refs/crewyard/landed/main || true"),
                    {"read_file": {"path": "base.py"}},
                    write("base.py", "one = 1\ntwo = 2\nthree = 3\n"),
                    commit("two and three"),
                    expect="(?s)Conflict with what has landed.*base.py",
                ),
                calls(submit()),
            ),
            worker(
                "own check",
                calls(write("half.py", "def half(n): return n // 2\n"), commit("half")),
                calls(submit()),
                calls(
                    write("half.py", "def half(n): return n / 2\n"),
                    commit("half of odd numbers"),
                    expect="(?s)check failed.*import half.*AssertionError",
                ),
                calls(submit()),
            ),
            worker(
                "whole check",
                calls(write("check.py", "import base\nassert base.one == 2\n"), commit("wrong")),
                calls(submit()),
                calls(
                    write("check.py", "import base\nassert base.one == 1, 'one'\n"),
                    commit("right"),
                    expect="check failed.*python3 check.py",
                ),
                calls(submit()),
            ),
        ],
    )
    own = 'python3 -c "import half; assert half.half(3) == 1.5"'
    post(
        repository,
        TaskDraft(subject="two is there"),
        TaskDraft(subject="three is there"),
        TaskDraft(subject="own check", check=own),
        TaskDraft(subject="whole check"),
    )

    ended = crewyard(
        *("work", "--workers", "4", "--json", "--check", CHECK, "--model", spec), cwd=repository
    )

    assert ended.code == 0, ended
    report = ended.document
    assert_proven(repository, report)
    assert {task["attempt"] for task in report["tasks"]} == {1}
    entries = crewyard("queue", "--json", cwd=repository).document
    outcomes = [[e["status"] for e in entries if e["task"] == number] for number in (1, 2, 3, 4)]
    assert outcomes == [
        ["merged"],
        ["conflicted", "merged"],
        ["failed", "merged"],
        ["failed", "merged"],
    ]
    assert report["tasks"][2]["receipt"]["command"] == f"{CHECK} && {own}"
    # On top of the one before it, it is proven by the check of that one as well.
    assert report["tasks"][3]["receipt"]["command"] in (CHECK, f"{CHECK} && {own}")
    assert (repository / "base.py").read_text() == "one = 1\ntwo = 2\nthree = 3\n"
    assert "/ 2" in (repository / "half.py").read_text()
    assert_nothing_left(repository)


def test_without_a_check_work_waits_and_a_run_with_one_lands_it(
    repository: Path, tmp_path: Path
) -> None:
    before = git(repository, "rev-parse", "main")
    spec = make_script(tmp_path, [writing("add mean", "mean.py", "mean = sum\n")])
    post(repository, TaskDraft(subject="add mean"))

    first = crewyard("work", "--json", "--model", spec, cwd=repository)

    assert first.code == 3
    (parked,) = first.document["tasks"]
    assert (parked["status"], parked["verified"]) == ("parked", False)
    assert "--check" in parked["reason"]
    assert git(repository, "rev-parse", "main") == before
    (entry,) = crewyard("queue", "--json", cwd=repository).document
    assert (entry["status"], entry["receipt"]) == ("queued", None)
    assert_nothing_left(repository)

    second = crewyard("work", "--json", "--check", CHECK, "--model", spec, cwd=repository)

    assert second.code == 0, second
    assert second.document["tasks"][0]["attempt"] == 1
    assert_proven(repository, second.document)
    assert_nothing_left(repository)


def test_role_has_its_prompt_and_only_its_tools(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir()
    settings.write_text(
        '[roles.writer]\nprompt = "You write prose."\ntools = ["write_file", "read_file"]\n'
        '[roles.backend]\nprompt = "You know the service."\n'
    )
    spec = make_script(
        tmp_path,
        [
            worker(
                "a text",
                calls(bash("touch sneaked.txt")),
                calls(
                    submit(no_changes_reason="Nothing to write."),
                    expect="There is no tool 'bash'.*write_file",
                ),
            ),
            writing("a service", "service.py", "service = 1\n"),
        ],
    )
    post(
        repository,
        TaskDraft(subject="a text", role="writer"),
        TaskDraft(subject="a service", role="backend"),
    )

    ended = crewyard("work", "--json", "--check", CHECK, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert [task["role"] for task in ended.document["tasks"]] == ["writer", "backend"]
    prompt = prompt_of(repository, "t1-1-*")
    assert "You write prose." in prompt["system"]
    assert {tool["name"] for tool in prompt["tools"]} >= {"write_file", "read_file", "submit_work"}
    assert "You know the service." in prompt_of(repository, "t2-1-*")["system"]
    assert_proven(repository, ended.document)
    assert_nothing_left(repository)


def prompt_of(repository: Path, session: str) -> dict[str, Any]:
    (path,) = (repository / ".team" / "sessions").glob(f"{session}.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return next(record for record in records if record["kind"] == "prompt")


def test_budget_that_is_spent_ends_the_run_with_4(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, [writing("add mean", "mean.py", "mean = sum\n")])
    post(repository, TaskDraft(subject="add mean"))

    ended = crewyard(
        *("work", "--json", "--check", CHECK, "--model", spec, "--budget-tokens", "1"),
        cwd=repository,
    )

    assert ended.code == 4
    assert ended.document["exit_code"] == 4
    assert "budget" in ended.document["error"]
    (task,) = tasks(repository)
    assert (task["status"], task["attempt"]) == ("pending", 1)
    assert_nothing_left(repository)


def test_board_without_tasks_ends_at_once(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, [writing("x", "x.py", "")])

    ended = crewyard("work", "--json", "--check", CHECK, "--model", spec, cwd=repository)

    assert ended.code == 0
    assert (ended.document["tasks"], ended.document["landed"]) == ([], [])
    assert_nothing_left(repository)
