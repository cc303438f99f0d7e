"""A plan comes first where one is asked for; a budget ends a run in order."""

from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.programs import (
    assert_nothing_left,
    crewyard,
    git,
    make_repository,
    make_script,
)

pytestmark = pytest.mark.slow

WRITE = {"write_file": {"path": "one.txt", "content": "one\n"}}
COMMIT = {"bash": {"command": "git add -A && git commit -qm one"}}


def worker(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"agent": "*", "task": "write one", "turns": list(turns)}


def test_worker_only_reads_until_the_lead_accepts_its_plan(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    lead = {
        "agent": "lead",
        "turns": [
            {"call": {"board_post_task": {"subject": "write one", "plan": True}}},
            {
                "expect": "My plan",
                "call": {"answer_plan": {"name": "w1", "accepts": False, "feedback": "smaller"}},
            },
            {
                "expect": "second plan",
                "call": {"answer_plan": {"name": "w1", "accepts": True}},
            },
            {"expect": "landed", "say": "Done."},
        ],
    }
    spec = make_script(
        tmp_path,
        [
            lead,
            worker(
                {"call": [WRITE]},
                {"expect": "plan mode", "call": [{"submit_plan": {"plan": "first plan"}}]},
                {"expect": "smaller", "call": [{"submit_plan": {"plan": "second plan"}}]},
                {"expect": "accepted", "call": [WRITE, COMMIT]},
                {"call": [{"submit_work": {"summary": "one is there"}}]},
            ),
        ],
    )

    ended = crewyard(
        *("-p", "one", "--model", spec, "--check", "test -f base.txt", "--json"), cwd=repository
    )

    assert ended.code == 0, ended.err
    assert ended.document["result"] == "Done."
    assert git(repository, "show", "main:one.txt") == "one"
    assert_nothing_left(repository)


def test_run_that_spent_its_budget_ends_with_4_and_gives_its_task_back(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    spec = make_script(
        tmp_path,
        [
            worker(
                {"call": [WRITE], "usage": {"input_tokens": 900, "output_tokens": 100}},
                {"call": [COMMIT]},
                {"call": [{"submit_work": {"summary": "one is there"}}]},
            )
        ],
    )
    crewyard("task", "add", "write one", cwd=repository)
    run = ("work", "--model", spec, "--check", "test -f base.txt")

    stopped = crewyard(*run, "--budget-tokens", "1000", cwd=repository)
    standing = crewyard("task", "list", "--json", cwd=repository).document
    done = crewyard(*run, cwd=repository)

    assert stopped.code == 4
    assert "1000 of 1000 tokens" in stopped.err
    assert [task["status"] for task in standing] == ["pending"]
    assert done.code == 0, done.err
    assert git(repository, "show", "main:one.txt") == "one"
    assert_nothing_left(repository)
