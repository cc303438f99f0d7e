"""The gate answers for a worker as it would in a run: where it stands, under its role's rules."""

from pathlib import Path
from typing import Any

import pytest

from modules.app.asking_agent import asking_agent
from modules.records.decisions import Mode
from modules.records.errors import PersonFault
from modules.safety.grants import Grants
from modules.safety.rules_in_force import RuleInForce
from tests.scenarios.programs import make_repository

SETTINGS = """\
[permissions]
deny = ["Write(/secrets/**)"]

[roles.qa]
tools = ["read_file", "bash"]
deny = ["Bash(git push *)"]

[roles.careful]
plan = true
"""


@pytest.fixture
def home(own_environment: Path) -> Path:
    folder = own_environment / "crewyard"
    folder.mkdir(exist_ok=True)
    (folder / "settings.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def repository(tmp_path: Path, home: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def ask(
    repository: Path, agent: str | None = None, role: str | None = None, mode: str | None = None
) -> Any:
    return asking_agent(repository, agent=agent, role_name=role, mode=mode)


def test_worker_may_not_touch_the_main_checkout_and_the_lead_is_asked(repository: Path) -> None:
    inside = str(repository / "README.md")

    lead = ask(repository).judge("path", inside, "write")
    worker = ask(repository, "worker").judge("path", inside, "write")

    assert (lead["decision"], worker["decision"]) == ("ask", "deny")
    assert "main checkout" in worker["why"]


def test_path_rule_holds_for_the_lead_and_for_a_worker(repository: Path) -> None:
    answers = [
        ask(repository, agent).judge("path", "secrets/a", "write") for agent in ("lead", "worker")
    ]

    assert [answer["rule"] for answer in answers] == ["Write(/secrets/**)"] * 2


def test_role_makes_a_worker_with_its_rules_and_its_tools(repository: Path) -> None:
    asking = ask(repository, role="qa")

    assert asking.standing.is_worker
    assert asking.judge("bash", "git push origin", "write")["rule"] == "Bash(git push *)"
    assert asking.judge("path", "a.py", "write")["why"] == "the role qa has no tool write_file"
    assert asking.judge("path", "a.py", "read")["decision"] == "allow"


def test_role_that_plans_first_is_asked_for_in_plan_mode_unless_a_mode_is_given(
    repository: Path,
) -> None:
    modes = [ask(repository, role="careful", mode=mode).standing.mode for mode in (None, "auto")]

    assert modes == [Mode.PLAN, Mode.AUTO]


def test_folder_in_a_worktree_is_its_worker_and_can_be_the_lead_by_name(repository: Path) -> None:
    lane = repository / ".worktrees" / "t1-1-x"
    lane.mkdir(parents=True)

    worker, lead = ask(lane), ask(lane, "lead")

    assert (worker.standing.agent, worker.standing.ground.root) == ("t1-1-x", lane)
    assert (lead.standing.agent, lead.standing.ground.root) == ("lead", repository)


def test_what_was_granted_with_always_counts_as_in_a_run(repository: Path, home: Path) -> None:
    Grants(home, repository).add("Bash(curl https://example.com)")

    asking = ask(repository)

    granted = "Bash(curl https://example.com)"
    source = str(home / "grants.json")
    assert asking.rules()[-1] == RuleInForce(effect="allow", rule=granted, source=source)
    assert asking.judge("bash", "curl https://example.com", "write")["decision"] == "allow"


@pytest.mark.parametrize(
    ("agent", "role", "message"),
    [
        ("me", None, "There is no agent 'me'"),
        ("lead", "qa", "The lead has no role"),
        (None, "painter", "There is no role 'painter'. Roles are in the settings; there are: "),
    ],
)
def test_agent_that_can_not_be_is_refused(
    repository: Path, agent: str | None, role: str | None, message: str
) -> None:
    with pytest.raises(PersonFault) as caught:
        ask(repository, agent, role)

    assert caught.value.line.startswith(message)
