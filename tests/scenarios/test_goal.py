"""`-p GOAL`: a lead without a person plans, its crew works, the work lands, the report tells."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from modules.records.events import AnyEvent, EntryChanged, RunStarted, TaskChanged, TextDelta
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_server import Answer, Asked, Ending, FakeCall, ModelServer
from tests.fakes.openai_server import OpenAiServer
from tests.scenarios.programs import (
    PASSING,
    assert_nothing_left,
    assert_proven,
    calls,
    crewyard,
    git,
    make_repository,
    make_script,
    submit,
    worker,
    writing,
)

pytestmark = pytest.mark.slow

KEY = "dummy-key-4f1d7b2c9a"
SERVERS: dict[str, type[AnthropicServer] | type[OpenAiServer]] = {
    "openai": OpenAiServer,
    "anthropic": AnthropicServer,
}
SUBJECTS = ("add mean", "add mode")
SHOW_ENVIRONMENT = "python3 -c 'import os; print(sorted(os.environ.items()))'"
ONE_TASK = [
    {
        "agent": "lead",
        "turns": [
            {
                "say": "One task.",
                "call": {"board_post_task": {"subject": "add mean", "claim_role": "backend"}},
            },
            {"expect": "landed as [0-9a-f]{12}", "say": "The mean is there."},
        ],
    },
    writing("add mean", "mean.py", "mean = sum\n"),
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


class TwoTasks:
    """Answers as a lead that posts two tasks and as the two workers that do them.

    A worker's first answer waits for the other worker's first question.
    """

    def __init__(self) -> None:
        self._both_ask = threading.Barrier(2)

    def __call__(self, asked: Asked) -> Answer:
        if "You are the lead" in asked.system:
            return self._of_lead(asked)
        return self._of_worker(asked)

    def _of_lead(self, asked: Asked) -> Answer:
        if asked.turns == 0:
            posted = [FakeCall(name="board_post_task", input={"subject": s}) for s in SUBJECTS]
            return Answer(say="Two tasks.", calls=tuple(posted))
        landed = json.dumps(asked.body["messages"]).count("landed as")
        return Answer(say="Both have landed." if landed == len(SUBJECTS) else "They work.")

    def _of_worker(self, asked: Asked) -> Answer:
        (subject,) = (s for s in SUBJECTS if s in json.dumps(asked.body["messages"]))
        name = subject.removeprefix("add ")
        if asked.turns == 0:
            self._both_ask.wait(timeout=60)
            written = {"path": f"{name}.py", "content": f"{name} = None\n"}
            commands = (SHOW_ENVIRONMENT, f"git add -A && git commit -qm 'add {name}'")
            return Answer(
                calls=(
                    FakeCall(name="write_file", input=written),
                    *(FakeCall(name="bash", input={"command": line}) for line in commands),
                )
            )
        return Answer(calls=(FakeCall(name="submit_work", input={"summary": f"{name} is there"}),))


@pytest.fixture(params=sorted(SERVERS))
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def environment_for(provider: str, server: AnthropicServer | OpenAiServer) -> dict[str, str]:
    name = provider.upper()
    return {f"{name}_BASE_URL": server.base_url, f"{name}_API_KEY": KEY}


def test_goal_is_reached_by_two_workers_at_once_over_a_providers_wire(
    provider: str, repository: Path, own_environment: Path
) -> None:
    with SERVERS[provider](TwoTasks()) as server:
        ended = crewyard(
            *("-p", "add mean and mode", "--output-format", "json", "--workers", "2"),
            *("--check", PASSING, "--model", f"{provider}:fake-1"),
            cwd=repository,
            environment=environment_for(provider, server),
        )

    assert ended.code == 0, ended
    assert server.complaints == []
    assert server.most_open >= 2
    report = ended.document
    assert report["result"] == "Both have landed."
    assert [task["subject"] for task in report["tasks"]] == list(SUBJECTS)
    assert len(report["landed"]) == 2
    assert_proven(repository, report)
    asked = len(server.log)
    assert {name: report["usage"][name] for name in ("in", "out", "cached", "cost_usd")} == {
        "in": 100 * asked,
        "out": 7 * asked,
        "cached": 40 * asked,
        "cost_usd": None,
    }
    assert_nothing_left(repository)
    assert_key_was_used_and_is_nowhere(server, repository, own_environment, ended.out + ended.err)


def assert_key_was_used_and_is_nowhere(
    server: ModelServer, repository: Path, home: Path, said: str
) -> None:
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    shown = [asked.newest for asked in server.asked if "'PATH'" in asked.newest]
    assert len(shown) == 2
    assert not any("_API_KEY" in text or "[secret" in text for text in shown)
    bodies = json.dumps([asked.body for asked in server.asked])
    assert KEY not in bodies + said + git(repository, "log", "--all", "-p")
    files = [path for folder in (repository, home) for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".jsonl" for path in files)
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_goal_outlives_a_busy_server_and_broken_streams(provider: str, repository: Path) -> None:
    answers = [
        Answer(status=429, headers={"retry-after": "1"}, error_type="rate_limit_error"),
        Answer(say="Half of a sentence that", ending=Ending.TRUNCATED),
        Answer(say="Another half", ending=Ending.RESET),
        Answer(say="Nothing is to be done."),
    ]
    with SERVERS[provider](answers) as server:
        ended = crewyard(
            *("-p", "is anything to be done?", "--output-format", "json"),
            *("--model", f"{provider}:fake-1"),
            cwd=repository,
            environment=environment_for(provider, server),
        )

    assert ended.code == 0, ended
    assert ended.document["result"] == "Nothing is to be done."
    assert server.complaints == []
    first, second, *others = server.log
    assert len(others) == 2
    assert second.arrived_at - first.arrived_at >= 1.0
    assert "In 1." in ended.err
    assert_nothing_left(repository)


def test_scripted_lead_reports_what_landed_as_text(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, ONE_TASK)

    ended = crewyard("-p", "add mean", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    *_, words, last = ended.out.strip().splitlines()
    assert words == "The mean is there."
    assert last == "1 completed · 1 landed"
    assert git(repository, "log", "-1", "--format=%s") == "add mean"
    assert (repository / "mean.py").is_file()
    assert_nothing_left(repository)


def test_every_line_of_stream_json_is_an_event_and_the_last_the_report(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, ONE_TASK)

    ended = crewyard(
        *("-p", "add mean", "--output-format", "stream-json", "--check", PASSING, "--model", spec),
        cwd=repository,
    )

    assert ended.code == 0, ended
    *lines, last = ended.out.splitlines()
    report = json.loads(last)
    assert report.pop("event") == "report"
    assert_proven(repository, report)
    events = list(decoded(lines))
    assert isinstance(events[0], RunStarted)
    moves = [event.status for event in events if isinstance(event, TaskChanged)]
    assert [*dict.fromkeys(moves)] == ["pending", "in_progress", "in_review", "completed"]
    merged = [event.landed_as for event in events if isinstance(event, EntryChanged)][-1]
    assert [merged] == report["landed"]
    said = [e.text for e in events if isinstance(e, TextDelta) and e.agent == "lead"]
    assert "".join(said) == "One task.The mean is there."


def decoded(lines: list[str]) -> Iterator[AnyEvent]:
    decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
    return (decoder.decode(line) for line in lines)


def test_goal_that_needs_no_task_ends_with_the_leads_words(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, [{"agent": "lead", "turns": [{"say": "It is a sample."}]}])

    ended = crewyard("-p", "what is it?", "--json", "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    report: dict[str, Any] = ended.document
    assert (report["result"], report["tasks"], report["landed"]) == ("It is a sample.", [], [])
    assert_nothing_left(repository)


def test_lead_that_waits_for_what_never_comes_fails_and_says_so(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(
        tmp_path,
        [
            {
                "agent": "lead",
                "turns": [
                    {"call": {"board_post_task": {"subject": "look"}}},
                    {"expect": "landed as", "say": "Done."},
                ],
            },
            worker("look", calls(submit(no_changes_reason="All is well."))),
        ],
    )

    ended = crewyard("-p", "look", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 1, ended
    assert ended.document["exit_code"] == 1
    assert "expects 'landed as'" in ended.document["error"]
    assert "All is well." in ended.document["error"]
    assert_nothing_left(repository)


def test_goal_whose_task_fails_ends_with_3_after_the_lead_has_heard(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(
        tmp_path,
        [
            {
                "agent": "lead",
                "turns": [
                    {"call": {"board_post_task": {"subject": "dream"}}},
                    {"expect": "is failed: 3 attempts failed", "say": "It could not be done."},
                ],
            },
            worker("dream", {"say": "I can't."}),
        ],
    )

    ended = crewyard("-p", "dream", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 3, ended
    assert ended.document["result"] == "It could not be done."
    assert ended.document["tasks"][0]["status"] == "failed"
    assert_nothing_left(repository)
