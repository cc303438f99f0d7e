"""Work that is handed in wrongly, or never: told to the worker, tried again, kept, told to all."""

import re
from pathlib import Path

import pytest

from modules.records.tasks import TaskDraft
from tests.fakes.model_server import Answer
from tests.fakes.openai_server import OpenAiServer
from tests.scenarios.programs import (
    PASSING,
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    heard,
    make_repository,
    make_script,
    post,
    salvaged,
    submit,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow

FILES = {"base.py": "one = 1\n", "check.py": "import base\nassert base.one == 1\n"}
CHECK = "python3 check.py"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", FILES)


def assert_results(repository: Path, *names: str) -> None:
    found = sorted(path.stem for path in (repository / ".team" / "results").glob("*.md"))
    assert found == sorted(names)


def test_worker_that_never_hands_in_is_reminded_counted_and_given_up(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(
        tmp_path,
        [
            worker("only talk", {"say": "All is done, believe me."}),
            worker("only write", calls(write("draft.py", "draft = True\n"))),
        ],
    )
    post(repository, TaskDraft(subject="only talk"), TaskDraft(subject="only write"))

    ended = crewyard(
        *("work", "--workers", "2", "--json", "--check", PASSING, "--model", spec), cwd=repository
    )

    assert ended.code == 3
    talked, wrote = ended.document["tasks"]
    for task in (talked, wrote):
        assert (task["status"], task["attempt"], task["verified"]) == ("failed", 3, False)
        assert task["reason"].startswith("3 attempts failed")
    assert "believe me" in talked["reason"]
    assert ended.document["landed"] == []
    assert heard(repository, "t1-1-*").count("call submit_work") == 2
    assert "This is attempt 3" in heard(repository, "t1-3-*")
    assert "believe me" in heard(repository, "t1-3-*")
    assert_results(repository, *(f"{task}-{attempt}" for task in (1, 2) for attempt in (1, 2, 3)))
    kept = [ref for ref, names in salvaged(repository).items() if "draft.py" in names.split()]
    assert [re.search(r"t2-\d", ref)[0] for ref in kept] == ["t2-1", "t2-2", "t2-3"]  # type: ignore[index] # a missing one fails the test as well
    assert wrote["reason"].endswith(f"Its work is kept in {kept[-1]}.")
    assert_nothing_left(repository)


def test_next_attempt_goes_on_with_the_work_whose_check_failed(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(
        tmp_path,
        [
            worker(
                "add two",
                calls(
                    # The first attempt breaks the check; the next finds its work, and mends it.
                    bash(
                        "if test -e two.py; then echo 'one = 1' > base.py; else echo > two.py;"
                        " echo > base.py; fi"
                    ),
                    commit("a step"),
                ),
                calls(submit()),
                {"say": "I give up."},
            ),
        ],
    )
    post(repository, TaskDraft(subject="add two"))

    ended = crewyard("work", "--json", "--check", CHECK, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    (task,) = ended.document["tasks"]
    assert (task["status"], task["attempt"], task["verified"]) == ("completed", 2, True)
    assert (repository / "two.py").is_file()
    opening = heard(repository, "t1-2-*")
    assert "Attempt 1 (w1) handed in work for this task, entry 1" in opening
    assert "Your branch begins with that work" in opening
    assert "AttributeError" in opening
    assert_proven(repository, ended.document)
    assert_nothing_left(repository)


def test_worker_reads_what_a_hook_of_the_repository_says_against_its_commit(
    repository: Path, tmp_path: Path
) -> None:
    """gotgenes/pi-packages#704."""
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_text(
        "#!/bin/sh\nif grep -q a=1 a.py; then sed -i 's/a=1/a = 1/' a.py; "
        "echo 'formatter: a.py was rewritten'; exit 1; fi\n"
    )
    hook.chmod(0o755)
    spec = make_script(
        tmp_path,
        [
            worker(
                "add a",
                calls(write("a.py", "a=1\n"), commit("add a")),
                calls(submit(), expect="formatter: a.py was rewritten"),
                calls(commit("add a"), expect="uncommitted work \\(a.py\\)"),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="add a"))

    ended = crewyard("work", "--json", "--check", CHECK, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert (repository / "a.py").read_text() == "a = 1\n"
    assert_proven(repository, ended.document)
    assert_nothing_left(repository)


def test_worker_whose_answers_are_empty_fails_its_attempt(repository: Path) -> None:
    post(repository, TaskDraft(subject="say nothing", attempts_allowed=1))
    with OpenAiServer([Answer()]) as server:
        ended = crewyard(
            *("work", "--json", "--check", PASSING, "--model", "openai:fake"),
            cwd=repository,
            environment={"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k-1"},
        )

    assert ended.code == 3, ended
    (task,) = ended.document["tasks"]
    assert task["status"] == "failed"
    assert "empty" in task["reason"]
    assert server.complaints == []
    assert_nothing_left(repository)


def test_work_is_handed_in_whole_or_with_a_reason(repository: Path, tmp_path: Path) -> None:
    spec = make_script(
        tmp_path,
        [
            worker(
                "nothing to do",
                calls(submit()),
                calls(
                    submit(no_changes_reason="It is right as it is."),
                    expect="nothing to hand in.*no_changes_reason",
                ),
            ),
            worker(
                "leaves a mess",
                calls(write("a.py", "a = 1\n"), commit("a"), write("b.py", "b = 1\n")),
                calls(submit()),
                calls(commit("b as well"), expect="uncommitted work \\(b.py\\). Commit it"),
                calls(submit()),
            ),
        ],
    )
    post(repository, TaskDraft(subject="nothing to do"), TaskDraft(subject="leaves a mess"))

    ended = crewyard(
        *("work", "--workers", "2", "--json", "--check", CHECK, "--model", spec), cwd=repository
    )

    assert ended.code == 0, ended
    unchanged, tidied = ended.document["tasks"]
    assert (unchanged["status"], unchanged["verified"]) == ("completed", False)
    assert unchanged["reason"] == "It is right as it is."
    assert "It is right as it is." in (repository / ".team" / "results" / "1-1.md").read_text()
    assert tidied["verified"]
    assert_proven(repository, ended.document)
    assert (repository / "b.py").is_file()
    assert_nothing_left(repository)


def test_script_that_does_not_fit_is_told_and_the_rest_lands(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(
        tmp_path,
        [
            writing("fits", "fits.py", "fits = True\n"),
            worker("waits", calls(bash("echo hello"), expect="good bye")),
            worker("ends", calls(bash("echo hello"))),
        ],
    )
    post(
        repository,
        TaskDraft(subject="waits", attempts_allowed=1),
        TaskDraft(subject="ends", attempts_allowed=1),
        TaskDraft(subject="unknown", attempts_allowed=1),
        TaskDraft(subject="after unknown", after=(3,)),
        TaskDraft(subject="fits"),
    )

    ended = crewyard(
        *("work", "--workers", "2", "--json", "--check", CHECK, "--model", spec), cwd=repository
    )

    assert ended.code == 3, ended
    waits, ends, unknown, after, fits = ended.document["tasks"]
    assert [task["status"] for task in (waits, ends, unknown)] == ["failed"] * 3
    assert "The script expects 'good bye'" in waits["reason"]
    assert "without handing work in" in ends["reason"]
    assert "no entry for the agent" in unknown["reason"]
    assert (after["status"], after["attempt"]) == ("blocked", 0)
    assert "task 3, which is failed" in after["reason"]
    assert fits["verified"]
    assert_proven(repository, ended.document)
    assert_nothing_left(repository)
