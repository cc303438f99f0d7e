"""Worktrees are made ready to run code in, and nothing leads out of them meanwhile."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from modules.git.check_tree import check_tree_path, point_check_tree
from modules.records.merges import CheckOutcome
from modules.records.settings import LaneSettings
from modules.team.file_search import MOST_SEEN
from modules.team.preparation import PORT_VARIABLE, Preparation
from modules.team.proof import Job, Proof, TreeProver
from tests.repos import Repo, make_repo

pytestmark = pytest.mark.slow

IGNORED = ".env*\nlocal/\nnode_modules/\nmade/\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path, files={"a.txt": "a\n", ".gitignore": IGNORED, "x.lock": "1\n"})


class Checks:
    """Checks on commits, in one worktree that is used again and again."""

    def __init__(self, repo: Repo, settings: LaneSettings, *, protects: bool = True) -> None:
        self.repo = repo
        repository = repo.open()
        self.preparation = Preparation(repository, settings, has_read_only_places=protects)
        self.prover = TreeProver(
            repository,
            timeout_seconds=60,
            environment={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
            wrap=lambda argv, folder, scratch: argv,
            preparation=self.preparation,
            on_log=lambda log: None,
        )
        self.log = repository.paths.checks / "1.log"
        self.folder = check_tree_path(repository, 1)

    def prove(self, command: str, commit: str = "") -> Proof:
        commit = commit or self.repo.rev("main")
        tree = self.repo.rev(f"{commit}^{{tree}}")
        return asyncio.run(self.prover.prove(Job(commit, tree, (command,), 1, self.log)))

    def setups(self) -> int:
        """Returns how often the worktree was set up, by what the setup command counts."""
        count = self.repo.root.parent / "setups"
        return len(count.read_text()) if count.exists() else 0


def counting(repo: Repo, command: str) -> str:
    return f"printf x >> {repo.root.parent}/setups; {command}"


def test_copy_then_ignored_files_are_there_and_secrets_are_not(repo: Repo) -> None:
    for name in (".env", ".env.example", "local/a.ini", "local/sub/b.ini"):
        path = repo.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (repo.root / "local" / "run.sh").write_text("#!/bin/sh\n")
    (repo.root / "local" / "run.sh").chmod(0o755)
    checks = Checks(repo, LaneSettings(copy=(".env*", "local/**/*", "a.txt")))

    proof = checks.prove("cat .env.example local/a.ini local/sub/b.ini && ! test -e .env")

    assert proof.receipt.outcome is CheckOutcome.PASSED
    assert os.access(checks.folder / "local" / "run.sh", os.X_OK)
    assert checks.preparation.problems() == [
        "[lane] copy: not copied: '.env' is named like a secret; 'a.txt' is not ignored by git, "
        "so it would become part of the work: ignore it, or commit it."
    ]


@pytest.mark.parametrize("name", ["local", "local/a.ini"])
def test_copy_when_a_commit_has_a_link_in_the_way_then_nothing_is_written_through_it(
    repo: Repo, tmp_path: Path, name: str
) -> None:
    """The commit is a worker's, and files are copied with the person's rights."""
    (repo.root / "local").mkdir()
    (repo.root / "local" / "a.ini").write_text("ours")
    (tmp_path / "outside").mkdir()
    commit = linked(repo, name, tmp_path / "outside")
    checks = Checks(repo, LaneSettings(copy=("local/a.ini",)))

    checks.prove("true", commit)

    assert list((tmp_path / "outside").iterdir()) == []


def linked(repo: Repo, name: str, where: Path) -> str:
    """Returns a commit that has a link called `name`."""
    source = repo.root.parent / "target"
    source.write_text(str(where))
    blob = repo.git("hash-object", "-w", str(source))
    repo.git("checkout", "-q", "-b", "links")
    repo.git("update-index", "--add", "--cacheinfo", f"120000,{blob},{name}")
    repo.git("commit", "-q", "-m", "link")
    commit = repo.rev("HEAD")
    repo.git("reset", "-q", "--mixed", "HEAD^")
    repo.git("checkout", "-q", "main")
    return commit


def test_links_are_of_ignored_folders_alone_and_told_where_they_do_nothing(repo: Repo) -> None:
    for name in ("node_modules", "plain"):
        (repo.root / name).mkdir()
        (repo.root / name / "x").write_text("x")
    settings = LaneSettings(link=("node_modules", "plain", "missing"))
    repository = repo.open()
    point_check_tree(repository, 1, repo.rev("main"))
    folder = check_tree_path(repository, 1)
    preparation = Preparation(repository, settings, has_read_only_places=True)
    without = Preparation(repository, settings)

    without.furnish(folder)
    linked_without = without.links(folder)
    preparation.furnish(folder)

    assert linked_without == ()
    assert preparation.links(folder) == ((repo.root / "node_modules", folder / "node_modules"),)
    assert not (folder / "plain").exists()
    assert repo.git("status", "--porcelain", at=folder) == ""
    assert [problem.split(":")[0] for problem in preparation.problems()] == [
        "[lane] link",
        "[lane] link",
    ]
    assert "git does not ignore 'plain'" in preparation.problems()[0]
    assert "no folder 'missing'" in preparation.problems()[1]
    assert without.problems() == [
        "[lane] link needs bubblewrap: without it nothing is linked into worktrees."
    ]


def test_setup_when_the_worktree_is_used_again_then_it_runs_once_for_each_state_of_its_locks(
    repo: Repo,
) -> None:
    command = counting(repo, "mkdir -p made && cat x.lock > made/installed")
    checks = Checks(repo, LaneSettings(setup=command, setup_key=("x.lock",), setup_makes=("made",)))
    first = repo.rev("main")
    repo.git("checkout", "-q", "-b", "work")
    other_code = repo.commit({"a.txt": "b\n"}, "code")
    other_locks = repo.commit({"x.lock": "2\n"}, "locks")

    outcomes = [checks.prove("grep -q 1 made/installed", c) for c in (first, other_code, first)]
    once = checks.setups()
    locked = checks.prove("grep -q 2 made/installed && ! test -e leftover", other_locks)
    back = checks.prove("grep -q 1 made/installed", first)

    assert [o.receipt.outcome for o in (*outcomes, locked, back)] == [CheckOutcome.PASSED] * 5
    assert once == 1
    assert checks.setups() == 3


def test_setup_when_a_check_could_write_what_it_made_then_nothing_is_kept(repo: Repo) -> None:
    command = counting(repo, "mkdir -p made && echo good > made/installed")
    settings = LaneSettings(setup=command, setup_makes=("made",))
    checks = Checks(repo, settings, protects=False)

    checks.prove("echo poison > made/installed")
    second = checks.prove("grep -q good made/installed")

    assert second.receipt.outcome is CheckOutcome.PASSED
    assert checks.setups() == 2


def test_setup_when_a_commit_holds_what_it_makes_then_they_are_not_mixed(repo: Repo) -> None:
    command = counting(repo, "mkdir -p made && echo good > made/installed")
    checks = Checks(repo, LaneSettings(setup=command, setup_makes=("made",)))
    first = repo.rev("main")
    checks.prove("true", first)
    repo.git("checkout", "-q", "-b", "side")
    (repo.root / "made").mkdir()
    (repo.root / "made" / "planted").write_text("x")
    repo.git("add", "-f", "made/planted")
    planted = repo.commit({}, "planted")
    repo.git("checkout", "-q", "main")

    checks.prove("true", planted)
    after = checks.prove("test -e made/installed && ! test -e made/planted", first)

    assert after.receipt.outcome is CheckOutcome.PASSED


def test_setup_when_a_commit_changes_what_it_runs_then_nothing_of_that_serves_other_checks(
    repo: Repo,
) -> None:
    """A worker's commit could otherwise bring a test runner that passes everything."""
    good = repo.commit({"setup.sh": "mkdir -p made && echo good > made/runner\n"}, "setup")
    checks = Checks(repo, LaneSettings(setup="sh setup.sh", setup_makes=("made",)))
    repo.git("checkout", "-q", "-b", "evil")
    poison = {"setup.sh": "mkdir -p made && echo poison > made/runner\n"}
    evil = repo.commit(poison, "evil")
    evil_locks = repo.commit({**poison, "x.lock": "2\n"}, "evil and other locks")
    repo.git("checkout", "-q", "main")
    settings = LaneSettings(setup="sh setup.sh", setup_key=("x.lock",), setup_makes=("made",))

    first = checks.prove("grep -q good made/runner", evil)
    after = checks.prove("grep -q good made/runner", good)
    checks = Checks(repo, settings)
    own = checks.prove("grep -q poison made/runner", evil_locks)
    others = checks.prove("grep -q good made/runner", evil)

    outcomes = [proof.receipt.outcome for proof in (first, after, own, others)]
    assert outcomes == [CheckOutcome.PASSED] * 4


