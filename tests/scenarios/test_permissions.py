"""The gate as a whole: rules, hooks and trust hold for every call, wherever it comes from."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from modules.records.tasks import TaskDraft
from modules.store.paths import Paths
from tests.scenarios.programs import (
    PASSING,
    PROJECT,
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
    make_repository,
    make_script,
    post,
    processes_in,
    started,
    submit,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow

FILES = {"README.md": "a sample\n"}
ECHO_SERVER = PROJECT / "mcp_servers" / "echo_server.py"
FORBIDDEN = "No such words here."
GUARD = f"""\
import json
import sys

call = json.load(sys.stdin)
with open(sys.argv[1], "a") as log:
    log.write(json.dumps(call) + "\\n")
if "forbidden" in json.dumps(call["tool_input"]):
    print({FORBIDDEN!r}, file=sys.stderr)
    sys.exit(2)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", FILES)


def settle(home: Path, **permissions: list[str]) -> None:
    """Writes permission rules into the person's own settings."""
    settings = home / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    lines = [f"{name} = {json.dumps(rules)}" for name, rules in permissions.items()]
    settings.write_text("\n".join(["[permissions]", *lines, ""]))


def work(repository: Path, spec: str, *options: str, **environment: str) -> Ended:
    return crewyard(
        *("work", "--json", "--check", PASSING, "--model", spec, *options),
        cwd=repository,
        environment=environment,
    )


class Attempted:
    """What every agent tries, by every way to run something, and where it leaves its marks."""

    def __init__(self, who: str, place: str) -> None:
        self._who = who
        self._place = place

    def tries(self) -> list[dict[str, Any]]:
        """Returns calls that are fine, forbidden by a hook, and ruled out by a rule."""
        return [
            *(bash(self._line("bash", words)) for words in WORDS),
            *({"background_run": {"command": self._line("background", w)}} for w in WORDS),
            *({"mcp__echo__echo": {"text": f"{words} by MCP"}} for words in WORDS[:2]),
            {"mcp__echo__now": {}},
            # Those that were stopped have no name, so the others have the first ones.
            *({"check_background": {"task_id": f"bg{n}", "wait_seconds": 60}} for n in (1, 2, 3)),
        ]

    def _line(self, how: str, words: str) -> str:
        mark = f"{self._who} {how} {words}".replace(" ", "-")
        code = f"p = Path({self._place}); p.mkdir(exist_ok=True); (p / {mark!r}).touch()"
        return f'echo {words}; python3 -c "import os; from pathlib import Path; {code}"'


WORDS = ("fine", "forbidden", "ruled out")
AGENTS = ("alone", "below", "deep")
"""An agent, its sub-agent, and that one's own."""
UNTIL = "until git show-ref -q refs/tags/go-on; do sleep 0.05; done"


def chain(who: str, place: str) -> list[list[dict[str, Any]]]:
    """Returns the calls of an agent and of two sub-agents below it, the outermost first."""
    further: dict[str, Any] = {"subagent": {"prompt": "Try all.", "kind": "general"}}
    tries = [Attempted(f"{who} {agent}", place).tries() for agent in AGENTS]
    return [[*tries[0], further], [*tries[1], further], tries[2]]


def trying(tmp_path: Path) -> str:
    """Returns the SPEC of a lead, a worker, and sub-agents of each, which all try everything."""
    lead, worker_calls = chain("lead", "os.environ['TMPDIR'], 'made'"), chain("worker", "'made'")
    below = [
        {"agent": f"{caller}/general-1{depth}", "turns": [calls(*made), {"say": "Tried below."}]}
        for caller, chained in (("lead", lead), ("w1", worker_calls))
        for depth, made in (("", chained[1]), ("/general-1", chained[2]))
    ]
    return make_script(
        tmp_path / "trying",
        [
            *below,
            {
                "agent": "lead",
                "turns": [
                    calls(*lead[0], {"board_post_task": {"subject": "second"}}),
                    {"expect": "completed", "say": "Tried."},
                ],
            },
            worker(
                "first",
                calls(bash(UNTIL)),
                calls(*worker_calls[0]),
                calls(commit("tried"), expect="Tried below"),
                calls(submit()),
            ),
            worker("second", calls(submit(no_changes_reason="Nothing to do."))),
        ],
    )


