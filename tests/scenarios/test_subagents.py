"""Sub-agents in the whole program: what they may, what comes back, and how they end."""

import json
import os
import signal
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from modules.records.tasks import TaskDraft
from modules.store.paths import Paths
from tests.scenarios.programs import (
    PASSING,
    Ended,
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    eventually,
    git,
    heard,
    journal,
    make_repository,
    make_script,
    post,
    processes_in,
    skip_without,
    started,
    submit,
    worker,
    write,
)
from tests.tools.lanes import processes_named

pytestmark = pytest.mark.slow

GONE_SECONDS = 30.0
READ = {"read_file": {"path": "b.txt"}}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n", "b.txt": "bee\n"})


def ask(prompt: str, kind: str = "explore") -> dict[str, Any]:
    return {"subagent": {"prompt": prompt, "kind": kind}}


def helper(name: str, *turns: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the script of the sub-agents whose names match."""
    return {"agent": name, "turns": list(turns)}


def goal(repository: Path, spec: str, *options: str) -> Ended:
    arguments = ("-p", "try", "--json", "--check", PASSING, "--model", spec, *options)
    return crewyard(*arguments, cwd=repository)


def test_helpers_of_a_worker_share_its_lane_and_give_back_last_words_alone(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(
        tmp_path,
        [
            helper(
                "w1/explore-*", calls({"read_file": {"path": "b.txt"}}), {"say": "It says bee."}
            ),
            helper(
                "w1/general-2",
                calls(write("new.txt", "new\n"), ask("look", "explore"), say="I write."),
                {"expect": "I have seen it", "say": "Written."},
            ),
            helper("w1/general-2/explore-1", {"say": "I have seen it."}),
            worker(
                "delegate",
                calls(ask("What does b.txt say?"), ask("Write new.txt.", "general")),
                calls(commit("add new.txt"), expect="(?s)It says bee.*Written"),
                calls(submit()),
            ),
        ],
    )
    post(repository, TaskDraft(subject="delegate"))
    arguments = ("work", "--json", "--check", PASSING, "--model", spec)

    ended = crewyard(*arguments, cwd=repository)

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)
    assert git(repository, "show", "main:new.txt") == "new"
    told = heard(repository, "t1-1-*")
    assert "It says bee." in told
    assert "I write." not in told
    assert "bee\n" not in told
    names = sorted(path.stem for path in Paths(repository).sessions.glob("sub-*.jsonl"))
    assert names == [
        "sub-t1-1-delegate-explore-1",
        "sub-t1-1-delegate-general-2",
        "sub-t1-1-delegate-general-2-explore-1",
    ]
    assert_nothing_left(repository)


def test_helpers_of_one_answer_work_at_once(repository: Path, tmp_path: Path) -> None:
    """Two wait for a file that the other makes; one after the other they would wait for ever.

    More than may be at work at once wait for their turn.
    """
    meets = "touch {0}; until [ -e {1} ]; do sleep 0.02; done"
    spec = make_script(
        tmp_path,
        [
            helper("w1/general-1", calls(bash(meets.format("a", "b"))), {"say": "Met b."}),
            helper("w1/general-2", calls(bash(meets.format("b", "a"))), {"say": "Met a."}),
            helper("w1/explore-*", {"say": "Seen."}),
            worker(
                "delegate",
                calls(ask("one", "general"), ask("two", "general"), *[ask("look")] * 6),
                calls(bash("rm a b"), expect="(?s)Met b.*Met a(.*Seen){6}"),
                calls(submit(no_changes_reason="Only met.")),
            ),
        ],
    )
    post(repository, TaskDraft(subject="delegate"))

    ended = crewyard("work", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert_nothing_left(repository)


def test_stop_hook_sends_a_helper_back_and_is_told_who_it_is(
    tmp_path: Path, own_environment: Path
) -> None:
    log = tmp_path / "log"
    once = (
        f"cat >> '{log}'; [ -e '{log}.2' ] || {{ touch '{log}.2'; echo Look again. >&2; exit 2; }}"
    )
    hooks = own_environment / "crewyard" / "hooks.json"
    hooks.parent.mkdir(exist_ok=True)
    hooks.write_text(json.dumps({"hooks": {"SubagentStop": [{"matcher": "", "command": once}]}}))
    repository = make_repository(tmp_path / "sample", {"README.md": "a sample\n"})
    spec = make_script(
        tmp_path,
        [
            helper("lead/explore-1", {"say": "Nothing."}, {"expect": "again", "say": "Found."}),
            {
                "agent": "lead",
                "turns": [calls(ask("look")), {"expect": "Found", "say": "Done."}],
            },
        ],
    )

    ended = goal(repository, spec)

    assert ended.code == 0, ended
    first, second = log.read_text().replace("}{", "}\n{").splitlines()
    assert [json.loads(line)["stop_hook_active"] for line in (first, second)] == [False, True]
    told = json.loads(second)
    assert (told["agent_id"], told["agent_type"]) == ("lead/explore-1", "explore")
    assert told["last_assistant_message"] == "Found."


def test_what_helpers_spend_is_counted_and_what_they_did_is_in_their_own_journal(
    repository: Path, tmp_path: Path
) -> None:
    used = {"input_tokens": 100, "output_tokens": 10}
    spec = make_script(
        tmp_path,
        [
            helper(
                "w1/explore-1",
                calls(READ, bash("touch x"), usage=used),
                {"say": "Bee.", "usage": used},
            ),
            worker(
                "delegate",
                calls(ask("look"), usage=used),
                calls(submit(no_changes_reason="Only looked."), usage=used),
            ),
        ],
    )
    post(repository, TaskDraft(subject="delegate"))

    ended = crewyard("work", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert ended.document["usage"]["in"] == 400
    (path,) = Paths(repository).sessions.glob("sub-*.jsonl")
    records = journal(path)
    assert (records[0]["agent"], records[0]["task"]) == ("w1/explore-1", 1)
    decided = [record for record in records if record["kind"] == "decided"]
    assert [(one["tool"], one["decision"]["behavior"]) for one in decided] == [
        ("read_file", "allow"),
        ("bash", "deny"),
    ]
    assert "bash of w1/explore-1 denied" in crewyard("why", "1", cwd=repository).out


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_lead_that_ends_takes_helpers_along_and_their_calls_count_as_interrupted(
    number: signal.Signals, repository: Path, tmp_path: Path
) -> None:
    mark = f"9{uuid.uuid4().int % 10**12:012d}"
    held = [
        calls({"background_run": {"command": f"sleep {mark}"}}, bash(f"sleep {mark}")),
        {"say": "Late."},
    ]
    spec = make_script(
        tmp_path,
        [
            helper("lead/general-1", *held),
            helper("w1/general-1", *held),
            {
                "agent": "lead",
                "turns": [calls(ask("hold", "general")), {"say": "So be it."}],
            },
            worker(
                "delegate",
                calls(ask("hold", "general")),
                calls(submit(no_changes_reason="It was ended."), expect="interrupted"),
            ),
        ],
    )
    post(repository, TaskDraft(subject="delegate"))
    arguments = ("-p", "try", "--mode", "yolo", "--check", PASSING, "--model", spec)

    with started(*arguments, cwd=repository) as program:
        eventually(lambda: len(processes_named(f"sleep\0{mark}")) == 4)
        os.kill(program.process.pid, number)
        program.end()
        eventually(lambda: not processes_named(mark), within_seconds=GONE_SECONDS)
        eventually(lambda: not processes_in(repository), within_seconds=GONE_SECONDS)

    if number == signal.SIGINT:
        assert_nothing_left(repository)
        return
    ended = crewyard(*arguments, "--json", "--resume", "last", cwd=repository)

    assert ended.code == 0, ended
    assert "The call was interrupted" in heard(repository, "lead-*")
    assert processes_named(mark) == []
    assert_nothing_left(repository)


@pytest.mark.parametrize("sandbox", ["bwrap", "off"])
def test_killed_worker_takes_its_helpers_along(
    sandbox: str, repository: Path, tmp_path: Path
) -> None:
    skip_without(sandbox)
    mark = f"9{uuid.uuid4().int % 10**12:012d}"
    sleeps = f"sleep {mark} & sleep {mark}"
    spec = make_script(
        tmp_path,
        [
            helper("w1/general-1", calls({"background_run": {"command": sleeps}}, bash(sleeps))),
            worker("delegate", calls(ask("hold", "general")), calls(submit())),
        ],
    )
    post(repository, TaskDraft(subject="delegate", attempts_allowed=1))
    arguments = ("work", "--mode", "yolo", "--check", PASSING, "--model", spec)

    with started(*arguments, cwd=repository, environment={"CREWYARD_SANDBOX": sandbox}) as program:
        eventually(lambda: len(processes_named(f"sleep\0{mark}")) == 4)
        (view,) = crewyard("team", "--json", cwd=repository).document["workers"]
        os.kill(view["pid"], signal.SIGKILL)
        eventually(lambda: not processes_named(mark), within_seconds=GONE_SECONDS)
        assert program.end() == 3, program.said

    assert_nothing_left(repository)


def test_task_whose_helper_has_spent_its_budget_is_parked(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("[budget.task]\ntokens = 1_000\n")
    spent = {"input_tokens": 900, "output_tokens": 100}
    spec = make_script(
        tmp_path,
        [
            helper("w1/explore-1", calls(READ, usage=spent), {"say": "Too late."}),
            worker("delegate", calls(ask("look")), calls(submit())),
        ],
    )
    post(repository, TaskDraft(subject="delegate"))

    ended = crewyard("work", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 3, ended
    (task,) = ended.document["tasks"]
    assert task["status"] == "parked"
    assert "The budget of task 1 is spent" in task["reason"]
    assert "Too late." not in heard(repository, "*")
