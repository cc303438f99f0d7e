"""Work that needs a review is queued only once exactly that commit was approved."""

import subprocess
from pathlib import Path

import pytest

from modules.app.run import Run
from modules.records.events import AnyEvent, QuestionAsked
from tests.app.runs import until_quiet, with_run
from tests.scenarios.programs import (
    bash,
    calls,
    command,
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

    waiting = crewyard("queue", cwd=repository)
    commit_id = git(repository, "rev-parse", next(iter(salvaged(repository))) + "^1")
    assert f"task 2 migrate waits for your review: wt/t2-1-migrate {commit_id[:12]}" in waiting.out
    moved = crewyard("queue", "approve", "2", "--commit", "0123456", cwd=repository)
    assert moved.code == 2
    assert f"Task 2 waits with {commit_id[:12]}, not with 0123456" in moved.err
    approved = crewyard("queue", "approve", "2", "--json", cwd=repository)
    assert approved.document == {
        "task": 2,
        "branch": "wt/t2-1-migrate",
        "commit": commit_id,
        "approved": True,
        "queued": True,
    }
    assert crewyard("queue", "approve", "2", cwd=repository).code == 2
    again = crewyard("work", "--model", spec, "--check", "true", "--json", cwd=repository)
    assert again.code == 0, again
    assert git(repository, "show", "main:migrations/1.sql") == "x"
    assert "is approved" in crewyard("why", "2", cwd=repository).out


def test_person_approves_from_another_shell_while_the_worker_waits(
    tmp_path: Path, own_environment: Path
) -> None:
    write_settings(own_environment, 'review = "person"\n')
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    crewyard("task", "add", "one", cwd=repository)
    shells: list[subprocess.Popen[bytes]] = []

    async def story(run: Run) -> None:
        def answer(event: AnyEvent) -> None:
            if isinstance(event, QuestionAsked):
                argv = command("queue", "approve", "1")
                shells.append(subprocess.Popen(argv, cwd=repository, stdin=subprocess.DEVNULL))

        run.house.events.listen(answer)
        async with run.at_work():
            await until_quiet(run)
        assert run.house.questions.pending() == []

    with_run(repository, story, script=[writing("one", "one.txt", "1\n")], has_person=True)

    assert [shell.wait(60) for shell in shells] == [0]
    assert git(repository, "show", "main:one.txt") == "1"


def test_parked_work_that_was_approved_and_fails_its_check_goes_to_a_worker_again(
    tmp_path: Path, own_environment: Path
) -> None:
    write_settings(own_environment, 'review = "person"\n')
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    crewyard("task", "add", "break it", cwd=repository)
    spec = make_script(tmp_path, [writing("break it", "broken", "1\n")])
    run = ("work", "--model", spec, "--check", "test ! -e broken", "--json")
    crewyard(*run, cwd=repository)
    crewyard("queue", "approve", "1", cwd=repository)

    ended = crewyard(*run, cwd=repository)

    assert ended.code == 3, ended
    (task,) = ended.document["tasks"]
    assert task["attempt"] >= 2
    assert not task["verified"]


def test_parked_work_that_was_sent_back_stays_parked(tmp_path: Path, own_environment: Path) -> None:
    write_settings(own_environment, 'review = "person"\n')
    repository = make_repository(tmp_path / "sample", {"base.txt": "base\n"})
    crewyard("task", "add", "one", cwd=repository)
    spec = make_script(tmp_path, [writing("one", "one.txt", "1\n")])
    crewyard("work", "--model", spec, "--check", "true", "--json", cwd=repository)

    sent_back = crewyard("queue", "reject", "1", "--reason", "smaller", "--json", cwd=repository)

    assert sent_back.document["approved"] is False
    assert crewyard("queue", "approve", "1", cwd=repository).code == 2
    assert "smaller" in crewyard("why", "1", cwd=repository).out
    listed = crewyard("task", "list", "--json", cwd=repository).document
    assert [task["status"] for task in listed] == ["parked"]
