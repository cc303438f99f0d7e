"""Hooks of a run's own moments, in the whole program; what they heard is read from their log."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.programs import (
    PASSING,
    Ended,
    bash,
    calls,
    commit,
    crewyard,
    git,
    heard,
    make_repository,
    make_script,
    submit,
    tasks,
    worker,
    write,
)

pytestmark = pytest.mark.slow

ALL_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "TaskCreated", "WorktreeCreate", "TaskCompleted"),
    *("PostLanding", "SubagentStop", "WorktreeRemove", "Stop", "SessionEnd"),
)


class Hooks:
    """The person's hooks, each of which writes what it heard to one log first."""

    def __init__(self, own_environment: Path) -> None:
        self._file = own_environment / "crewyard" / "hooks.json"
        self._log = own_environment / "heard.jsonl"
        self._file.parent.mkdir()

    def write(self, answers: Mapping[str, str], **options: str) -> None:
        """Writes a hook for each event; its answer is a shell command."""
        # One write for a line: several hooks write at once.
        log = f"told=$(cat); printf '%s\\n' \"$told\" >> '{self._log}'"
        hooks = {
            event: [{"hooks": [{"type": "command", "command": f"{log}; {answer}", **options}]}]
            for event, answer in answers.items()
        }
        self._file.write_text(json.dumps({"hooks": hooks}))

    def heard(self, event: str = "") -> list[dict[str, Any]]:
        """Returns what the hooks were told, in order."""
        if not self._log.exists():
            return []
        lines = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [line for line in lines if event in ("", line["hook_event_name"])]


@pytest.fixture
def hooks(own_environment: Path) -> Hooks:
    return Hooks(own_environment)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def run(repository: Path, lead: Sequence[Mapping[str, Any]], *workers: Mapping[str, Any]) -> Ended:
    script = [{"agent": "lead", "turns": list(lead)}, *workers]
    spec = make_script(repository.parent, script)
    return crewyard(*("-p", "do it", "--json", "--check", PASSING, "--model", spec), cwd=repository)


def posting(subject: str) -> dict[str, Any]:
    return calls({"board_post_task": {"subject": subject, "description": "as told"}})


def adding(task: str, *more: Mapping[str, Any]) -> dict[str, Any]:
    return worker(task, calls(write("new.py", "new = 1\n"), commit("add")), calls(submit()), *more)


def test_every_moment_of_a_run_is_told_once_and_in_order(repository: Path, hooks: Hooks) -> None:
    hooks.write(dict.fromkeys(ALL_EVENTS, "true"))

    ended = run(
        repository,
        [posting("add new"), {"say": "Posted."}, {"expect": "landed", "say": "It landed."}],
        adding("add new"),
    )

    assert ended.code == 0, ended
    told = [line["hook_event_name"] for line in hooks.heard()]
    assert sorted(set(told)) == sorted(ALL_EVENTS)
    assert [told.count(event) for event in ALL_EVENTS] == [1] * 8 + [2, 1]
    assert told[:3] == ["SessionStart", "UserPromptSubmit", "TaskCreated"]
    assert told[-1] == "SessionEnd"
    assert told.index("WorktreeCreate") < told.index("TaskCompleted") < told.index("PostLanding")
    assert hooks.heard("UserPromptSubmit")[0]["prompt"] == "do it"
    created, completed = hooks.heard("TaskCreated")[0], hooks.heard("TaskCompleted")[0]
    assert (created["task_subject"], created["task_description"]) == ("add new", "as told")
    assert created["teammate_name"] == "lead"
    assert (completed["task_id"], completed["agent_id"]) == (1, completed["teammate_name"])
    assert completed["cwd"].startswith(str(repository / ".worktrees"))
    landing = hooks.heard("PostLanding")[0]
    assert (landing["commit"], landing["task_id"]) == (git(repository, "rev-parse", "main"), 1)
    lane = hooks.heard("WorktreeRemove")[0]["worktree_path"]
    assert lane == hooks.heard("WorktreeCreate")[0]["worktree_path"]
    assert not Path(lane).exists()
    assert [stop["last_assistant_message"] for stop in hooks.heard("Stop")] == [
        "Posted.",
        "It landed.",
    ]


def test_prompt_a_hook_refuses_reaches_no_model(repository: Path, hooks: Hooks) -> None:
    turns = [{"say": "I heard it."}]
    assert run(repository, turns).document["result"] == "I heard it."

    hooks.write({"UserPromptSubmit": "echo not this >&2; exit 2"})
    ended = run(repository, turns)

    assert ended.code == 1
    assert "refuses it: not this" in ended.err


def test_words_of_a_prompt_hook_reach_the_model(repository: Path, hooks: Hooks) -> None:
    hooks.write({"UserPromptSubmit": "echo the door is blue"})

    ended = run(repository, [{"expect": "do it\n\nthe door is blue", "say": "Blue."}])

    assert ended.document["result"] == "Blue."