def test_setup_when_a_run_puts_another_folder_in_place_of_what_is_kept_then_it_is_made_anew(
    repo: Repo,
) -> None:
    """In its jail a run can't write `sub/made`, but it can move `sub` away."""
    (repo.root / "sub").mkdir()
    (repo.root / "sub" / "a").write_text("a\n")
    repo.commit({}, "sub")
    command = counting(repo, "mkdir -p sub/made && echo good > sub/made/runner")
    checks = Checks(repo, LaneSettings(setup=command, setup_makes=("sub/made",)))
    attack = "mv sub old && mkdir -p sub/made && cp old/a sub/a && echo poison > sub/made/runner"

    checks.prove(attack)
    after = checks.prove("grep -q good sub/made/runner")

    assert after.receipt.outcome is CheckOutcome.PASSED
    assert checks.setups() == 2


def test_setup_when_it_fails_then_the_check_could_not_run_and_the_log_says_why(
    repo: Repo,
) -> None:
    checks = Checks(repo, LaneSettings(setup="echo no such package; exit 3"))

    proof = checks.prove("true")

    assert proof.receipt.outcome is CheckOutcome.COULD_NOT_RUN
    assert "The setup command 'echo no such package; exit 3' failed (exit code 3)." in proof.why
    assert "no such package" in checks.log.read_text()


