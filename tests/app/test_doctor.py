"""Whatever is amiss is told with what to do, and nothing else is hidden by it."""

import json
from pathlib import Path

import pytest

from modules.app.doctor import examine
from modules.app.findings import Finding, State
from modules.git.lanes import make_lane
from modules.git.refs import LANDED
from modules.safety.trust import TrustStore
from modules.store.locks import LeadLock
from tests.repos import Repo, make_repo
from tests.scenarios.programs import crewyard
from tests.team.queue_case import QueueCase

pytestmark = pytest.mark.slow

KEY = "sk-never-to-be-shown-1"
TOPICS = {
    *("program", "git", "sandbox", "sandbox bwrap", "sandbox landlock", "repository", "board"),
    *("lanes", "landed", "kept work", "lead", "disk", "settings", "trust", "check", "keys"),
    *("model", "worker model", "rules", "MCP", "web", "network", "worktrees"),
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


def about(topic: str, folder: Path) -> list[Finding]:
    return [finding for finding in examine(folder) if finding.topic == topic]


def own(own_environment: Path, name: str, text: str) -> None:
    path = own_environment / "crewyard" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_everything_is_looked_at_and_nothing_is_amiss(
    repo: Repo, own_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(own_environment, "settings.toml", 'check = "true"\n')
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    found = examine(repo.root)

    assert {finding.topic for finding in found} == TOPICS
    amiss = {finding.topic for finding in found if finding.state is not State.OK}
    assert amiss <= {"sandbox", "sandbox bwrap", "sandbox landlock"}, found
    assert KEY not in repr(found)
    assert about("keys", repo.root)[0].text == "set: ANTHROPIC_API_KEY"
    assert about("model", repo.root)[0].text.startswith("anthropic:")


@pytest.mark.parametrize(
    ("name", "text", "topic", "words"),
    [
        ("settings.toml", "workers = 0", "settings", "wrong value at 'workers'"),
        ("settings.toml", '[permissions]\ndeny = ["Bash("]', "rules", "'Bash('"),
        ("folders.json", "{", "settings", "can't be read"),
        ("hooks.json", "{,}", "rules", "hooks.json"),
    ],
)
def test_what_stops_a_run_fails_and_is_named(
    repo: Repo, own_environment: Path, name: str, text: str, topic: str, words: str
) -> None:
    own(own_environment, name, text)

    failed = [finding for finding in examine(repo.root) if finding.state is State.FAIL]

    assert [finding.topic for finding in failed] == [topic]
    assert words in failed[0].text
    assert failed[0].hint


def test_what_does_nothing_is_a_warning(repo: Repo, own_environment: Path) -> None:
    own(own_environment, "settings.toml", '[permissions]\ndeny = ["Bsh(rm *)"]\n')
    dead = {"matcher": "Bsh", "hooks": [{"type": "command", "command": "true"}]}
    own(own_environment, "hooks.json", json.dumps({"hooks": {"PreToolUse": [dead]}}))

    counted, *warned = about("rules", repo.root)

    assert counted == Finding(topic="rules", state=State.OK, text="1 rules, 1 hooks")
    assert [finding.state for finding in warned] == [State.WARN, State.WARN]
    assert "there is no tool 'Bsh'" in warned[0].text
    assert "meets no tool" in warned[1].text


def test_what_agents_reach_is_told_and_what_of_it_does_nothing(
    repo: Repo, own_environment: Path
) -> None:
    shut = about("network", repo.root)
    own(
        own_environment,
        "settings.toml",
        '[sandbox]\nnetwork = "proxy"\nhosts = ["pypi.org"]\nwritable = ["~/no-such"]\n',
    )

    opened, *told = about("network", repo.root)

    assert [finding.text for finding in shut] == [
        "workers' commands reach nothing, sandboxed MCP servers everything"
    ]
    assert opened.text == "workers' commands reach pypi.org, sandboxed MCP servers everything"
    assert {finding.state for finding in told} == {State.WARN}
    assert "~/no-such" in told[-1].text


def test_what_worktrees_get_is_told_and_what_of_it_does_nothing(
    repo: Repo, own_environment: Path
) -> None:
    own(own_environment, "settings.toml", '[lane]\ncopy = ["*.txt"]\nsetup = "make deps"\n')

    said, *told = about("worktrees", repo.root)

    assert said.text == "set up by 'make deps'; 0 files copied, 0 folders linked"
    assert [finding.state for finding in told] == [State.WARN]
    assert "'a.txt' is not ignored by git" in told[0].text


def test_settings_of_the_repository_are_told_with_what_was_said_of_them(
    repo: Repo, own_environment: Path
) -> None:
    servers = {"docs": {"command": "docs-server"}, "far": {"url": "https://example.org/mcp"}}
    repo.commit({".mcp.json": json.dumps({"mcpServers": servers})}, "servers")
    store = TrustStore(own_environment / "crewyard")

    unknown = about("trust", repo.root)[0]
    store.add(repo.root)
    trusted = about("trust", repo.root)[0]
    used, broken = about("MCP", repo.root)
    (repo.root / ".mcp.json").write_text("{")
    store.add(repo.root)
    (torn,) = about("MCP", repo.root)

    assert (unknown.state, trusted.state) == (State.WARN, State.OK)
    assert ".mcp.json: unknown" in unknown.text
    assert used.text == "docs, far, started inside the sandbox"
    assert (broken.state, broken.text) == (State.WARN, "far can't be used")
    assert (torn.state, "not valid JSON" in torn.text) == (State.FAIL, True)


@pytest.mark.parametrize(("value", "state"), [("off", State.WARN), ("no-such", State.FAIL)])
def test_sandbox_that_is_off_or_missing_is_told(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, value: str, state: State
) -> None:
    monkeypatch.setenv("CREWYARD_SANDBOX", value)

    (finding,) = about("sandbox", repo.root)

    assert finding.state is state
    assert finding.hint


def test_lead_lanes_and_landings_are_told_as_they_are(repo: Repo) -> None:
    opened = repo.open()
    make_lane(opened, name="t1-1-left", base=repo.rev("HEAD"))
    ahead = repo.commit({"new.txt": "new\n"}, "landed")
    repo.git("update-ref", f"{LANDED}main", ahead)
    repo.git("reset", "-q", "--hard", "HEAD~1")

    before = {finding.topic: finding for finding in examine(repo.root)}
    lock = LeadLock(opened.paths.lead_lock)
    lock.acquire()
    try:
        led = about("lead", repo.root)[0]
    finally:
        lock.release()

    assert before["lead"].text == "none runs here"
    assert "one runs here (pid " in led.text
    assert before["lanes"].state is State.WARN
    assert "t1-1-left" in before["lanes"].text
    assert before["landed"].state is State.WARN
    assert ahead[:12] in before["landed"].text


def test_target_that_fails_and_commits_that_can_not_be_signed_are_told(repo: Repo) -> None:
    case = QueueCase(repo, check="false")
    case.submit(1, {"x.txt": "x\n"})
    case.drain()
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "user.signingKey", "nobody")

    (target,), (signing,) = about("target", repo.root), about("signing", repo.root)

    assert target.state is State.WARN
    assert "'main' itself does not pass" in target.text
    assert signing.state is State.FAIL
    assert "git config commit.gpgSign false" in signing.hint


def test_board_the_repository_brings_itself_is_in_the_way(repo: Repo) -> None:
    (repo.root / ".team").mkdir()
    (repo.root / ".team" / "board.jsonl").write_text("")
    repo.git("add", "-f", ".team")
    repo.git("commit", "-q", "-m", "a board")

    (finding,) = about("board", repo.root)

    assert finding.state is State.FAIL
    assert "git rm" in finding.hint


def test_command_prints_lines_or_one_document_and_says_by_its_code(
    repo: Repo, tmp_path: Path
) -> None:
    fine = crewyard("doctor", cwd=repo.root, environment={"CREWYARD_SANDBOX": "off"})
    nowhere = crewyard("doctor", "--json", cwd=tmp_path)

    assert fine.code == 0, fine
    assert f"ok    repository: {repo.root}, target main" in fine.out.splitlines()
    assert "warn  check: none is set, so nothing lands" in fine.out.splitlines()
    assert nowhere.code == 1
    assert nowhere.document[-1]["topic"] == "repository"
    assert nowhere.document[-1]["state"] == "fail"
    assert nowhere.document[-1].keys() == {"topic", "state", "text", "hint"}
