"""A role that two sources describe is held to both; neither can free it of the other's rules."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.records.decisions import Behavior, Mode, ShellSubject
from modules.records.settings import Role, Rules, RuleText
from modules.safety.permissions import PermissionManager, Standing
from modules.store.role_settings import joined_roles
from tests.safety.grounds import worker_ground

TEAM, USER = "team.toml", "settings.toml"
COMMANDS = ["ls", "make", "make all", "git push", "rm -rf build", "curl x.org", "make; git push"]
TEXTS = st.sampled_from(
    ["Bash", "Bash(make)", "Bash(make *)", "Bash(git push)", "Bash(rm *)", "bash:run", "*"]
)
TOOLS = ["bash", "read_file", "grep"]
RULES = st.lists(TEXTS, max_size=2)
TABLES = st.fixed_dictionaries(
    {},
    optional={
        "plan": st.booleans(),
        "tools": st.lists(st.sampled_from(TOOLS), unique=True),
        "allow": RULES.filter(lambda texts: "*" not in texts),
        "ask": RULES,
        "deny": RULES,
    },
)
GENEROUS = [Behavior.DENY, Behavior.ASK, Behavior.ALLOW]


def joined(*tables: tuple[str, dict[str, Any]]) -> Role:
    """Returns the role of what each source says, the weakest first."""
    roles: dict[str, Role] = {}
    for source, table in tables:
        roles = joined_roles(roles, {"qa": table}, source=source)
    return roles["qa"]


def rule(text: str, source: str) -> RuleText:
    return RuleText(text=text, source=f"{source}, role qa")


def test_role_of_two_sources_has_the_rules_of_both_and_the_stronger_ones_words() -> None:
    team = {"prompt": "Test.", "model": "a:b", "plan": True, "tools": ["bash", "grep"]}
    role = joined(
        (TEAM, {**team, "allow": ["Bash(make)"], "deny": ["Bash(git push)"]}),
        (USER, {"prompt": "Test well.", "plan": False, "tools": ["grep"], "ask": ["Grep"]}),
    )

    assert role == Role(
        prompt="Test well.",
        model="a:b",
        plan=True,
        tools=("grep",),
        rules=Rules(
            allow=(rule("Bash(make)", TEAM),),
            ask=(rule("Grep", USER),),
            deny=(rule("Bash(git push)", TEAM),),
        ),
    )


def test_roles_that_allow_no_tool_together_allow_none_and_an_empty_list_allows_all() -> None:
    apart = joined((TEAM, {"tools": ["bash"]}), (USER, {"tools": ["grep"]}))
    silent = joined((TEAM, {"tools": ["bash"]}), (USER, {"tools": []}))

    assert (apart.tools, silent.tools, joined((TEAM, {"tools": []})).tools) == ((), ("bash",), None)


def test_role_that_one_source_describes_is_taken_as_it_is() -> None:
    roles = joined_roles({"docs": Role(prompt="Write.")}, {"qa": {"model": "a:b"}}, source=USER)

    assert roles == {"docs": Role(prompt="Write."), "qa": Role(model="a:b")}


@pytest.mark.slow
@given(TABLES, TABLES, st.sampled_from(COMMANDS), st.sampled_from(Mode), RULES)
@settings(max_examples=400, deadline=None)
def test_added_source_frees_a_role_of_nothing(
    team: dict[str, Any], user: dict[str, Any], command: str, mode: Mode, allow: list[str]
) -> None:
    general = Rules(allow=tuple(RuleText(text=text, source="s") for text in allow if text != "*"))
    both = joined((TEAM, team), (USER, user))

    def behavior(role: Role) -> Behavior:
        is_offered = role.tools is None or "bash" in role.tools
        standing = Standing(
            agent="w1",
            role="qa",
            is_worker=True,
            mode=Mode.PLAN if role.plan else mode,
            rules=role.rules,
            ground=worker_ground(),
        )
        subject = ShellSubject(command=command)
        manager = PermissionManager(general, mode=mode)
        decided = manager.decide(standing, "bash", {}, subject).behavior
        return decided if is_offered else Behavior.DENY

    for alone in (joined((TEAM, team)), joined((USER, user))):
        assert GENEROUS.index(behavior(both)) <= GENEROUS.index(behavior(alone))