def marks(repository: Path) -> set[str]:
    """Returns the marks on disk: the worker's in what has landed, the lead's in its own tmp."""
    landed = git(repository, "ls-tree", "-r", "--name-only", "refs/crewyard/landed/main", "made/")
    own = (Paths(repository).temporary / "lead" / "made").iterdir()
    return {Path(name).name for name in landed.split("\n")} | {path.name for path in own}


def marks_of(*words: str) -> set[str]:
    """Returns the marks of everybody who could run a command with these words, by either way."""
    return {
        f"{who} {agent} {how} {word}".replace(" ", "-")
        for who in ("lead", "worker")
        for agent in AGENTS
        for how in ("bash", "background")
        for word in words
    }


def try_all_after_a_killed_lead(repository: Path, tmp_path: Path) -> Ended:
    """Has the first lead killed while its worker waits; the next one goes on with that worker."""
    spec = trying(tmp_path)
    post(repository, TaskDraft(subject="first"))
    common = ("--json", "--mode", "yolo", "--check", PASSING, "--model")

    with started("work", *common, spec, cwd=repository) as program:
        program.wait_for("bash until")
        os.kill(program.process.pid, signal.SIGKILL)
        program.process.wait()
        eventually(lambda: not processes_in(repository))
    git(repository, "tag", "go-on")
    return crewyard("-p", "try", *common, spec, cwd=repository)


def make_guarded(folder: Path, log: Path) -> Path:
    """Makes a repository that brings a hook and an MCP server along."""
    line = f'"{sys.executable}" guard.py "{log}"'
    hook = {
        "matcher": "bash|mcp__echo__.*",
        "hooks": [{"type": "command", "command": line}],
    }
    server = {"command": sys.executable, "args": [str(ECHO_SERVER)]}
    return make_repository(
        folder,
        {
            **FILES,
            "guard.py": GUARD,
            ".hooks.json": json.dumps({"hooks": {"PreToolUse": [hook]}}),
            ".mcp.json": json.dumps({"mcpServers": {"echo": server}}),
        },
    )


def test_without_hook_and_rule_every_agent_runs_everything(
    tmp_path: Path, own_environment: Path
) -> None:
    """What the next test shows stopped."""
    repository = make_guarded(tmp_path / "sample", tmp_path / "log")
    (repository / ".hooks.json").unlink()
    git(repository, "commit", "-qam", "no hooks")
    assert crewyard("trust", "add", cwd=repository).code == 0

    ended = try_all_after_a_killed_lead(repository, tmp_path)

    assert ended.code == 0, ended
    assert marks(repository) == marks_of(*WORDS)
    for session in (*SESSIONS, "lead-*", "t1-1-*"):
        assert "forbidden by MCP" in heard(repository, session).split("\n")


SESSIONS = ("sub-lead-*", "sub-t1-1-*")


def test_one_hook_and_one_rule_stop_every_agent_and_every_way_to_run_alike(
    tmp_path: Path, own_environment: Path
) -> None:
    """Lead, worker, sub-agents of each two deep, in the background, by MCP; after a new start."""
    log = tmp_path / "hook log.jsonl"
    repository = make_guarded(tmp_path / "My Proj ä (1)", log)
    assert crewyard("trust", "add", cwd=repository).code == 0
    settle(own_environment, deny=["bash(echo ruled out*)", "mcp__echo__now"])

    ended = try_all_after_a_killed_lead(repository, tmp_path)

    assert ended.code == 0, ended
    assert marks(repository) == marks_of("fine")
    agents = {"lead-*": 1, "t1-1-*": 1, "sub-lead-*": 2, "sub-t1-1-*": 2}
    for session, count in agents.items():
        told = heard(repository, session).split("\n")
        assert told.count("fine by MCP") == count
        assert "forbidden by MCP" not in told
        denials = [line for line in told if line.startswith("Permission denied")]
        by_hook = [FORBIDDEN in line for line in denials]
        by_rule = ["the rule" in line for line in denials]
        one_agent = ([True, False, True, False, True, False], [False, True] * 3)
        assert (by_hook, by_rule) == tuple(kinds * count for kinds in one_agent)
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    stopped = [call for call in asked if "forbidden" in json.dumps(call["tool_input"])]
    assert {call["tool_name"] for call in stopped} == {"bash", "mcp__echo__echo"}
    callers = ["", *(f"{who}/general-1{more}" for who in ("lead", "w1") for more in ("", DEEP))]
    for caller in (*callers, "w1"):
        assert len([call for call in stopped if call.get("agent_id", "") == caller]) == 3
    assert len(stopped) == 18
    assert_nothing_left(repository)


