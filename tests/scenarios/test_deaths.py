"""Whoever dies, and however: no work is lost, nothing is left running, the next run goes on."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from modules.records.tasks import TaskDraft
from tests.scenarios.programs import (
    PASSING,
    Program,
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    eventually,
    git,
    heard,
    lanes_in,
    make_repository,
    make_script,
    post,
    processes_in,
    salvaged,
    skip_without,
    started,
    submit,
    tasks,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow

GONE_SECONDS, STOPPED_SECONDS = 10.0, 10.0
GO_ON = "refs/tags/go-on"
"""Lets a held worker go on; a jailed worker sees no file beside its lane, but git's refs."""
LANDED = "until git log --format=%s refs/crewyard/landed/main | grep -q '{}'; do sleep 0.05; done"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def holding(folder: Path) -> str:
    """Returns the SPEC of a worker that is held in mid-task with work it has not committed."""
    until = f"until git show-ref -q {GO_ON}; do sleep 0.05; done"
    return make_script(
        folder,
        [
            worker(
                "long work",
                calls(write("work.py", "first = 1\n"), bash(until)),
                calls(commit("work")),
                calls(submit("work is there")),
            )
        ],
    )


def in_mid_task(program: Program, repository: Path) -> list[int]:
    """Waits until a worker is held and returns the processes that are at work in its lane."""
    program.wait_for("bash until")
    return eventually(lambda: held_processes(repository))


def held_processes(repository: Path) -> list[int]:
    found = [pid for lane in lanes_in(repository) for pid in processes_in(lane)]
    return found if any("sleep" in command_of(pid) for pid in found) else []


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""  # it has ended


def let_go_on(repository: Path) -> None:
    git(repository, "update-ref", GO_ON, "HEAD")


def assert_work_landed_once(repository: Path) -> None:
    assert git(repository, "log", "--format=%s").split("\n") == ["long work", "first"]
    assert (repository / "work.py").read_text() == "first = 1\n"


def test_killed_workers_task_is_taken_up_again_and_its_edits_are_kept(
    repository: Path, tmp_path: Path
) -> None:
    spec = holding(tmp_path)
    post(repository, TaskDraft(subject="long work"))

    with started("work", "--check", PASSING, "--model", spec, cwd=repository) as program:
        assert len(in_mid_task(program, repository)) > 1
        (shown,) = crewyard("team", "--json", cwd=repository).document["workers"]
        assert (shown["state"], shown["task"]) == ("working", 1)
        os.kill(shown["pid"], signal.SIGKILL)
        eventually(lambda: salvaged(repository))
        let_go_on(repository)
        code = program.end()

    assert code == 0, program.said
    (task,) = tasks(repository)
    assert (task["attempt"], task["verified"]) == (2, True)
    assert_work_landed_once(repository)
    ((ref, names),) = salvaged(repository).items()
    assert ref.startswith("refs/crewyard/salvage/t1-1-")
    assert "work.py" in names.split()
    assert git(repository, "show", f"{ref}:work.py") == "first = 1"
    opening = heard(repository, "t1-2-*")
    assert re.search(r"attempt 2\. The worker died \((SIGKILL|exit code 137)\)", opening)
    assert ref in opening
    assert_nothing_left(repository)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
    ids=["sigint", "sigterm", "sighup"],
)
def test_lead_that_is_told_to_end_gives_tasks_back_and_the_next_run_ends_them(
    number: signal.Signals, code: int, repository: Path, tmp_path: Path
) -> None:
    spec = holding(tmp_path)
    post(repository, TaskDraft(subject="long work", attempts_allowed=1))

    with started("work", "--json", "--check", PASSING, "--model", spec, cwd=repository) as program:
        in_mid_task(program, repository)
        began = time.monotonic()
        os.kill(program.process.pid, number)
        assert program.end() == code, program.said

    assert time.monotonic() - began < STOPPED_SECONDS
    report = json.loads(program.said.splitlines()[-1])
    assert (report["exit_code"], report["landed"]) == (code, [])
    (task,) = tasks(repository)
    assert report["tasks"] == [task]
    assert (task["status"], task["attempt"]) == ("pending", 1)
    ((ref, _),) = salvaged(repository).items()
    assert git(repository, "show", f"{ref}:work.py") == "first = 1"
    assert_nothing_left(repository)
    assert crewyard("team", "--json", cwd=repository).document["lead"] is None

    let_go_on(repository)
    ended = crewyard("work", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)
    assert_work_landed_once(repository)
    assert_nothing_left(repository)


@pytest.mark.parametrize("sandbox", ["bwrap", "landlock", "off"])
def test_killed_lead_leaves_no_process_and_the_next_run_takes_over(
    sandbox: str, repository: Path, tmp_path: Path
) -> None:
    skip_without(sandbox)
    environment = {"CREWYARD_SANDBOX": sandbox}
    spec = holding(tmp_path)
    post(repository, TaskDraft(subject="long work", attempts_allowed=1))
    arguments = ("work", "--mode", "yolo", "--check", PASSING, "--model", spec)

    with started(*arguments, cwd=repository, environment=environment) as program:
        in_mid_task(program, repository)
        os.kill(program.process.pid, signal.SIGKILL)
        program.process.wait()

        eventually(lambda: not processes_in(repository), within_seconds=GONE_SECONDS)

    (task,) = tasks(repository)
    assert task["status"] == "in_progress"
    assert task["reason"].startswith("Nobody is at it: the lead that ran it has ended.")
    assert crewyard("team", "--json", cwd=repository).document["lead"] is None

    let_go_on(repository)
    ended = crewyard(*arguments, "--json", cwd=repository, environment=environment)

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)
    assert_work_landed_once(repository)
    assert_nothing_left(repository)


