"""Commands of another shell: they post, look, decide and undo beside a crew, by files alone."""

import json
import shutil
from pathlib import Path

import pytest

from modules.records.tasks import TaskDraft
from tests.scenarios.programs import (
    PASSING,
    assert_nothing_left,
    calls,
    commit,
    crewyard,
    git,
    heard,
    lanes_in,
    make_repository,
    make_script,
    post,
    salvaged,
    submit,
    tasks,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow

JUDGED = {"id", "risk", "categories", "decision", "rule", "why"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def work(repository: Path, spec: str, check: str = PASSING) -> tuple[int, list[str]]:
    """Returns the exit code and what landed."""
    ended = crewyard("work", "--json", "--check", check, "--model", spec, cwd=repository)
    return ended.code, ended.document["landed"]


def test_task_is_posted_whole_cancelled_and_put_back(repository: Path) -> None:
    first = crewyard(
        *("task", "add", "first", "--description", "all of it", "--role", "backend"),
        *("--priority", "1", "--check", "make it", "--writes", "src/**", "--writes", "a.txt"),
        "--json",
        cwd=repository,
    ).document
    crewyard("task", "add", "second", "--after", "1", cwd=repository)

    assert {name: first[name] for name in ("id", "subject", "description", "status", "role")} == {
        "id": 1,
        "subject": "first",
        "description": "all of it",
        "status": "pending",
        "role": "backend",
    }
    assert (first["priority"], first["check"]) == (1, "make it")
    assert (first["writes"], first["after"], first["verified"]) == (["src/**", "a.txt"], [], False)
    assert crewyard("task", "show", "1", "--json", cwd=repository).document == first
    crewyard("task", "cancel", "1", cwd=repository)
    assert [task["status"] for task in tasks(repository)] == ["cancelled", "blocked"]
    assert "task 1, which is cancelled" in tasks(repository)[1]["reason"]
    crewyard("task", "retry", "1", cwd=repository)
    assert [task["status"] for task in tasks(repository)] == ["pending", "pending"]
    assert tasks(repository)[1]["after"] == [1]
    assert git(repository, "status", "--porcelain") == ""


def test_what_a_pending_task_waits_for_is_told_by_every_command_that_shows_it(
    repository: Path,
) -> None:
    post(repository, TaskDraft(subject="hers", assignee="ann"), TaskDraft(subject="next"))
    crewyard("task", "edit", "2", "--after", "1", cwd=repository)

    alone = "It waits for the worker ann, who is not there."
    behind = "It waits for task 1, which waits for the worker ann, who is not there."
    assert [task["reason"].startswith(alone) for task in tasks(repository)] == [True, False]
    assert tasks(repository)[1]["reason"] == behind
    assert behind in crewyard("task", "show", "2", cwd=repository).out
    assert crewyard("why", "2", cwd=repository).out.splitlines()[-1].endswith(behind)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("task", "add", "late", "--after", "9"), "task 9"),
        (("task", "show", "9"), "task 9"),
        (("task", "retry", "1"), "pending"),
        (("queue", "revert", "1"), "1"),
        (("why", "9"), "task 9"),
        (("worktree", "info", "nowhere"), "'nowhere'"),
        (("gate",), "0 things"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], words: str, repository: Path
) -> None:
    post(repository, TaskDraft(subject="first"))

    ended = crewyard(*arguments, cwd=repository)

    assert ended.code == 2
    assert words in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert ended.out == ""


def test_landing_is_explained_and_can_be_undone(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, [writing("add mean", "mean.py", "mean = sum\n")])
    post(repository, TaskDraft(subject="add mean"))
    code, (landed,) = work(repository, spec)
    assert code == 0

    why = crewyard("why", "1", cwd=repository).out
    assert "w1" in why
    assert landed[:8] in why
    assert crewyard("why", "1", "--json", cwd=repository).code == 0

    assert crewyard("queue", "revert", "1", cwd=repository).code == 0
    code, (reverted,) = work(repository, spec)

    assert code == 0
    assert git(repository, "rev-parse", "main") == reverted != landed
    assert not (repository / "mean.py").exists()
    assert git(repository, "diff", f"{landed}~", reverted) == ""
    assert_nothing_left(repository)


def test_refused_work_is_put_back_in_the_queue_or_taken_out(
    repository: Path, tmp_path: Path
) -> None:
    """Both tasks wait for want of a check; one is taken out, then the other lands."""
    spec = make_script(
        tmp_path, [writing("keep", "keep.py", "keep = 1\n"), writing("drop", "drop.py", "drop = 1")]
    )
    post(repository, TaskDraft(subject="keep"), TaskDraft(subject="drop"))
    code, _ = work(repository, spec, check="")
    assert code == 3

    assert crewyard("queue", "reject", "2", "--reason", "not now", cwd=repository).code == 0
    shown = crewyard("queue", "--json", cwd=repository).document
    assert {entry["task"]: entry["status"] for entry in shown} == {1: "queued", 2: "rejected"}
    _, landed = work(repository, spec)
    assert len(landed) == 1
    assert (repository / "keep.py").exists()
    assert not (repository / "drop.py").exists()

    assert crewyard("queue", "retry", "2", cwd=repository).code == 0
    code, landed = work(repository, spec)
    assert len(landed) == 1
    assert (repository / "drop.py").exists()
    assert code == 0
    assert_nothing_left(repository)