def test_ports_of_two_worktrees_differ_and_what_is_listened_on_is_nobodys(repo: Repo) -> None:
    repository = repo.open()
    preparation = Preparation(repository, LaneSettings())
    lanes = [repository.paths.lanes / name for name in ("t1-1", "t2-1")]
    one, two = (int(preparation.variables(lane)[PORT_VARIABLE]) for lane in lanes)
    preparation.give_back(lanes[0])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", one + 3))
        listener.listen()
        other = int(preparation.variables(lanes[0])[PORT_VARIABLE])

    assert abs(one - two) >= 10
    assert other not in (one, two)
    assert preparation.variables(lanes[0]) == {PORT_VARIABLE: str(other)}


def test_home_of_a_check_is_its_own_and_new(repo: Repo) -> None:
    checks = Checks(repo, LaneSettings())

    first = checks.prove('touch "$HOME/mark"')
    second = checks.prove('! test -e "$HOME/mark" && test -w "$HOME"')

    assert first.receipt.outcome is CheckOutcome.PASSED
    assert second.receipt.outcome is CheckOutcome.PASSED


def test_copy_when_a_glob_leads_through_too_much_then_nothing_is_copied_and_one_line_says_so(
    repo: Repo,
) -> None:
    folder = repo.root / "many"
    folder.mkdir()
    for number in range(MOST_SEEN + 1):
        (folder / str(number)).touch()
    (repo.root / "local").mkdir()
    (repo.root / "local" / "a.ini").write_text("x")
    preparation = Preparation(repo.open(), LaneSettings(copy=("**/*.ini",)))

    (line,) = preparation.problems()

    assert preparation.copy_plan().paths == ()
    assert line.startswith("[lane] copy: not copied: more than 20000 files and folders")
