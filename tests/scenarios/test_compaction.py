"""A worker whose model has a small window works on past compactions, and so does the next lead."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from modules.records.session_records import AnySessionRecord, Compacted, RequestPaid
from modules.records.tasks import TaskDraft
from modules.store.journal import Journal
from modules.store.paths import Paths
from tests.scenarios.programs import (
    PASSING,
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    eventually,
    journal,
    make_repository,
    make_script,
    post,
    started,
    submit,
    tasks,
    worker,
    write,
)

pytestmark = pytest.mark.slow

MARKER = "Accepted when UNIQUE-MARKER is in notes.txt."
PLAN = [
    {"content": "read it all", "status": "completed"},
    {"content": "write notes.txt", "status": "in_progress"},
]
ROUNDS = 24


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    user_folder = tmp_path / "user"
    user_folder.mkdir()
    (user_folder / "settings.toml").write_text("[models.scripted]\ncontext_tokens = 14_000\n")
    monkeypatch.setenv("CREWYARD_HOME", str(user_folder))
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n", "big.txt": "x" * 9_000})


def reader(command: str = "cat big.txt", **summary: Any) -> dict[str, Any]:
    """Returns the script of a worker that reads a lot before it writes."""
    reads = [
        calls(bash(f"echo part {number}; {command}"), say="w" * 1_200) for number in range(ROUNDS)
    ]
    return {
        **worker(
            "notes",
            calls({"todo": {"items": PLAN}}),
            *reads,
            calls(write("notes.txt", "UNIQUE-MARKER\n"), commit("notes")),
            calls(submit("notes are there")),
        ),
        "summary": {"say": "ok", **summary},
    }


def records(repository: Path) -> list[AnySessionRecord]:
    found: list[AnySessionRecord] = []
    (session,) = Paths(repository).sessions.glob("t1-*.jsonl")
    Journal(session, AnySessionRecord, apply=found.append).catch_up()
    return found


def test_worker_with_a_small_window_lands_its_task_past_several_compactions(
    repository: Path,
) -> None:
    """SES-05: it goes on by itself, nothing is done twice, and what must stay has stayed."""
    post(repository, TaskDraft(subject="notes", description=MARKER))

    done = crewyard(
        "work",
        "--check",
        PASSING,
        "--model",
        make_script(repository.parent, [reader()]),
        "--json",
        cwd=repository,
    )

    assert done.code == 0, done.err
    assert_proven(repository, done.document)
    assert_nothing_left(repository)
    kept = records(repository)
    compactions = [record for record in kept if isinstance(record, Compacted)]
    assert len(compactions) >= 3
    last = [record.memory for record in compactions if record.step == "summary"][-1]
    assert last is not None
    assert MARKER in last.opening[0].text
    assert "[>] write notes.txt" in last.results["todo"]
    answers = [record for record in kept if isinstance(record, RequestPaid)]
    assert sum(not record.is_summary for record in answers) == ROUNDS + 3
    assert all(record.usage.input_tokens < 14_000 for record in answers)
    assert "the conversation is compacted from about" in done.err
    read = [record for record in journal(_session(repository)) if "part 3" in str(record)]
    assert read, "the whole conversation is in the journal still"


def test_lead_killed_in_mid_compaction_is_followed_by_one_that_goes_on(
    repository: Path, tmp_path: Path
) -> None:
    post(repository, TaskDraft(subject="notes", description=MARKER))
    asked = tmp_path / "asked"
    hook = {"matcher": "auto", "command": f"cat > {asked}"}
    (tmp_path / "user" / "hooks.json").write_text(json.dumps({"hooks": {"PreCompact": [hook]}}))
    slow = make_script(repository.parent, [reader("true", delay_seconds=60.0)])
    with started("work", "--check", PASSING, "--model", slow, cwd=repository) as program:
        told = json.loads(eventually(lambda: asked.read_text() if asked.is_file() else ""))
        program.process.send_signal(signal.SIGKILL)
        program.process.wait()
    before = records(repository)

    quick = make_script(repository.parent, [reader("true")])
    done = crewyard("work", "--check", PASSING, "--model", quick, "--json", cwd=repository)

    assert done.code == 0, done.err
    assert (told["hook_event_name"], told["trigger"]) == ("PreCompact", "auto")
    assert not any(isinstance(record, Compacted) for record in before)
    assert any(isinstance(record, Compacted) for record in records(repository))
    (task,) = tasks(repository)
    assert (task["status"], task["attempt"]) == ("completed", 1)
    assert_nothing_left(repository)


def _session(repository: Path) -> Path:
    (session,) = Paths(repository).sessions.glob("t1-*.jsonl")
    return session
