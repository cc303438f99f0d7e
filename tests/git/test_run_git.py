"""Tests of modules/git/run_git.py."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from modules.git.run_git import Git, GitFault, GitTimedOut
from modules.records.errors import PersonFault
from tests.repos import ends, make_repo


def test_run_when_location_variables_are_inherited_then_acts_on_its_own_folder(
    tmp_path: Path,
) -> None:
    """2389-research/tracker#399, j178/prek#2505."""
    mine, other = make_repo(tmp_path / "mine"), make_repo(tmp_path / "other")
    leaked = {
        **mine.variables,
        "GIT_DIR": str(other.root / ".git"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_INDEX_FILE": str(other.root / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other.root / ".git" / "objects"),
        "GIT_PREFIX": "sub/",
    }
    index_before = (other.root / ".git" / "index").read_bytes()
    (mine.root / "new.txt").write_text("new\n")
    unguarded = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"],
        cwd=mine.root,
        env=leaked,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    git = Git(mine.root, leaked)

    git.run("add", "-A")
    git.run("commit", "-q", "-m", "second")

    assert unguarded.stdout.strip() == str(other.root)
    assert mine.git("log", "-1", "--format=%s") == "second"
    assert other.git("log", "-1", "--format=%s") == "first commit"
    assert (other.root / ".git" / "index").read_bytes() == index_before


@pytest.mark.parametrize(
    ("key", "action"),
    [
        pytest.param("core.fsmonitor", ("status",), id="fsmonitor"),
        pytest.param("diff.external", ("diff",), id="external-diff"),
    ],
)
def test_run_when_the_configuration_plants_a_command_then_it_is_not_run(
    tmp_path: Path, key: str, action: tuple[str, ...]
) -> None:
    repo = make_repo(tmp_path)
    proof = tmp_path / "proof"
    repo.git("config", key, _script(tmp_path, f"touch {proof}"))
    (repo.root / "a.txt").write_text("changed\n")
    repo.git(*action)
    fired_unguarded = proof.exists()
    proof.unlink(missing_ok=True)

    repo.open().git.run(*action)

    assert fired_unguarded
    assert not proof.exists()


def test_run_then_signals_of_a_terminal_do_not_reach_it_and_ours_are_as_before(
    tmp_path: Path,
) -> None:
    stand_in = tmp_path / "git"
    stand_in.write_text("#!/bin/sh\nexec cat /proc/self/status\n")
    stand_in.chmod(0o755)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    status = Git(tmp_path, {"PATH": f"{tmp_path}:{os.environ['PATH']}"}).text("status")

    (blocked,) = (int(line[7:], 16) for line in status.splitlines() if line.startswith("SigBlk"))
    assert blocked & (1 << (signal.SIGINT - 1))
    assert blocked & (1 << (signal.SIGHUP - 1))
    assert not blocked & (1 << (signal.SIGTERM - 1))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_run_when_hooks_are_planted_then_they_are_not_run(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    proof = tmp_path / "proof"
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-checkout"):
        hook = repo.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {proof}\n")
        hook.chmod(0o755)
    repo.git("commit", "-q", "--allow-empty", "-m", "unguarded")
    fired_unguarded = proof.exists()
    proof.unlink()

    repo.open().git.run("commit", "-q", "--allow-empty", "-m", "guarded")

    assert fired_unguarded
    assert not proof.exists()


@pytest.mark.parametrize("option", ["clean", "process"])
def test_run_when_the_repository_configures_a_filter_then_it_is_not_run(
    tmp_path: Path, option: str
) -> None:
    repo = make_repo(tmp_path, files={".gitattributes": "*.txt filter=evil\n", "a.txt": "a\n"})
    proof = tmp_path / "proof"
    repo.git("config", f"filter.evil.{option}", _script(tmp_path, f"touch {proof}; cat"))
    repo.git("config", "filter.evil.required", "true")
    (repo.root / "a.txt").write_text("unguarded\n")
    repo.git("add", "a.txt", accept=(0, 128))
    fired_unguarded = proof.exists()
    proof.unlink(missing_ok=True)
    (repo.root / "a.txt").write_text("guarded\n")

    repository = repo.open()
    repository.git.run("add", "a.txt")

    assert fired_unguarded
    assert not proof.exists()
    assert repository.filters == ("evil",)


def test_run_when_git_refuses_then_the_fault_holds_its_words(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)

    with pytest.raises(GitFault, match="ambiguous argument") as caught:
        Git(repo.root, repo.variables).run("log", "nowhere")

    assert caught.value.argv == ("log", "nowhere")
    assert caught.value.code == 128


def test_run_when_the_time_is_over_then_the_whole_group_is_killed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    pids = tmp_path / "pids"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nsleep 60 &\necho $! $$ > {pids}\nwait\n")
    program.chmod(0o755)
    git = Git(repo.root, {"PATH": f"{program.parent}:{os.environ['PATH']}"})

    with pytest.raises(GitTimedOut):
        git.run("gc", timeout_seconds=1.0)

    assert all(ends(int(pid)) for pid in pids.read_text().split())


def test_run_when_it_closes_its_output_and_stays_then_the_limit_holds_once(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec >&- 2>&-\nexec sleep 60\n")
    program.chmod(0o755)
    git = Git(tmp_path, {"PATH": f"{program.parent}:{os.environ['PATH']}"})
    began = time.monotonic()

    with pytest.raises(GitTimedOut):
        git.run("gc", timeout_seconds=1.0)

    assert 1.0 <= time.monotonic() - began < 1.9


def test_run_when_git_is_missing_then_the_person_is_told(tmp_path: Path) -> None:
    with pytest.raises(PersonFault, match="not found"):
        Git(tmp_path, {"PATH": str(tmp_path)}).run("version")


def test_run_when_no_identity_is_configured_then_commits_have_the_stated_one(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    (repo.home / ".gitconfig").unlink()

    repo.open().git.run("commit", "-q", "--allow-empty", "-m", "second")

    assert repo.git("log", "-1", "--format=%an <%ae>") == "Crewyard <crewyard@localhost>"


def test_run_when_an_identity_is_configured_then_commits_have_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)

    repo.open().git.run("commit", "-q", "--allow-empty", "-m", "second")

    assert repo.git("log", "-1", "--format=%cn <%ce>") == "Ada <ada@example.org>"


def _script(folder: Path, text: str) -> str:
    path = folder / "evil.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)