def test_worktree_made_by_hand_outlives_runs_and_its_work_its_removal(
    repository: Path, tmp_path: Path
) -> None:
    made = crewyard("worktree", "create", "mine", "--json", cwd=repository)
    assert made.code == 0
    place = repository / ".worktrees" / "mine"
    (place / "draft.txt").write_text("a draft\n")
    spec = make_script(tmp_path, [writing("add mean", "mean.py", "mean = sum\n")])
    post(repository, TaskDraft(subject="add mean"))

    assert work(repository, spec)[0] == 0

    assert (place / "draft.txt").read_text() == "a draft\n"
    assert lanes_in(repository) == [place]
    info = crewyard("worktree", "info", "mine", "--json", cwd=repository).document
    assert info["dirty"] == ["draft.txt"]
    listed = crewyard("worktree", "list", "--json", cwd=repository).document
    assert [(lane["name"], lane["branch"]) for lane in listed] == [("mine", "wt/mine")]

    assert crewyard("worktree", "remove", "mine", cwd=repository).code == 0

    ((ref, names),) = salvaged(repository).items()
    assert "draft.txt" in names.split()
    assert git(repository, "show", f"{ref}:draft.txt") == "a draft"
    assert_nothing_left(repository)


def test_gate_judges_and_runs_nothing(repository: Path, tmp_path: Path) -> None:
    batch = tmp_path / "batch.jsonl"
    items = [
        {"id": "list", "kind": "bash", "input": "ls -l"},
        {"id": 7, "kind": "bash", "input": "touch made && rm -rf /"},
        {"id": "up", "kind": "path", "input": "../x", "op": "write"},
        {"id": "metadata", "kind": "url", "input": "http://169.254.169.254/"},
    ]
    batch.write_text("".join(json.dumps(item) + "\n" for item in items))

    ended = crewyard("gate", "--batch", str(batch), "--json", cwd=repository)

    assert ended.code == 0, ended
    answers = [json.loads(line) for line in ended.out.splitlines()]
    assert all(set(answer) == JUDGED for answer in answers)
    assert [answer["id"] for answer in answers] == ["list", 7, "up", "metadata"]
    assert [answer["decision"] for answer in answers] == ["allow", "ask", "deny", "deny"]
    assert answers[1]["risk"] == "critical"
    assert not (repository / "made").exists()
    single = crewyard("gate", "--bash", "ls -l", "--json", cwd=repository).document
    assert {"id": "list", **single} == answers[0]


def test_board_comes_back_after_its_folder_was_deleted(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, [writing("add mean", "mean.py", "mean = sum\n")])
    post(repository, TaskDraft(subject="add mean"))
    assert work(repository, spec)[0] == 0
    before = tasks(repository)
    assert before[0]["verified"]

    git(repository, "clean", "-qffdx")
    shutil.rmtree(repository / ".team", ignore_errors=True)

    assert tasks(repository) == before


def test_conversation_of_the_lead_goes_on(repository: Path, tmp_path: Path) -> None:
    spec = make_script(
        tmp_path,
        [
            {
                "agent": "lead",
                "turns": [
                    {"say": "It is a sample."},
                    {"expect": "what else", "say": "Nothing else."},
                ],
            }
        ],
    )

    first = crewyard("-p", "what is it?", "--json", "--model", spec, cwd=repository)
    again = crewyard("-p", "what else?", "--resume", "--json", "--model", spec, cwd=repository)

    assert first.document["result"] == "It is a sample."
    assert again.code == 0, again
    assert again.document["result"] == "Nothing else."
    (conversation,) = (repository / ".team" / "sessions").glob("lead-*.jsonl")
    said = heard(repository, conversation.stem).split("\n")
    assert [line for line in said if line.startswith("what")] == ["what is it?", "what else?"]


def test_named_worker_and_lead_write_to_each_other(repository: Path, tmp_path: Path) -> None:
    spec = make_script(
        tmp_path,
        [
            {
                "agent": "lead",
                "turns": [
                    calls(
                        {"spawn_teammate": {"name": "ann", "role": "backend"}},
                        {"send_message": {"to": "ann", "content": "Use sum, please."}},
                        {"board_post_task": {"subject": "add mean", "claim_role": "backend"}},
                    ),
                    {"expect": "(?s)ann.*I use sum", "say": "Ann is at it."},
                    {"expect": "landed as .* by ann", "say": "Ann did it."},
                ],
            },
            worker(
                "add mean",
                calls({"send_message": {"to": "lead", "content": "I use sum."}}, expect="Use sum,"),
                calls(write("mean.py", "mean = sum\n"), commit("mean")),
                calls(submit()),
            ),
        ],
    )

    ended = crewyard(
        *("-p", "add mean", "--json", "--check", PASSING, "--model", spec), cwd=repository
    )

    assert ended.code == 0, ended
    assert ended.document["result"] == "Ann did it."
    assert [shown["name"] for shown in ended.document["workers"]] == ["ann"]
    assert_nothing_left(repository)
