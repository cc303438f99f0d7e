"""Work that needs a review is queued only once exactly that commit was approved."""

from pathlib import Path

import pytest

from tests.scenarios.programs import (
    bash,
    calls,
    commit,
    crewyard,
    git,
    make_repository,
    make_script,
    salvaged,
    submit,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow


def write_settings(home: Path, text: str) -> None:
    (home / "crewyard").mkdir(exist_ok=True)
    (home / "crewyard" / "settings.toml").write_text(text)


def integrate(strategy: str, reason: str = "") -> dict[str, object]:
    return {
        "merge_integrate": {"task_id": 1, "strategy": strategy, "reason": reason},
    }


def test_lead_sends_work_back_and_approves_only_what_it_was_shown(
    tmp_path: Path, own_environment: Path
) -> None:
    write_settings(own_environment, 'review = "lead"\n')
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    review = {"merge_review": {"task_id": 1}}
    lead = {
        "agent": "lead",
        "turns": [
            {"call": {"board_post_task": {"subject": "write one"}}, "say": "Posted."},
            {"expect": "I hand in task 1", "call": integrate("approve")},
            {"expect": "You have not seen", "call": review},
            {
                "expect": "(?s)waits for your review.*Report: one.*\\+first",
                "call": integrate("rework", "Say second."),
            },
            {"expect": "told", "say": "Sent back."},
            {"expect": "I hand in task 1", "call": review},
            {"expect": "\\+second", "call": integrate("approve")},
            {"expect": "told", "say": "Approved."},
            {"expect": "landed", "say": "Done."},
        ],
    }
    spec = make_script(
        tmp_path,
        [
            lead,
            worker(
                "write one",
                calls(write("one.txt", "first\n"), commit("one"), submit("one")),
                {
                    "expect": "The lead sends it back: Say second.",
                    **calls(bash("echo second > one.txt"), commit("two"), submit("two")),
                },
            ),
        ],
    )

    ended = crewyard("-p", "one", "--model", spec, "--check", "true", "--json", cwd=repository)

    assert ended.code == 0, (ended.err, ended.out)
    assert ended.document["result"] == "Done."
    assert git(repository, "show", "main:one.txt") == "second"
    assert git(repository, "log", "--format=%s", "main").count("write one") == 1


def test_work_that_needs_a_person_is_parked_without_one_and_kept(
    tmp_path: Path, own_environment: Path
) -> None:
    write_settings(own_environment, '[review_paths]\n"migrations/**" = "person"\n')
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    crewyard("task", "add", "plain", cwd=repository)
    crewyard("task", "add", "migrate", cwd=repository)
    spec = make_script(
        tmp_path,
        [writing("plain", "plain.txt", "1\n"), writing("migrate", "migrations/1.sql", "x\n")],
    )

    ended = crewyard("work", "--model", spec, "--check", "true", "--json", cwd=repository)

    tasks = {task["subject"]: task for task in ended.document["tasks"]}
    assert ended.code == 3
    assert tasks["plain"]["status"] == "completed"
    assert tasks["migrate"]["status"] == "parked"
    assert "needs a person's review" in tasks["migrate"]["reason"]
    assert git(repository, "ls-tree", "-r", "--name-only", "main") == "base.txt\nplain.txt"
    assert "migrations/1.sql" in "".join(salvaged(repository).values())