DEEP = "/general-1"


def test_settings_of_a_repository_nobody_trusts_start_nothing(tmp_path: Path) -> None:
    marks = {name: tmp_path / name for name in ("hook", "server", "check")}
    hook = {"matcher": "", "command": f"touch {marks['hook']}"}
    line = f"touch '{marks['server']}'; exec '{sys.executable}' '{ECHO_SERVER}'"
    server = {"command": "bash", "args": ["-c", line]}
    repository = make_repository(
        tmp_path / "sample",
        {
            **FILES,
            ".hooks.json": json.dumps({"hooks": {"PreToolUse": [hook]}}),
            ".mcp.json": json.dumps({"mcpServers": {"mark": server}}),
            "team.toml": f"check = '{sys.executable} mark.py'\n",
            "mark.py": "import os, pathlib; assert pathlib.Path('new.txt').exists()\n",
        },
    )
    spec = make_script(
        tmp_path,
        [writing("add it", "new.txt", "new\n"), writing("add more", "more.txt", "more\n")],
    )
    post(repository, TaskDraft(subject="add it"))

    untrusted = work_as_told(repository, spec)

    assert untrusted.code == 3, untrusted
    assert untrusted.document["tasks"][0]["status"] == "parked"
    assert [path.name for path in marks.values() if path.exists()] == []
    assert crewyard("trust", "status", "--json", cwd=repository).document["status"] == "unknown"

    assert crewyard("trust", "add", cwd=repository).code == 0
    post(repository, TaskDraft(subject="add more"))
    trusted = work_as_told(repository, spec)

    assert trusted.code == 0, trusted
    assert marks["hook"].exists()
    assert marks["server"].exists()
    assert trusted.document["tasks"][0]["receipt"]["command"] == f"{sys.executable} mark.py"
    assert_proven(repository, trusted.document)

    (repository / "mark.py").write_text("print('other')\n")
    assert crewyard("trust", "status", "--json", cwd=repository).document["status"] == "changed"


def work_as_told(repository: Path, spec: str) -> Ended:
    """Runs with the repository's own check and, so that a server can leave its mark, no sandbox."""
    return crewyard(
        *("work", "--json", "--mode", "yolo", "--model", spec),
        cwd=repository,
        environment={"CREWYARD_SANDBOX": "off"},
    )


def test_files_that_steer_programs_land_only_with_a_persons_yes(
    repository: Path, tmp_path: Path
) -> None:
    """The file tool is refused at the gate; what a program wrote, at the hand-in."""
    hooks = '{"hooks": {}}'
    spec = make_script(
        tmp_path,
        [
            worker(
                "steer",
                calls(write(".hooks.json", hooks)),
                calls(
                    write("make.py", f"open('.' + 'hooks.json', 'w').write('{hooks}')\n"),
                    bash("python3 make.py"),
                    commit("steer"),
                    expect="Permission denied",
                ),
                calls(submit()),
                calls(
                    bash("git reset -q --hard HEAD~1"),
                    write("notes.txt", "left as it is\n"),
                    commit("leave it"),
                    expect=r"protected files \(\.hooks\.json\)",
                ),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="steer"))

    ended = work(repository, spec)

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)
    assert git(repository, "ls-tree", "-r", "--name-only", "main").split() == [
        "README.md",
        "notes.txt",
    ]
    assert not (repository / ".hooks.json").exists()
    assert_nothing_left(repository)
