"""Prompts are filled to the last blank, and what is filled in is never a blank itself."""

import re
from datetime import date
from typing import Any

from modules.context.prompts import NO_CHECK, lead_opening, lead_prompt, task_opening, worker_prompt
from modules.records.tasks import Task, TaskDraft
from tests.fakes.clock import START

COMMIT = "0123456789abcdef"
WORKER: dict[str, Any] = {
    "name": "w1",
    "role": "",
    "role_prompt": "",
    "lane": "/repo/.worktrees/t1",
    "branch": "wt/t1",
    "base": COMMIT,
    "check": "make test",
    "landed_ref": "refs/landed",
    "needs_plan": False,
}


def task(**draft: Any) -> Task:
    return Task(
        task_id=3,
        draft=TaskDraft(**{"subject": "add mean", **draft}),
        attempt=2,
        added_at=START,
        changed_at=START,
        added_by="p",
    )


def test_lead_is_told_where_it_is_and_what_decides() -> None:
    prompt = lead_prompt(root="/repo", check="make test", target="main")

    assert "one git repository, /repo.\n" in prompt
    assert "the check (`make test`)" in prompt
    assert "only a pass moves main." in prompt
    assert "$" not in prompt


def test_opening_of_the_lead_tells_the_day_the_target_and_what_hooks_add() -> None:
    day = date(2026, 3, 4)

    bare = lead_opening(target="main", commit=COMMIT, today=day, hook_context="")
    full = lead_opening(target="main", commit=COMMIT, today=day, hook_context="Use tabs.")

    facts = "<context>\nToday is 2026-03-04. main is at 0123456789ab.\n"
    assert bare == facts + "</context>"
    assert full == facts + "Use tabs.\n</context>"


def test_worker_is_told_its_lane_and_what_decides() -> None:
    prompt = worker_prompt(**WORKER)

    assert prompt.startswith("You are w1, a worker of a crew of coding agents.\n")
    assert "/repo/.worktrees/t1 (branch wt/t1, made from 0123456789ab)" in prompt
    assert "The check that decides is: make test\n" in prompt
    assert "(refs/landed)" in prompt
    assert "$" not in prompt
    assert not re.search(r"\n\n\n|\n\n$", prompt)


def test_worker_of_a_role_is_told_the_role_and_its_words_last() -> None:
    prompt = worker_prompt(**{**WORKER, "role": "docs", "role_prompt": "Write plainly."})

    assert prompt.startswith("You are w1, a worker of a crew of coding agents. Your role: docs.\n")
    assert prompt.endswith("\n\nWrite plainly.\n")


def test_missing_check_is_said_in_words() -> None:
    assert f"(`{NO_CHECK}`)" in lead_prompt(root="/repo", check="", target="main")
    assert f"The check that decides is: {NO_CHECK}\n" in worker_prompt(**{**WORKER, "check": ""})


def test_what_is_filled_in_is_taken_as_it_is() -> None:
    prompt = worker_prompt(**{**WORKER, "check": "echo $HOME $lane ${x} $$ {name} %s"})

    assert "The check that decides is: echo $HOME $lane ${x} $$ {name} %s\n" in prompt


def test_opening_of_a_bare_task_is_its_subject() -> None:
    assert task_opening(task(), previous="") == "Task 3: add mean"


def test_opening_tells_all_that_is_known() -> None:
    opening = task_opening(
        task(description="In stats.py.", check="make mean", writes=("stats.py", "docs/**")),
        previous="The last one died.",
    )

    assert opening == (
        "Task 3: add mean\n\n"
        "In stats.py.\n\n"
        "The task's own check: make mean\n\n"
        "Files it is expected to touch: stats.py, docs/**\n\n"
        "This is attempt 2. The last one died."
    )