def test_stop_hook_sends_the_lead_back_at_most_three_times(repository: Path, hooks: Hooks) -> None:
    hooks.write({"Stop": "echo look again >&2; exit 2"})
    again = {"expect": "Stop hook sends you back to work: look again"}

    ended = run(repository, [{"say": "0"}, *({**again, "say": str(n)} for n in range(1, 5))])

    assert ended.document["result"] == "3"
    assert [stop["stop_hook_active"] for stop in hooks.heard("Stop")] == [False, True, True]


def test_worker_is_sent_back_to_work(repository: Path, hooks: Hooks, tmp_path: Path) -> None:
    once = tmp_path / "once"
    hooks.write({"SubagentStop": f"[ -e {once} ] || {{ touch {once}; echo more >&2; exit 2; }}"})

    ended = run(
        repository,
        [posting("add new"), {"say": "Posted."}, {"expect": "landed", "say": "Done."}],
        worker(
            "add new",
            {"say": "I think that is it."},
            {"expect": "SubagentStop hook sends you back to work: more", **calls(write("n", "1"))},
            calls(commit("add"), submit()),
        ),
    )

    assert ended.code == 0, ended
    assert hooks.heard("SubagentStop")[0]["last_assistant_message"] == "I think that is it."


def test_task_a_hook_refuses_is_not_posted(repository: Path, hooks: Hooks) -> None:
    hooks.write({"TaskCreated": "echo too vague >&2; exit 2"})

    ended = run(repository, [posting("do things"), {"expect": "too vague", "say": "Refused."}])

    assert ended.document["result"] == "Refused."
    assert tasks(repository) == []


def test_work_a_hook_objects_to_is_not_queued_until_it_does_not(
    repository: Path, hooks: Hooks
) -> None:
    looks = f"test -e '{repository}'/.worktrees/*/notes.md || {{ echo no notes >&2; exit 2; }}"
    hooks.write({"TaskCompleted": looks})

    ended = run(
        repository,
        [posting("add new"), {"say": "Posted."}, {"expect": "landed", "say": "Done."}],
        worker(
            "add new",
            calls(write("new.py", "new = 1\n"), commit("add")),
            calls(submit()),
            {"expect": "objects: no notes", **calls(write("notes.md", "n\n"), commit("notes"))},
            calls(submit()),
        ),
    )

    assert ended.code == 0, ended
    assert len(hooks.heard("TaskCompleted")) == 2
    assert git(repository, "ls-tree", "--name-only", "main").split() == [
        *("README.md", "new.py", "notes.md"),
    ]
    assert len(json.loads(crewyard("queue", "--json", cwd=repository).out)) == 1


def test_lane_a_hook_objects_to_is_not_worked_in(repository: Path, hooks: Hooks) -> None:
    hooks.write({"WorktreeCreate": "echo no room >&2; exit 2"})

    ended = run(repository, [posting("add new"), {"say": "Posted."}], adding("add new"))

    assert ended.code == 3
    assert tasks(repository)[0]["status"] == "failed"
    assert "no room" in tasks(repository)[0]["reason"]
    assert git(repository, "log", "--format=%s", "main") == "first"


PERMIT = (
    """echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": """
    """{"behavior": "%s", "message": "as agreed"}}}'"""
)


@pytest.mark.parametrize(("answer", "is_run"), [("allow", True), ("deny", False)])
def test_hook_answers_in_the_persons_place(
    repository: Path, hooks: Hooks, answer: str, *, is_run: bool
) -> None:
    turns = [calls(bash('touch "$TMPDIR/made" && echo made it')), {"say": "Tried."}]
    assert run(repository, turns).code == 0
    assert "made it" not in heard(repository, "lead-*").split("\n")

    hooks.write({"PermissionRequest": PERMIT % answer})
    ended = run(repository, turns)

    assert ended.code == 0, ended
    assert ("made it" in heard(repository, "lead-*").split("\n")) is is_run
    request = hooks.heard("PermissionRequest")[0]
    assert (request["tool_name"], request["tool_input"]["command"][:5]) == ("bash", "touch")


def test_hook_can_not_answer_what_a_person_must_see(repository: Path, hooks: Hooks) -> None:
    hooks.write({"PermissionRequest": PERMIT % "allow"})

    run(repository, [calls(bash("sudo id")), {"say": "Tried."}])

    assert "Permission denied" in heard(repository, "lead-*")
    assert len(hooks.heard("PermissionRequest")) == 1


def test_condition_of_a_hook_is_a_permission_rule(repository: Path, hooks: Hooks) -> None:
    hooks.write({"PreToolUse": "exit 2"}, **{"if": "Bash(git log *)"})

    run(
        repository,
        [calls(bash("git status"), bash("true && git log --oneline")), {"say": "Looked."}],
    )

    commands = [line["tool_input"]["command"] for line in hooks.heard("PreToolUse")]
    assert commands == ["true && git log --oneline"]
