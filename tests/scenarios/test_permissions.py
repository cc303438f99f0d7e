"""The gate as a whole: rules, hooks and trust hold for every call, wherever it comes from."""

import json
import sys
from pathlib import Path

import pytest

from modules.records.tasks import TaskDraft
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
    git,
    heard,
    make_repository,
    make_script,
    post,
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


def test_one_hook_and_one_rule_stop_lead_worker_and_mcp_tool_alike(
    tmp_path: Path, own_environment: Path
) -> None:
    log = tmp_path / "hook log.jsonl"
    line = f'"{sys.executable}" guard.py "{log}"'
    hook = {
        "matcher": "bash|mcp__echo__.*",
        "hooks": [{"type": "command", "command": line}],
    }
    server = {"command": sys.executable, "args": [str(ECHO_SERVER)]}
    repository = make_repository(
        tmp_path / "My Proj ä (1)",
        {
            **FILES,
            "guard.py": GUARD,
            ".hooks.json": json.dumps({"hooks": {"PreToolUse": [hook]}}),
            ".mcp.json": json.dumps({"mcpServers": {"echo": server}}),
        },
    )
    assert crewyard("trust", "add", cwd=repository).code == 0
    settle(own_environment, allow=["mcp__echo"], deny=["bash(echo ruled out*)", "mcp__echo__now"])
    tried = [
        *(bash(f"echo {words}") for words in ("fine", "forbidden", "ruled out")),
        *({"mcp__echo__echo": {"text": words}} for words in ("also fine", "also forbidden")),
        {"mcp__echo__now": {}},
    ]
    spec = make_script(
        tmp_path,
        [
            {
                "agent": "lead",
                "turns": [
                    calls(*tried, {"board_post_task": {"subject": "try"}}),
                    {"expect": "completed without changes", "say": "Tried."},
                ],
            },
            worker("try", calls(*tried), calls(submit(no_changes_reason="Only tried."))),
        ],
    )

    ended = crewyard("-p", "try", "--json", "--check", PASSING, "--model", spec, cwd=repository)

    assert ended.code == 0, ended
    for session in ("lead-*", "t1-1-*"):
        told = heard(repository, session).split("\n")
        assert {"fine", "also fine"} <= set(told)
        assert {"forbidden", "ruled out", "also forbidden"}.isdisjoint(told)
        denials = [line for line in told if line.startswith("Permission denied")]
        assert len(denials) == 4
        assert [FORBIDDEN in line for line in denials] == [True, False, True, False]
        assert ["the rule" in line for line in denials] == [False, True, False, True]
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert {call["tool_name"] for call in asked} == {"bash", "mcp__echo__echo"}
    assert len([call for call in asked if "forbidden" in json.dumps(call["tool_input"])]) == 4
    assert_nothing_left(repository)


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