def test_lead_killed_between_check_and_landing_lands_once(repository: Path, tmp_path: Path) -> None:
    """The check is at work when the lead dies; the next run finds the entry and checks it anew."""
    spec = make_script(tmp_path, [writing("long work", "work.py", "first = 1\n")])
    post(repository, TaskDraft(subject="long work"))

    with started("work", "--check", "sleep 60", "--model", spec, cwd=repository) as program:
        place = repository / ".worktrees" / "check-1"
        eventually(lambda: place.is_dir() and processes_in(place))
        os.kill(program.process.pid, signal.SIGKILL)
        program.process.wait()
        eventually(lambda: not processes_in(repository), within_seconds=GONE_SECONDS)

    (entry,) = crewyard("queue", "--json", cwd=repository).document
    assert (entry["status"], entry["landed_as"]) == ("checking", "")

    ended = crewyard("work", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)
    assert_work_landed_once(repository)
    assert_nothing_left(repository)


def test_second_lead_is_refused_and_the_first_goes_on(repository: Path, tmp_path: Path) -> None:
    spec = holding(tmp_path)
    post(repository, TaskDraft(subject="long work"))

    with started("work", "--check", PASSING, "--model", spec, cwd=repository) as program:
        in_mid_task(program, repository)
        second = crewyard("work", "--check", PASSING, "--model", spec, cwd=repository)
        assert second.code == 2
        assert f"pid {program.process.pid}" in second.err
        assert held_processes(repository)
        let_go_on(repository)
        assert program.end() == 0, program.said

    assert tasks(repository)[0]["attempt"] == 1
    assert_work_landed_once(repository)
    assert_nothing_left(repository)


def test_lock_of_a_dead_lead_stops_nobody(repository: Path, tmp_path: Path) -> None:
    """The file names a pid that lives and is no lead's: this test's own."""
    spec = make_script(tmp_path, [writing("long work", "work.py", "first = 1\n")])
    post(repository, TaskDraft(subject="long work"))
    (repository / ".team" / "lead.lock").write_text(f"pid {os.getpid()}\n")

    assert crewyard("team", "--json", cwd=repository).document["lead"] is None
    ended = crewyard("work", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    assert_work_landed_once(repository)
    assert_nothing_left(repository)


def test_lead_in_a_copy_of_the_folder_does_the_work_there_and_touches_nothing_here(
    repository: Path, tmp_path: Path
) -> None:
    """The copy holds the lock's file, the board, and lanes that git's own files place elsewhere."""
    spec = holding(tmp_path)
    quick = make_script(tmp_path / "quick", [writing("long work", "copied.py", "copied = 1\n")])
    copy = tmp_path / "copy"
    post(repository, TaskDraft(subject="long work"))

    with started("work", "--check", PASSING, "--model", spec, cwd=repository) as program:
        held = in_mid_task(program, repository)
        subprocess.run(["cp", "-a", repository, copy], timeout=60, check=True)
        refs = git(repository, "for-each-ref")
        ended = crewyard("work", "--json", "--check", PASSING, "--model", quick, cwd=copy)

        assert ended.code == 0, ended
        assert git(copy, "log", "--format=%s").split("\n") == ["long work", "first"]
        assert [task["status"] for task in tasks(copy)] == ["completed"]
        assert git(repository, "for-each-ref") == refs
        # Each round's sleep is another process; which has the lowest id is chance.
        assert set(held) & set(held_processes(repository))
        let_go_on(repository)
        assert program.end() == 0, program.said

    assert tasks(repository)[0]["attempt"] == 1
    assert_work_landed_once(repository)
    assert_nothing_left(repository)
    # What was under way when the copy was made is no lane of the copy's; it lies where it lay.
    (half_done,) = (copy / ".worktrees").glob("t1-1-*/work.py")
    assert half_done.read_text() == "first = 1\n"
    assert (git(copy, "status", "--porcelain"), processes_in(copy)) == ("", [])


def test_task_of_another_shell_is_taken_at_once(repository: Path, tmp_path: Path) -> None:
    """The first worker ends only once the task that was added meanwhile has landed."""
    spec = make_script(
        tmp_path,
        [
            worker(
                "long work",
                calls(bash(LANDED.format("short work"))),
                calls(write("work.py", "first = 1\n"), commit("work")),
                calls(submit("work is there")),
            ),
            writing("short work", "short.py", "short = 1\n"),
        ],
    )
    post(repository, TaskDraft(subject="long work"))

    with started(
        *("work", "--workers", "2", "--check", PASSING, "--model", spec), cwd=repository
    ) as program:
        program.wait_for("bash until")
        added = crewyard("task", "add", "short work", cwd=repository)
        assert added.code == 0
        assert program.end() == 0, program.said

    assert git(repository, "log", "--format=%s").split("\n") == ["long work", "short work", "first"]
    assert_nothing_left(repository)


def test_cancelled_task_is_stopped_in_mid_work_and_its_edits_are_kept(
    repository: Path, tmp_path: Path
) -> None:
    spec = holding(tmp_path)
    post(repository, TaskDraft(subject="long work"))

    with started("work", "--check", PASSING, "--model", spec, cwd=repository) as program:
        in_mid_task(program, repository)
        assert crewyard("task", "cancel", "1", cwd=repository).code == 0
        let_go_on(repository)
        assert program.end() == 0, program.said

    (task,) = tasks(repository)
    assert (task["status"], task["landed_as"]) == ("cancelled", "")
    assert git(repository, "log", "--format=%s") == "first"
    assert any("work.py" in names.split() for names in salvaged(repository).values())
    assert_nothing_left(repository)
